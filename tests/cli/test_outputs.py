"""Default output paths of commands: named in their help, and ignored by git."""

from __future__ import annotations

import importlib
import inspect
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_type_hints

import pytest
import typer

from fairweir.cli.commands import COMMANDS
from fairweir.documents.results import results_folder
from fairweir.formal.solving.solve import CONTRADICTIONS

ROOT = Path(__file__).parents[2]
#: Pattern, in help texts, of a default folder that is named after the command's arguments.
NAMED = re.compile(r"[Dd]efault results/[a-z-]+/[A-Z]+\.$")


def _outs() -> Iterator[tuple[str, Any, str]]:
    """Return the default and the help of each command's --out."""
    for name, place in COMMANDS.items():
        module, _, attribute = place.partition(":")
        found = getattr(importlib.import_module(module), attribute)
        if isinstance(found, typer.Typer):
            functions = [(f"{name} {one.name}", one.callback) for one in found.registered_commands]
        else:
            functions = [(name, found)]
        for words, function in functions:
            assert function is not None
            hints = get_type_hints(function, include_extras=True)
            for parameter in inspect.signature(function).parameters.values():
                if parameter.name == "out":
                    (info,) = hints["out"].__metadata__
                    yield words, parameter.default, info.help


OUTS = list(_outs())


def test_commands_that_write_are_found() -> None:
    assert {"audit", "contract derive", "sweep", "fluid", "agree", "starve", "guard evaluate"} <= {
        name for name, *_ in OUTS
    }


@pytest.mark.parametrize(("command", "default", "text"), OUTS, ids=[name for name, *_ in OUTS])
def test_help_says_where_results_go(command: str, default: Any, text: str) -> None:
    # typer shows a default that is a path. If the default is computed, the help names it; or results are not stored.
    if default is None:
        assert NAMED.search(text) or text.startswith(("Write", "Store")), (command, text)
        return
    if isinstance(default, Path):
        assert default == results_folder(command)


def test_a_folder_of_results_has_the_command_and_its_subjects() -> None:
    assert results_folder("agree") == Path("results/agree")
    assert results_folder("guard evaluate") == Path("results/guard-evaluate")
    assert results_folder("audit", "reno", "mine.py:Mine", "reno") == Path("results/audit/reno-mine.py-Mine")


def test_the_name_of_a_folder_of_results_fits_and_stays_below_results() -> None:
    for hostile in ("..", ".", "", "/", "../../etc/x", "a\0b", "-rf"):
        assert results_folder("audit", hostile).parent == Path("results/audit")
        assert results_folder("audit", hostile).name not in {"", ".", ".."}
    several = [f"mine-{i}.py:Controller" for i in range(60)]
    first, second = results_folder("audit", *several), results_folder("audit", *several, "reno")
    assert max(len(first.name), len(second.name)) <= 120
    assert first != second


def test_default_results_are_ignored_by_git() -> None:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("no repository")
    folders = [str(default) for _, default, _ in OUTS if isinstance(default, Path)]
    folders += [str(results_folder("sweep", "policer")), str(CONTRADICTIONS)]
    shown = subprocess.run(
        ["git", "check-ignore", *(f"{folder}/x" for folder in folders)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert shown.stdout.split() == [f"{folder}/x" for folder in folders]
