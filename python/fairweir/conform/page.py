"""``conform.html``: the verdicts, envelopes and mechanisms as a page, in the style of the audit's report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from fairweir.conform.table import closing, mechanisms, numbers, title
from fairweir.documents.atomic_write import write_text
from fairweir.show import formats, style
from fairweir.show.figure import Figure, rounded, slug
from fairweir.show.page import render_page
from fairweir.show.word import Word

if TYPE_CHECKING:
    from pathlib import Path

    from fairweir.conform.judge import Cell
    from fairweir.conform.results import Conformance, Report

#: Maximum number of samples drawn per side.
_DRAWN: Final = 250


@dataclass(frozen=True)
class View:
    """The presentation of a scenario on the page."""

    comparison: Conformance
    cell: Cell

    @property
    def anchor(self) -> str:
        """HTML id of the scenario's details."""
        one = self.comparison
        return slug("cell", one.cca, one.reference, self.cell.scenario, self.cell.arrangement)

    @property
    def word(self) -> Word:
        """The verdict as a word, which determines the color."""
        return Word(self.cell.standing.outcome)

    @property
    def numbers(self) -> tuple[str, ...]:
        """The numbers of the scenario's row."""
        return numbers(self.cell)

    @property
    def facts(self) -> list[tuple[str, str]]:
        """Further numbers, as names and texts."""
        cell = self.cell
        found = [("clusters", str(cell.clusters))] if cell.conformance is not None else []
        if cell.competitors is not None:
            found.append(("competing flow", " and ".join(dict.fromkeys(cell.competitors))))
        if cell.offset_mbps is not None and cell.offset_ms is not None:
            for name, one, unit in (
                ("offset of the envelope, throughput", cell.offset_mbps, "Mbit/s"),
                ("offset of the envelope, delay", cell.offset_ms, "ms"),
            ):
                found.append((name, formats.estimate(one.value, one.lo, one.hi, unit)))
        if cell.release_p99_us is not None:
            found.append(("lateness of the emulator, 99th percentile", f"{cell.release_p99_us:.0f} µs"))
        return found

    @property
    def figure(self) -> Figure | None:
        """The envelopes and samples of both sides; None if nothing was compared."""
        cell = self.cell
        if not cell.candidate_hulls:
            return None
        sides = (
            (self.comparison.reference, cell.reference_points, cell.reference_hulls),
            (self.comparison.cca, cell.candidate_points, cell.candidate_hulls),
        )
        data: list[dict[str, Any]] = []
        for i, (name, points, hulls) in enumerate(sides):
            shown = points[:: max(1, -(-len(points) // _DRAWN))]
            data.append(
                {
                    "type": "scatter",
                    "mode": "markers",
                    "name": name,
                    "x": rounded(y for _, y in shown),
                    "y": rounded(x for x, _ in shown),
                    "marker": {"color": style.colour(i), "symbol": style.marker(i), "size": 4, "opacity": 0.5},
                    "hovertemplate": f"{name}: %{{x}} ms, %{{y}} Mbit/s<extra></extra>",
                }
            )
            for hull in hulls:
                closed = [*hull, hull[0]]
                data.append(
                    {
                        "type": "scatter",
                        "mode": "lines",
                        "x": rounded(y for _, y in closed),
                        "y": rounded(x for x, _ in closed),
                        "line": {"color": style.colour(i), "width": 2, "dash": style.DASHES[i]},
                        "hoverinfo": "skip",
                        "showlegend": False,
                    }
                )
        return Figure(
            id=slug("figure", self.anchor),
            title=f"{self.comparison.cca}: {cell.name}",
            data=data,
            layout={
                "xaxis": {"title": {"text": "RTT (ms)"}},
                "yaxis": {"title": {"text": style.axis_label("throughput_mbps")}},
                "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom"},
            },
            caption="Each point is a sample of ten rtprops; lines are the envelopes.",
            height=360,
        )


def write_page(report: Report, path: Path) -> Path:
    """Write the page; the file is replaced completely or not at all."""
    return write_text(path, render(report))


def render(report: Report) -> str:
    """Return the page as HTML; the same report gives the same bytes."""
    views = {one.cca + one.reference: [View(one, cell) for cell in one.cells] for one in report.comparisons}
    figures = {key: [figure for view in found if (figure := view.figure)] for key, found in views.items()}
    return render_page(
        "conform.html.j2",
        package="fairweir.conform",
        report=report,
        figures=[figure for found in figures.values() for figure in found],
        comparisons=[
            {
                "title": title(one),
                "anchor": slug("comparison", one.cca, one.reference),
                "word": Word(one.standing.outcome),
                "closing": closing(one),
                "mechanisms": mechanisms(one),
                "views": views[one.cca + one.reference],
                "figures": figures[one.cca + one.reference],
            }
            for one in report.comparisons
        ],
    )
