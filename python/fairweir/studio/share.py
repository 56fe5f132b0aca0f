"""A scenario and the course of its runs as one HTML file, which works without network access."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from fairweir.documents.digits import plain
from fairweir.play.compare import differences
from fairweir.show.bundle import bundle
from fairweir.show.frame import encode
from fairweir.show.page import render_page
from fairweir.studio.jobs import Played


@dataclass(frozen=True)
class _Row:
    of: str
    quantity: str
    value: str


@dataclass(frozen=True)
class _Shown:
    label: str
    not_judged: str
    rows: list[_Row]


def shared_page(title: str, text: str, runs: Sequence[Played]) -> str:
    """Return the page of one or more runs.

    Parameters
    ----------
    title : str
    text : str, the scenario's TOML, which the page shows
    runs : the runs, drawn over each other
    """
    frame = encode({"pictures": [run.picture.document() for run in runs]})
    return render_page(
        "shared.html.j2",
        package="fairweir.studio",
        title=title or (runs[0].picture.label if runs else "scenario"),
        text=text,
        frame=base64.b64encode(frame).decode(),
        runs=[_shown(run) for run in runs],
        figures=(),
        runs_js=Markup(bundle("viewer.js").replace("</script", "<\\/script")),  # noqa: S704 - our own file
        runs_css=Markup(bundle("viewer.css")),  # noqa: S704 - our own file
    )


def _shown(run: Played) -> _Shown:
    rows = differences(("", ""), list(run.summaries), list(run.summaries)).rows
    found = [_Row(row.of, row.quantity, f"{plain(row.second, 4)} {row.unit}".rstrip()) for row in rows]
    return _Shown(run.picture.label, run.not_judged, found)
