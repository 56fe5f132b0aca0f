"""The texts of ``docs/outcomes.md`` are those of the experiments. Its numbers are those of the runs that it names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from fairweir.papers.catalogue import computed_entries
from fairweir.reproduce.experiment import Experiment, load_all
from fairweir.reproduce.judge import judge
from fairweir.reproduce.page import description

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "outcomes.md"
ABOUT = ("title", "source", "published", "setup")


@pytest.fixture(scope="module")
def sections() -> dict[str, list[str]]:
    """Return the page's lines by experiment."""
    _, *parts = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {name: text.splitlines() for name, _, text in (part.partition("\n\n") for part in parts)}


@pytest.fixture(scope="module")
def played() -> dict[str, Experiment]:
    """Return the experiments that run scenarios, as ``--quick`` runs them."""
    return {experiment.id: experiment.as_quick() for experiment in load_all(ROOT / "scenarios" / "published")}


def test_descriptions_are_those_of_the_experiments(
    sections: Mapping[str, list[str]], played: Mapping[str, Experiment]
) -> None:
    known = {entry.id: entry for entry in computed_entries()} | dict(played)
    assert set(sections) <= set(known)
    for name, lines in sections.items():
        expected = description({key: getattr(known[name], key) for key in ABOUT})
        assert lines[: len(expected)] == expected, name


def test_rows_are_the_checks_of_the_experiments(
    sections: Mapping[str, list[str]], played: Mapping[str, Experiment]
) -> None:
    for name, experiment in played.items():
        rows = [line.split(" | ") for line in sections[name] if line.startswith("| ")][2:]
        found = [
            (case[2:], claim[: claim.rindex(" (")], published, bound) for case, claim, published, _, bound, _ in rows
        ]
        findings = [
            judge(experiment.id, case, check, "sim", {})
            for case in experiment.case
            for check in case.check
            if "sim" in check.worlds and "sim" in case.worlds
        ]
        assert found == [(f.case, f.claim, f.published, f.bound) for f in findings], name
