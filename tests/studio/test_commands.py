"""Forms of commands: fields are those of the command line, and a filled form is one command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairweir.cli.commands import COMMANDS
from fairweir.cli.main import main
from fairweir.cli.studio_commands import FORMS, page
from fairweir.errors import ConfigError
from fairweir.studio.commands import Kind
from fairweir.studio.folder import Folder


@pytest.mark.parametrize("name", FORMS)
def test_each_field_is_an_option_or_argument_of_its_command(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*name.split(), "--help"]) == 0
    text = capsys.readouterr().out
    made = page(name)
    assert name.split(maxsplit=1)[0] in COMMANDS
    assert made.summary
    assert {0, 2, 130} <= set(made.exits)
    for field in made.fields:
        options = {word for words in (field.choices or {}).values() for word in words if word.startswith("--")}
        assert all(option in text for option in options | {field.option})
        assert field.help
    assert made.output.option in text


@pytest.mark.parametrize("name", FORMS)
def test_an_empty_form_of_options_adds_only_the_output(name: str, tmp_path: Path) -> None:
    made = page(name)
    required = {field.name: "some" for field in made.fields if field.is_required}
    call = made.call(required, Folder(tmp_path))
    assert call.words == (*name.split(), *required.values(), made.output.option, str(call.output))
    assert (tmp_path / call.output).is_relative_to(tmp_path)


def test_values_are_words_of_the_command_line(tmp_path: Path) -> None:
    values = {"ccas": "cubic{beta=0.5} mine.py:Mine", "quick-deep": "deep", "only": "a b\nc", "world": "quic"}
    line = page("audit").call(values, Folder(tmp_path)).line
    words = "--deep --only 'a b' --only c --on quic --out results/audit/cubic-beta-0.5-mine.py-mine"
    assert line.lower() == f"fairweir audit 'cubic{{beta=0.5}}' mine.py:mine {words}"


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"ccas": " "},
        {"ccas": 1},
        {"ccas": ["cubic"]},
        {"ccas": "cubic\0"},
        {"ccas": "cubic \x1b[2J"},
        {"ccas": "c" * 10_000},
        {"ccas": "cubic{file=/etc/passwd}"},
        {"ccas": "a/../../b.py:B"},
        {"ccas": "cubic", "quick-deep": "quick --out /tmp"},
        {"ccas": "cubic", "out": "/tmp"},
        {"ccas": "cubic", "seeds": "-1"},
    ],
)
def test_bad_values_are_one_error(values: dict[str, object], tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        page("audit").call(values, Folder(tmp_path))


def test_flags_that_exclude_each_other_are_one_choice() -> None:
    (depth,) = [field for field in page("audit").fields if field.label == "depth"]
    assert depth.kind is Kind.CHOICE
    assert depth.choices == {"default": (), "quick": ("--quick",), "deep": ("--deep",)}
