"""Write the report of a capture: one HTML file in the style of the audit's report, usable without network access."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairweir import __version__
from fairweir.documents.atomic_write import write_text
from fairweir.explain.figures import flow_figure
from fairweir.explain.findings import Finding, findings
from fairweir.explain.table import remarks, rows, small_flows, split_small
from fairweir.explain.verdict import verdict
from fairweir.explain.view import flow_view
from fairweir.show import formats
from fairweir.show.page import render_page

if TYPE_CHECKING:
    from pathlib import Path

    from fairweir.show.figure import Figure

#: Maximum number of flows with a figure, because a figure has about 100 kB. The flows that delivered the most bytes get
#: figures.
MAX_FIGURES = 40


@dataclass(frozen=True)
class Section:
    """The part of the page about one flow."""

    number: int
    ends: str
    rows: list[tuple[str, str]]
    verdict: str
    findings: list[Finding]
    figure: Figure | None

    @property
    def anchor(self) -> str:
        """HTML id of the section's heading."""
        return f"section-{self.number}"


def write_page(document: dict[str, Any], reported: list[dict[str, Any]], capture: Path, path: Path) -> Path:
    """Write the page for a document of `explain_file`, completely or not at all. The flows `reported` get sections."""
    return write_text(path, render(document, reported, capture.name))


def render(document: dict[str, Any], reported: list[dict[str, Any]], name: str) -> str:
    """Return the page as HTML. The same document always gives the same bytes."""
    drawn = {facts["flow"] for facts in reported[:MAX_FIGURES]}
    sections = [
        Section(
            number=facts["flow"],
            ends=f"{facts['src']} to {facts['dst']}",
            rows=rows(facts, document),
            verdict=verdict(facts, document),
            findings=findings(facts, document),
            figure=flow_figure(flow_view(facts)) if facts["flow"] in drawn else None,
        )
        for facts in reported
    ]
    small = split_small(document["flows"])[1] if len(reported) > 1 or len(document["flows"]) > 1 else []
    return render_page(
        "explain.html.j2",
        package="fairweir.explain",
        name=name,
        sections=sections,
        figures=[section.figure for section in sections if section.figure is not None],
        remarks=[*remarks(document), *([small_flows(small)] if small else [])],
        frames=formats.count(document["capture"]["frames"]),
        version=__version__,
    )
