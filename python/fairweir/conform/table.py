"""Print comparisons on the terminal, and as Markdown for a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.table import Table

from fairweir.conform.judge import Cell, Difference, Standing
from fairweir.documents.arguments import words_for_enums
from fairweir.show import formats

if TYPE_CHECKING:
    from rich.console import Console

    from fairweir.conform.results import Conformance, Report

_STYLES: Final = {Standing.CONFORMS: "green", Standing.DIFFERS: "red"}
#: Maximum number of mechanisms printed per controller.
_SHOWN: Final = 5
_HEAD: Final = ("scenario", "verdict", "conformance", "of the reference", "translated", "Δ throughput", "Δ delay")


def show(report: Report, console: Console) -> None:
    """Print each comparison: a table of its scenarios, and the mechanisms that differ."""
    for one in report.comparisons:
        console.print(title(one), style="bold")
        table = Table(*_HEAD, box=None, header_style="bold", padding=(0, 2, 0, 0))
        for cell in one.cells:
            table.add_row(cell.name, f"{mark(cell.standing)} {cell.standing}", *numbers(cell), style=_style(cell))
        console.print(table)
        for cell in one.cells:
            if cell.standing not in (Standing.CONFORMS, Standing.DIFFERS):
                console.print(f"  {cell.name}: {cell.why}", style="yellow", soft_wrap=True)
        for text in mechanisms(one):
            console.print(f"  {text}", soft_wrap=True)
        console.print(closing(one), soft_wrap=True)
        console.print()


def title(one: Conformance) -> str:
    """Return ``quinn/cubic 0.11.19 compared with cubic``."""
    sides = ((one.cca, one.cca_version), (one.reference, one.reference_version))
    return " compared with ".join(" ".join(part for part in side if part) for side in sides)


@words_for_enums
def mark(standing: Standing) -> str:
    """Return one character that is readable without color."""
    return standing.outcome.symbol


def numbers(cell: Cell) -> tuple[str, ...]:
    """Return the numbers of a row, in the order of the head."""
    if cell.conformance is None or cell.yardstick is None or cell.translated is None:
        return ("",) * 5
    found = cell.conformance
    return (
        f"{found.value:.2f} [{found.lo:.2f}, {found.hi:.2f}]",
        f"{cell.yardstick.value:.2f}",
        f"{cell.translated.value:.2f}",
        change(cell.throughput_mbps, "Mbit/s"),
        change(cell.delay_ms, "ms"),
    )


def change(found: Difference | None, unit: str) -> str:
    """Return a difference with its sign, marked if it is outside the reference's spread."""
    if found is None:
        return ""
    return f"{found.value:+.2f} {unit}{' !' if found.is_outside else ''}".replace("-", "−")


def mechanisms(one: Conformance) -> list[str]:
    """Return the mechanisms that differ, as sentences, with the number of scenarios."""
    found = one.mechanisms
    lines = [f"{text} (in {n} of {len(one.judged)} scenarios)" for text, n in found[:_SHOWN]]
    return lines + ([f"and {len(found) - _SHOWN} further measures differ"] if len(found) > _SHOWN else [])


def closing(one: Conformance) -> str:
    """Return the outcome of a comparison as one line."""
    rest = [f"{one.count(s)} {s}" for s in Standing if s is not Standing.CONFORMS and one.count(s)]
    if one.share is None:
        return f"{one.standing}: no scenario was judged; {', '.join(rest)}"
    conforming = f"conforms in {one.count(Standing.CONFORMS)} of {len(one.judged)} scenarios"
    return f"{one.standing}: {'; '.join([conforming, *rest])}"


def markdown(report: Report) -> list[str]:
    """Return the table of all comparisons as lines of Markdown."""
    lines = [
        "| controller | reference | verdict | conforms in | conformance | of the reference | translated |"
        " largest measured difference of a mechanism |",
        "| --- | --- | --- | --- | ---: | ---: | ---: | --- |",
    ]
    for one in report.comparisons:
        means = [one.mean(name) for name in ("conformance", "yardstick", "translated")]
        first = next((str(text) for text, _ in one.mechanisms), "")
        cells = [
            f"{one.cca} {one.cca_version}".strip(),
            f"{one.reference} {one.reference_version}".strip(),
            str(one.standing),
            f"{one.count(Standing.CONFORMS)} of {len(one.judged)}",
            *(formats.number(value, 2) for value in means),
            first,
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _style(cell: Cell) -> str:
    return _STYLES.get(cell.standing, "yellow")
