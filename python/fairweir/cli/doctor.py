"""``fairweir doctor``: what this machine can do."""

from __future__ import annotations

from dataclasses import asdict

import typer
from rich.table import Table

from fairweir.cli import output
from fairweir.cli.options import AsJson
from fairweir.doctor import examine

MARKS = {"ok": "[green]ok[/green]", "missing": "[yellow]missing[/yellow]", "broken": "[red]broken[/red]"}


def doctor(as_json: AsJson = False) -> None:
    """Tell what this machine can do, and what to install for the rest; exit 1 if the simulator is broken."""
    checks = examine()
    if as_json:
        output.print_json([asdict(check) for check in checks])
    else:
        table = Table("what", "", "found", "needed for", "hint", box=None, header_style="bold")
        for check in checks:
            table.add_row(check.name, MARKS[check.status], check.detail, check.serves, check.hint)
        output.stdout.print(table)
    if any(check.status == "broken" for check in checks):
        raise typer.Exit(1)
