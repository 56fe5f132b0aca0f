"""``fairweir doctor``: report what works on this machine."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from fairweir.cli import output
from fairweir.cli.checks import clean, examine
from fairweir.cli.kernel import show_undone
from fairweir.cli.options import AsJson

STYLES = {"ok": "green", "missing": "yellow", "broken": "red"}


def doctor(
    undo: Annotated[
        bool,
        typer.Option(
            "--clean", help="Unload BPF controllers that `kernel load` or a crash left, and restore defaults."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check the requirements of all commands on this machine, and print how to meet those that are missing.

    Exit 0: the simulator works.
    Exit 1: the simulator is broken.
    """
    if undo:
        undone = clean()
        if as_json:
            output.print_json(undone)
        else:
            show_undone(undone)
        return
    checks = examine()
    if as_json:
        output.print_json([asdict(check) for check in checks])
    else:
        table = Table("what", "", "found", "needed for", "hint", box=None, header_style="bold")
        for check in checks:
            status = Text(check.status, style=STYLES[check.status])
            table.add_row(check.name, status, check.detail, check.serves, check.hint)
        output.stdout.print(table)
    if any(check.status == "broken" for check in checks):
        raise typer.Exit(1)
