"""Output to terminals, files and other programs."""

from __future__ import annotations

import os
import pty
from typing import TYPE_CHECKING

import pytest
from rich.table import Table

from fairweir.cli import output
from fairweir.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

HOSTILE = "\x1b]0;owned\x1b[2J\u202e\x9b31m"


@pytest.fixture(autouse=True)
def no_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)


def test_a_pipe_gets_whole_cells_and_no_blanks_at_line_ends(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table("name", "text", box=None)
    table.add_row("long", "x" * 300)
    table.add_row("short", "y")
    output.stdout.print(table)
    out = capsys.readouterr().out
    assert "x" * 300 in out
    assert all(line == line.rstrip() for line in out.splitlines())


def test_columns_in_the_environment_wins(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    output.stdout.print("word " * 40)
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 40


@pytest.mark.parametrize("shown", [HOSTILE, "in a table"])
def test_control_characters_are_escaped(shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    table = Table("cell", box=None)
    table.add_row(HOSTILE)
    output.stdout.print(table if shown != HOSTILE else HOSTILE)
    output.stderr.print(HOSTILE, soft_wrap=True)
    for text in capsys.readouterr():
        assert r"\x1b]0;owned\x1b[2J\u202e\x9b31m" in text
        assert not set(text) & {"\x1b", "\x9b", "\u202e"}


def test_names_are_not_markup(capsys: pytest.CaptureFixture[str]) -> None:
    output.stdout.print("[red]mine[/red] [link=x]")
    assert capsys.readouterr().out == "[red]mine[/red] [link=x]\n"


def test_a_flow_cannot_write_to_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scenario = tmp_path / "hostile.toml"
    scenario.write_text(
        'name = "a\\u001b[2J"\nduration = "1s"\n[link.bottleneck]\nrate = "8Mbps"\nbuffer = "20KB"\n'
        '[[flow]]\nid = "\\u001b]0;owned\\u0007"\ncca = "reno"\nrtprop = "10ms"\n'
    )
    main(["run", str(scenario)])
    main(["run", str(scenario), "--set", "flow.0.cca=\x1b[31m"])
    captured = capsys.readouterr()
    assert "\x1b" not in captured.out + captured.err
    assert "\\x1b" in captured.out + captured.err


def test_a_terminal_keeps_our_colours_and_loses_theirs() -> None:
    terminal, ours = pty.openpty()
    with os.fdopen(ours, "w") as slave:
        console = output.Output()
        console.file = slave
        console.print("\x1b[2J", style="bold red")
    shown = os.read(terminal, 1000).decode()
    os.close(terminal)
    assert "\\x1b[2J" in shown
    assert "\x1b[2J" not in shown
