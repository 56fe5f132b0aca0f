"""Shells complete commands and options, and a completion prints no error message."""

from __future__ import annotations

import pytest

from fairweir.cli.main import main


def complete(monkeypatch: pytest.MonkeyPatch, shell: str, line: str) -> None:
    monkeypatch.setenv("_FAIRWEIR_COMPLETE", f"complete_{shell}")
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
    if shell == "bash":
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(line.split()) - 1))
    else:
        monkeypatch.setenv("_TYPER_COMPLETE_ARGS", line)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize(
    ("line", "word"),
    [("fairweir au", "audit"), ("fairweir audit --ba", "--baseline"), ("fairweir video ev", "evaluate")],
)
def test_commands_and_options_are_completed(
    shell: str, line: str, word: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    complete(monkeypatch, shell, line)
    main([])
    said = capsys.readouterr()
    assert word in said.out
    assert said.err == ""


def test_a_command_whose_extra_is_missing_completes_nothing_and_says_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def gone(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}", name="scipy")

    monkeypatch.setattr("fairweir.cli.main.importlib.import_module", gone)
    complete(monkeypatch, "bash", "fairweir guard ")
    assert main([]) == 2
    assert capsys.readouterr() == ("", "")


def test_a_command_behind_two_dashes_is_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--", "list", "rules"]) == 0
    assert "cc_qdel" in capsys.readouterr().out
