"""The index of the papers: complete, and consistent with the project."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from fairweir.cli.commands import COMMANDS
from fairweir.cli.main import main
from fairweir.documents import shipped
from fairweir.errors import ConfigError
from fairweir.formal.lemmas.suites import SUITES
from fairweir.papers.catalogue import computed_entries
from fairweir.reproduce.index import Row, items_of_experiments, load_index, page

COMPUTED = {entry.id: entry.items for entry in computed_entries()}
EXPERIMENTS = items_of_experiments(shipped.folder("experiments")) | COMPUTED
INDEX = load_index(EXPERIMENTS)


def test_every_number_of_every_paper_has_one_row() -> None:
    numbers = [(p.id, f"{kind} {n}") for p in INDEX.paper for kind, several in p.items.items() for n in several]
    assert Counter((row.paper, row.item) for row in INDEX.row) == Counter(numbers)
    assert max(Counter(numbers).values()) == 1


def test_commands_and_files_of_the_index_exist() -> None:
    for row in INDEX.row:
        for name in row.by:
            if name.startswith("fairweir "):
                _, command, *words = name.split()
                assert command in COMMANDS, name
                assert command != "prove" or words[0] in SUITES, name
            else:
                assert name in EXPERIMENTS, name


def test_every_experiment_is_named() -> None:
    assert {name for row in INDEX.row for name in row.by} >= EXPERIMENTS.keys()


def test_a_row_without_a_reason_is_rejected() -> None:
    with pytest.raises(ValueError, match="has no reason"):
        Row(paper="thesis", item="figure 0", shows="x", kind="diagram", verdict="lacks")


def test_the_command_prints_the_index(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "--index", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["row"]) == len(INDEX.row)


def test_an_item_that_no_paper_has_is_rejected() -> None:
    with pytest.raises(ConfigError, match=r"no paper has the item `thesis figure 0\.1`"):
        load_index(EXPERIMENTS | {"mine": ["thesis figure 0.1"]})


def test_a_row_that_nothing_runs_any_more_is_rejected() -> None:
    with pytest.raises(ConfigError, match=r"nothing runs `thesis figure 7\.4`"):
        load_index({name: items for name, items in EXPERIMENTS.items() if name != "thesis-7.4"})


def test_the_gallery_is_the_index() -> None:
    gallery = (Path(__file__).parents[2] / "docs" / "gallery.md").read_text(encoding="utf-8")
    assert page(INDEX) in gallery
