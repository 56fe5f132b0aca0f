"""``report.html``: a self-contained page with an audit, usable without network access."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairweir.audit.report.sections import sections_of
from fairweir.audit.report.view import Page
from fairweir.documents.atomic_write import write_text
from fairweir.show.courses import drawing_of
from fairweir.show.page import render_page

if TYPE_CHECKING:
    from pathlib import Path

    from fairweir.audit.results import AuditResults


def write_report(results: AuditResults, path: Path) -> Path:
    """Write the report of `results`; the file is replaced completely or not at all.

    Parameters
    ----------
    results : AuditResults, complete or not
    path : Path of the HTML file; its directory must exist

    Returns
    -------
    Path, as given
    """
    return write_text(path, render_report(results))


def render_report(results: AuditResults) -> str:
    """Return the report of `results` as HTML; the same results give the same bytes."""
    page = Page(results, sections_of(results))
    drawing = drawing_of({figure.id: [figure.picture] for figure in page.courses}) if page.courses else None
    return render_page("report.html.j2", package="fairweir.audit.report", page=page, drawing=drawing)
