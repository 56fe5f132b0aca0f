"""Interactive figures as data: a specification for plotly, and the same numbers as a table."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from fairweir.show.formats import power_of_ten

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

LOG_SPREAD: Final = 30.0
"""Ratio of the maximum to the minimum value above which an axis is logarithmic."""

SERIES_DIGITS: Final = 5
"""Significant digits of a time series in the page; results.json has all digits."""


@dataclass(frozen=True)
class Table:
    """A figure's numbers as formatted texts."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Figure:
    """One figure of the report.

    Attributes
    ----------
    id : str, unique in the page and a valid HTML id
    title : str, shown above the figure
    caption : str, explanation shown below the figure
    data, layout : plotly's, JSON-serializable; the page's theme adds the colors of text, paper and grid
    height : int, pixels
    is_wide : bool, whether the figure has the page's full width
    """

    id: str
    title: str
    data: list[dict[str, Any]]
    layout: dict[str, Any]
    caption: str = ""
    height: int = 320
    is_wide: bool = False
    table: Table | None = None
    notes: tuple[str, ...] = field(default=())

    @property
    def spec(self) -> dict[str, Any]:
        """Plotly's specification."""
        return {"data": self.data, "layout": {**self.layout, "height": self.height}}


def slug(*parts: str) -> str:
    """Return `parts`, joined to an HTML id."""
    joined = "-".join(parts)
    return "".join(c if c.isalnum() or c == "-" else "-" for c in joined.lower())


def rounded(values: Iterable[float | None]) -> list[float | None]:
    """Round to `SERIES_DIGITS` significant digits; a missing or infinite value is None, which plotly draws as a gap."""
    return [None if v is None or not math.isfinite(v) else float(f"{v:.{SERIES_DIGITS}g}") for v in values]


def is_spread(values: Iterable[float | None]) -> bool:
    """Return whether the ratio of the largest to the smallest positive value exceeds `LOG_SPREAD`."""
    positive = [v for v in values if v is not None and math.isfinite(v) and v > 0]
    return len(positive) > 1 and max(positive) > LOG_SPREAD * min(positive)


def log_range(values: Iterable[float | None], margin: float = 0.06) -> list[float] | None:
    """Return plotly's range (exponents of ten) that contains all positive `values`, with a relative margin."""
    positive = [v for v in values if v is not None and math.isfinite(v) and v > 0]
    if not positive:
        return None
    lo, hi = math.log10(min(positive)), math.log10(max(positive))
    room = max(hi - lo, 0.3) * margin
    return [lo - room, hi + room]


def linear_range(values: Iterable[float | None], *, floor: float | None = None) -> list[float] | None:
    """Return a range from `floor`, or the smallest value, to above the largest value."""
    finite = [v for v in values if v is not None and math.isfinite(v)]
    if not finite:
        return None
    hi = max(finite)
    lo = min(finite) if floor is None else min([floor, *finite])
    room = 0.06 * (hi - lo or abs(hi) or 1.0)
    return [lo if floor is not None and min(finite) >= floor else lo - room, hi + room]


def _tick(value: float) -> str:
    exponent = round(math.log10(value))
    is_power = math.isclose(value, 10.0**exponent) and not -3 <= exponent <= 4
    return power_of_ten(exponent) if is_power else f"{value:g}"


def log_ticks(values: Sequence[float]) -> dict[str, Any]:
    """Return the keys of a logarithmic axis: ticks at 1, 2 and 5 within a decade or two, else at powers of ten."""
    bounds = log_range(values) or [0.0, 1.0]
    decades = range(math.floor(bounds[0]), math.ceil(bounds[1]) + 1)
    steps = (1, 2, 5) if bounds[1] - bounds[0] <= 2.5 else (1,)
    ticks = [step * 10.0**decade for decade in decades for step in steps]
    return {"type": "log", "range": bounds, "tickvals": ticks, "ticktext": [_tick(tick) for tick in ticks]}
