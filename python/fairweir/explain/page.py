"""A capture's report: one HTML file in the style of the audit's, that needs no network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairweir import __version__
from fairweir.drawing import formats
from fairweir.explain.figures import flow_figure
from fairweir.explain.findings import Finding, findings, limited_by
from fairweir.explain.table import remarks, rows
from fairweir.explain.view import flow_view
from fairweir.report.page import render_page

if TYPE_CHECKING:
    from pathlib import Path

    from fairweir.drawing.figure import Figure

#: Of more flows than that, only the ones that delivered most have figures: each weighs some 100 kB.
MOST_FIGURES = 40


@dataclass(frozen=True)
class Section:
    """A flow as the page shows it."""

    number: int
    ends: str
    rows: list[tuple[str, str]]
    limited_by: str
    findings: list[Finding]
    figure: Figure | None

    @property
    def anchor(self) -> str:
        """HTML id of its heading."""
        return f"section-{self.number}"


def write_page(document: dict[str, Any], capture: Path, path: Path) -> Path:
    """Write the page of `explain_file`'s document; a reader never sees half of one."""
    partial = path.with_name(path.name + ".partial")
    partial.write_text(render(document, capture.name), encoding="utf-8")
    partial.replace(path)
    return path


def render(document: dict[str, Any], name: str) -> str:
    """Give the page as HTML; the same document gives the same bytes."""
    ranked = sorted(document["flows"], key=lambda facts: -facts["delivered_bytes"])
    drawn = {facts["flow"] for facts in ranked[:MOST_FIGURES]}
    sections = [
        Section(
            number=facts["flow"],
            ends=f"{facts['src']} to {facts['dst']}",
            rows=rows(facts),
            limited_by=limited_by(facts),
            findings=findings(facts),
            figure=flow_figure(flow_view(facts)) if facts["flow"] in drawn else None,
        )
        for facts in document["flows"]
    ]
    return render_page(
        "explain.html.j2",
        package="fairweir.explain",
        name=name,
        sections=sections,
        figures=[section.figure for section in sections if section.figure is not None],
        remarks=remarks(document),
        frames=formats.count(document["capture"]["frames"]),
        version=__version__,
    )
