"""Print the comparison of simulator and kernel on the terminal.

A cell is one CCA in one scenario; the table has a row or column for each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.table import Table
from rich.text import Text

from fairweir.agree.compare import Cell, Standing
from fairweir.agree.transports import Cause

if TYPE_CHECKING:
    from rich.console import Console

    from fairweir.agree.matrix import Agreement
    from fairweir.agree.transports import Transports

#: The text and the style of a cell, by the result of its comparison.
MARKS: Final = {
    Standing.AGREES: ("✓", "green"),
    Standing.DIFFERS: ("✗", "red"),
    Standing.NOT_JUDGED: ("late", "yellow"),
    Standing.NOT_PLAYED: ("-", "yellow"),
}

#: The style of a square of controllers and transports, by the cause of its differences.
CAUSES: Final = {
    Cause.NOTHING: "green",
    Cause.CONTROLLER: "red",
    Cause.TRANSPORT: "magenta",
    Cause.BOTH: "bold red",
    Cause.NOT_RUN: "yellow",
}


def show(agreement: Agreement, console: Console) -> None:
    """Print the table, the largest difference in each cell that differs, and the fraction of cells that agree."""
    if agreement.design is None:
        matrix = Table("scenario", *agreement.ccas, box=None, header_style="bold")
        for scenario in agreement.scenarios:
            matrix.add_row(scenario, *(_mark(agreement.cell(cca, scenario)) for cca in agreement.ccas))
        console.print(matrix)
        console.print(
            "✓ within 10 % (RTT: or 1 ms); ~ differs within chance; % largest difference beyond chance", style="dim"
        )
    if agreement.host_stall:
        console.print(f"simulated hosts stall once per second, {agreement.stalls}", style="dim", soft_wrap=True)
    for standing in (Standing.DIFFERS, Standing.NOT_JUDGED, Standing.NOT_PLAYED):
        cells = [cell for cell in agreement.worst_first if cell.standing is standing]
        if cells:
            console.print(f"\n{standing}", style="bold")
            for cell in cells:
                console.print(f"  {cell.scenario}, {cell.setting or cell.cca}: {cell.why}", soft_wrap=True)
                if cell.known:
                    console.print(f"    known: {cell.known}", style="dim", soft_wrap=True)
    console.print()
    console.print(closing(agreement), soft_wrap=True)


def show_transports(found: Transports, console: Console) -> None:
    """Print the cause of the differences of each square, and each comparison that differs."""
    matrix = Table("scenario", *found.ccas, box=None, header_style="bold")
    for scenario in found.scenarios:
        causes = [found.square(cca, scenario).cause for cca in found.ccas]
        matrix.add_row(scenario, *(Text(str(cause), style=CAUSES[cause]) for cause in causes))
    console.print(matrix)
    for square in found.squares:
        if square.cause is not Cause.NOTHING:
            console.print(f"\n{square.scenario}, {square.cca} and {square.ours}: {square.cause}", style="bold")
            for line in square.differences:
                console.print(f"  {line}", markup=False, highlight=False, soft_wrap=True)
    console.print()
    stacks = ", ".join(f"{stack} {version}" for stack, version in found.stacks.items())
    counts = ", ".join(f"{cause} {found.count(cause)}" for cause in Cause if found.count(cause))
    number = f"{len(found.squares)} comparison{'' if len(found.squares) == 1 else 's'} of four sides"
    console.print(f"{number}: {counts}; {len(found.seeds)} seeds, {stacks}", soft_wrap=True)


def markdown(agreement: Agreement) -> list[str]:
    """Return the cells as lines of Markdown, those with the largest differences first."""
    lines = [f"{closing(agreement)}.", "", "| cell | path and flows | result | largest difference | known reason |"]
    lines.append("| --- | --- | --- | --- | --- |")
    for cell in agreement.worst_first:
        result = f"{cell.standing}, within chance" if cell.only_by_chance else str(cell.standing)
        if 0 < cell.runs < agreement.kernel_runs:
            result += f", {cell.runs} of {agreement.kernel_runs} runs on the kernel"
        row = (cell.scenario, cell.setting or cell.cca, result, cell.why, cell.known)
        lines.append(f"| {' | '.join(text.replace('|', '/') for text in row)} |")
    return lines


def closing(agreement: Agreement) -> str:
    """Return the overall result as one line of text."""
    judged, agreeing = len(agreement.judged), agreement.count(Standing.AGREES)
    rest = f"; {late} not judged" if (late := agreement.count(Standing.NOT_JUDGED)) else ""
    rest += f"; {missing} not run" if (missing := agreement.count(Standing.NOT_PLAYED)) else ""
    if agreement.share is None:
        return f"no cell was judged{rest}"
    if known := sum(bool(cell.known) for cell in agreement.cells):
        rest = f"; {known} of the differences have a known reason{rest}"
    chance = sum(cell.only_by_chance for cell in agreement.cells)
    bound = f"{'at least' if agreement.holds else 'less than'} {agreement.bound:.0%}"
    return (
        f"{agreeing} of {judged} cells agree ({agreement.share:.0%}, {bound}), {chance} of them by chance alone{rest}"
    )


def _mark(cell: Cell) -> Text:
    mark, style = MARKS[cell.standing]
    if cell.only_by_chance:
        mark = mark.replace("✓", "~")
    elif cell.standing is Standing.DIFFERS and cell.worst is not None:
        mark = f"{mark} {cell.worst.off:+.0%}"
    return Text(mark, style=style)
