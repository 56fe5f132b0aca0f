"""Write ``agreement.html``, which compares runs in the simulator and in the Linux kernel.

The page has a matrix with one cell per CCA and scenario, in the style of the audit's report.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairweir.agree.compare import NAMES, Cell, Comparison, Quantity, Standing
from fairweir.agree.table import closing
from fairweir.documents.atomic_write import write_text
from fairweir.judging.outcome import Outcome
from fairweir.show import formats, style
from fairweir.show.figure import Figure, rounded, slug
from fairweir.show.page import render_page
from fairweir.show.word import Word

if TYPE_CHECKING:
    from pathlib import Path

    from fairweir.agree.matrix import Agreement

QUANTITIES: dict[Quantity, tuple[str, str]] = {
    "throughput_mbps": ("Throughput of each flow (Mbit/s)", "%{x:.3g} Mbit/s simulated, %{y:.3g} on the kernel"),
    "rtt_ms": ("Mean RTT of the flows (ms)", "%{x:.3g} ms simulated, %{y:.3g} on the kernel"),
    "loss_percent": ("Loss rate (%)", "%{x:.3g} % simulated, %{y:.3g} % on the kernel"),
}


@dataclass(frozen=True)
class View:
    """The texts of a cell on the page."""

    cell: Cell

    @property
    def anchor(self) -> str:
        """HTML id of the section with the cell's details."""
        return slug("cell", self.cell.cca, self.cell.scenario)

    @property
    def word(self) -> Word:
        """The cell's verdict as one word, which also determines the color."""
        return Word(self.cell.standing.verdict)

    @property
    def short(self) -> str:
        """The cell's text in the matrix."""
        worst = self.cell.worst
        if worst is None or self.cell.standing is Standing.NOT_JUDGED:
            return str(self.cell.standing)
        return f"{worst.off:+.0%}".replace("-", "−") + (" ~" if self.cell.only_by_chance else "")

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The comparisons of the cell as rows of a table."""
        return [_row(comparison) for comparison in self.cell.comparisons]


def write_page(agreement: Agreement, path: Path) -> Path:
    """Write the page to `path`, completely or not at all."""
    return write_text(path, render(agreement))


def render(agreement: Agreement) -> str:
    """Return the page as HTML. The same agreement always gives the same bytes."""
    return render_page(
        "agreement.html.j2",
        package="fairweir.agree",
        agreement=agreement,
        closing=closing(agreement),
        outcome=Word(Outcome.HOLDS if agreement.holds else Outcome.FAILS),
        rows=_rows(agreement),
        by_cca=[_score(agreement, cca) for cca in agreement.ccas],
        figures=[_figure(agreement, quantity) for quantity in QUANTITIES],
        legend=[(Word(standing.verdict), str(standing)) for standing in Standing],
    )


def _rows(agreement: Agreement) -> list[tuple[str, list[View]]]:
    """Return the cells by scenario; those that a design drew, with the largest differences first."""
    if agreement.design is not None:
        return [(cell.scenario, [View(cell)]) for cell in agreement.worst_first]
    return [(name, [View(agreement.cell(cca, name)) for cca in agreement.ccas]) for name in agreement.scenarios]


def _score(agreement: Agreement, cca: str) -> tuple[str, str, Word]:
    counts = Counter(cell.standing for cell in agreement.cells if cell.cca == cca)
    judged = counts[Standing.AGREES] + counts[Standing.DIFFERS]
    good = judged > 0 and counts[Standing.AGREES] >= agreement.bound * judged
    word = Word(Outcome.UNKNOWN if judged == 0 else Outcome.HOLDS if good else Outcome.FAILS)
    return cca, f"{counts[Standing.AGREES]} of {judged}", word


def _row(comparison: Comparison) -> tuple[str, ...]:
    unit, noun = NAMES[comparison.quantity]
    return (
        f"{comparison.flow}: {noun}, {unit}",
        formats.number(comparison.first),
        formats.interval(comparison.lo, comparison.hi, comparison.first),
        formats.number(comparison.second),
        f"{comparison.off:+.1%}".replace("-", "−"),
        {"tolerance": "yes", "chance": "by chance", "": "no"}[comparison.by],
    )


def _figure(agreement: Agreement, quantity: Quantity) -> Figure:
    """Return a figure with a point for each flow: x is the value in the simulator, y the value in the kernel."""
    title, hover = QUANTITIES[quantity]
    data: list[dict[str, Any]] = []
    everything: list[float] = []
    for i, cca in enumerate(agreement.ccas):
        found = [
            (cell.scenario, c)
            for cell in agreement.judged
            if cell.cca == cca
            for c in cell.comparisons
            if c.quantity == quantity and c.first > 0 and c.second > 0
        ]
        everything += [value for _, c in found for value in (c.first, c.second)]
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": cca,
                "x": rounded(c.first for _, c in found),
                "y": rounded(c.second for _, c in found),
                "text": [f"{scenario}, {c.flow}" for scenario, c in found],
                "marker": {"color": style.colour(i), "symbol": style.marker(i), "size": 8, "opacity": 0.8},
                "hovertemplate": f"{cca}, %{{text}}: {hover}<extra></extra>",
            }
        )
    if everything:
        ends = [min(everything) * 0.8, max(everything) * 1.25]
        line = {"type": "scatter", "mode": "lines", "x": ends, "hoverinfo": "skip", "showlegend": False}
        for factor, dash in ((1.0, "solid"), (0.9, "dot"), (1.1, "dot")):
            data.append(
                {**line, "y": [e * factor for e in ends], "line": {"color": "#888888", "dash": dash, "width": 1}}
            )
    return Figure(
        id=slug("figure", quantity),
        title=title,
        data=data,
        layout={
            "xaxis": {"type": "log", "title": {"text": "simulator"}},
            "yaxis": {"type": "log", "title": {"text": "kernel"}},
            "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom"},
        },
        caption="Each point is a flow in a judged cell. Dotted lines: 10 % more or less than the simulator.",
        height=480,
    )
