"""Render pages in one style: self-contained HTML files, usable without network access."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from importlib import resources
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from fairweir.show.bundle import bundle
from fairweir.show.figure import Figure
from fairweir.show.packed import pack


def render_page(template: str, *, package: str, **values: Any) -> str:
    """Return a page as self-contained HTML.

    Parameters
    ----------
    template : str, a file in the ``templates`` of `package`; it can import the layout and the parts of this package
    values : values for the template, in addition to ``css``, ``js`` and ``plotly``
    """
    return (
        environment_of(package)
        .get_template(template)
        .render(
            css=Markup(text_of("palette.css") + text_of("page.css")),  # noqa: S704 - our own file
            js=Markup(text_of("page.js")),  # noqa: S704 - our own file
            plotly=bundle("plotly.gz.b64"),
            **values,
        )
    )


def environment_of(package: str) -> Environment:
    """Return the environment of a package's templates, which can import those of this package."""
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(name) for name in dict.fromkeys((package, "fairweir.show"))]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["specs"] = _specs
    return environment


def _specs(figures: Iterable[Figure]) -> str:
    """Return the specifications of figures by their ids, packed."""
    specs = {figure.id: _finite(figure.spec) for figure in figures}
    return pack(json.dumps(specs, allow_nan=False, separators=(",", ":"), ensure_ascii=False).encode())


def _finite(value: Any) -> Any:
    """Replace infinities and NaN, which JSON cannot represent, by null, which plotly ignores."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def text_of(name: str) -> str:
    """Return the text of a style or script of pages."""
    return resources.files("fairweir.show").joinpath("templates", name).read_text(encoding="utf-8")
