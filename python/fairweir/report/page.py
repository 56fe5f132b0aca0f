"""``report.html``: a self-contained page with an audit, usable without network access."""

from __future__ import annotations

import math
from importlib import resources
from typing import TYPE_CHECKING, Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from fairweir.documents.atomic_write import write_text
from fairweir.report.sections import sections_of
from fairweir.report.view import Page

if TYPE_CHECKING:
    from pathlib import Path

    from fairweir.audit.results import AuditResults


def write_report(results: AuditResults, path: Path) -> Path:
    """Write the report of `results`; a reader never sees half of one.

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
    return render_page("report.html.j2", page=Page(results, sections_of(results)))


def render_page(template: str, *, package: str = "fairweir.report", **values: Any) -> str:
    """Return a page of the report's style as HTML: one file that needs no other.

    Parameters
    ----------
    template : str, a file in the ``templates`` of `package`; the report's own parts can be imported in it
    values : values for the template, besides ``css``, ``js`` and ``plotly``
    """
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(name) for name in dict.fromkeys((package, "fairweir.report"))]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["embed"] = _embed
    return environment.get_template(template).render(
        css=Markup(_text("report.css")),  # noqa: S704 - our own file
        js=Markup(_text("report.js")),  # noqa: S704 - our own file
        plotly=Markup(_plotly()),  # noqa: S704 - plotly's own file
        **values,
    )


def _embed(value: Any) -> Markup:
    """JSON that can be embedded in a script element."""
    return htmlsafe_json_dumps(_finite(value), allow_nan=False, separators=(",", ":"), ensure_ascii=False)


def _finite(value: Any) -> Any:
    """Replace infinities, which JSON lacks, by null, which plotly ignores."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _text(name: str) -> str:
    return resources.files("fairweir.report").joinpath("templates", name).read_text(encoding="utf-8")


def _plotly() -> str:
    """Return plotly's script, checked not to contain the end tag of its element."""
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs()).replace("</script", "<\\/script")
