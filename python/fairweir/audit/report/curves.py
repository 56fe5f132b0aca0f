"""Metrics along an axis: one figure per metric, one curve per CCA, with intervals, theory and the claim's threshold."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairweir.audit.exhibits.family import View
from fairweir.audit.exhibits.registry import metric_of
from fairweir.documents.digits import plain
from fairweir.judging.outcome import Direction, Threshold
from fairweir.show import formats, style
from fairweir.show.figure import Figure, Table, is_spread, linear_range, log_ticks, slug

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from fairweir.audit.axis import Axis
    from fairweir.audit.exhibits.family import Reference
    from fairweir.audit.results import ClaimResult, Curve, FamilyResult, Point

TICK_CHARACTERS = 8
"""Maximum characters per line of a category's name: six categories fit in a figure of a third of the page's width."""


@dataclass(frozen=True)
class CcaCurve:
    """A metric along a family's axis, for the CCA in the report's column `index`."""

    cca: str
    index: int
    curve: Curve
    dodge: float = 0.0
    """Horizontal offset on a category axis, so that the points of CCAs do not overlap."""


def metric_figures(
    family: FamilyResult, results: Sequence[tuple[int, str, FamilyResult]], exhibits: Iterable[ClaimResult]
) -> dict[str, Figure]:
    """Draw a figure for each metric that `family` measured.

    Parameters
    ----------
    family : FamilyResult of any CCA; only its name and axis are read
    results : (column in the report, CCA, its results) of each CCA that ran the family
    exhibits : claims on the family; their thresholds are drawn

    Returns
    -------
    dict, metric -> Figure, in the order of the family's metrics
    """
    metrics: dict[str, list[CcaCurve]] = {}
    for place, (index, cca, measured) in enumerate(results):
        dodge = (place - (len(results) - 1) / 2) * min(0.12, 0.7 / len(results))
        for curve in measured.curves:
            metrics.setdefault(curve.metric, []).append(CcaCurve(cca, index, curve, dodge))
    thresholds: dict[str, Threshold] = {}
    for exhibit in exhibits:
        # The name of a claim on a curve's exponent differs from the metric's name; its bound is not a value on the
        # curve.
        if exhibit.threshold is not None and exhibit.name.endswith(f".{exhibit.metric}"):
            thresholds.setdefault(exhibit.metric, exhibit.threshold)
    figures = {}
    for metric, curves in metrics.items():
        figure = _metric_figure(family, metric, curves, thresholds.get(metric))
        if figure is not None:
            figures[metric] = figure
    return figures


def _metric_figure(
    family: FamilyResult, metric: str, curves: Sequence[CcaCurve], threshold: Threshold | None
) -> Figure | None:
    points = [p for c in curves for p in c.curve.points if p.value is not None]
    if not points:
        return None
    known = metric_of(family.name, metric)
    references = known.references if known else ()
    label = known.label if known else style.axis_label(metric, curves[0].curve.unit)
    view = known.view if known else View.SPREAD
    xs = sorted({p.x for c in curves for p in c.curve.points})
    # A single point is drawn as a category, so that the CCAs' points are next to each other and do not overlap.
    axis = family.axis if len(xs) > 1 else family.axis.model_copy(update={"scale": "category"})
    data = [trace for c in curves for trace in _curve_traces(axis, c, is_joined=len(xs) > 2)]
    data += [_reference_trace(reference, xs) for reference in references]
    seen = [v for p in points for v in (p.value, p.lo, p.hi, p.theory)]
    seen += [reference.at(x) for reference in references for x in xs]
    # plotly clips an interval that reaches zero on a logarithmic axis, which is acceptable; it would omit a value of
    # zero.
    is_positive = all(p.value is not None and p.value > 0 for p in points)
    yaxis = _value_axis(label, view, seen, threshold, is_positive=is_positive)
    layout = {"xaxis": _along(axis, points), "yaxis": yaxis, "showlegend": False}
    if threshold is not None:
        layout |= _threshold_line(threshold, yaxis)
    return Figure(
        id=slug("fig", family.name, metric),
        title=label[0].upper() + label[1:],
        data=data,
        layout=layout,
        caption=_caption(curves, references),
        table=_table(family.axis, curves),
    )


def _curve_traces(axis: Axis, cca_curve: CcaCurve, *, is_joined: bool) -> list[dict[str, Any]]:
    """Return a CCA's points, joined by lines only if there are more than two, because two do not show a trend."""
    points = sorted((p for p in cca_curve.curve.points if p.value is not None), key=lambda p: p.x)
    colour = style.colour(cca_curve.index)
    is_category = axis.scale == "category"
    x = [p.x + cca_curve.dodge if is_category else p.x for p in points]
    above = [0.0 if p.hi is None or p.value is None else max(0.0, p.hi - p.value) for p in points]
    below = [0.0 if p.lo is None or p.value is None else max(0.0, p.value - p.lo) for p in points]
    traces: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "lines+markers" if is_joined and not is_category else "markers",
            "name": cca_curve.cca,
            "x": x,
            "y": [p.value for p in points],
            "error_y": {"type": "data", "array": above, "arrayminus": below, "thickness": 1.2, "width": 3},
            "line": {"color": colour, "width": 2, "dash": style.dash(cca_curve.index)},
            "marker": {"symbol": style.marker(cca_curve.index), "color": colour, "size": 8},
            "customdata": [[p.label, formats.interval(p.lo, p.hi, p.value)] for p in points],
            "hovertemplate": f"<b>{cca_curve.cca}</b>, %{{customdata[0]}}"
            "<br>%{y:.4g} %{customdata[1]}<extra></extra>",
            "meta": {"cca": cca_curve.cca},
        }
    ]
    expected = [p for p in points if p.theory is not None]
    if expected:
        traces.append(
            {
                "type": "scatter",
                "mode": "markers" if is_category or len(expected) == 1 else "lines",
                "name": f"{cca_curve.cca}: theory",
                "x": [p.x + cca_curve.dodge if is_category else p.x for p in expected],
                "y": [p.theory for p in expected],
                "line": {"color": colour, "width": 1.5, "dash": "dot"},
                "marker": {"symbol": "line-ew-open", "color": colour, "size": 16},
                "hovertemplate": f"theory for {cca_curve.cca}: %{{y:.4g}}<extra></extra>",
                "meta": {"cca": cca_curve.cca},
            }
        )
    return traces


def _reference_trace(reference: Reference, xs: Sequence[float]) -> dict[str, Any]:
    grid = _between(xs)
    return {
        "type": "scatter",
        "mode": "lines",
        "name": reference.label,
        "x": grid,
        "y": [reference.at(x) for x in grid],
        "line": {"color": "#888888", "width": 1.2, "dash": reference.dash},
        "hovertemplate": f"{reference.label}: %{{y:.4g}}<extra></extra>",
        "meta": {"reference": True},
    }


def _between(xs: Sequence[float], steps: int = 24) -> list[float]:
    lo, hi = min(xs), max(xs)
    return [lo + (hi - lo) * i / steps for i in range(steps + 1)] if hi > lo else [lo]


def _along(axis: Axis, points: Sequence[Point]) -> dict[str, Any]:
    labels = {p.x: p.label for p in points}
    xs = sorted(labels)
    keys: dict[str, Any] = {"title": {"text": style.axis_label(axis.name, axis.unit)}}
    if axis.scale == "category":
        return keys | {
            "tickvals": xs,
            "ticktext": [_wrapped(labels[x]) for x in xs],
            "tickangle": 0,
            "showgrid": False,
            "range": [xs[0] - 0.5, xs[-1] + 0.5],
            "title": {"text": ""},
            "automargin": True,
        }
    if axis.scale == "log" and xs[0] > 0:
        lo, hi = math.log10(xs[0]), math.log10(xs[-1])
        room = max(0.06 * (hi - lo), 0.05)
        return keys | {
            "type": "log",
            "range": [lo - room, hi + room],
            "tickvals": xs,
            "ticktext": _tick_texts(labels),
        }
    if len(xs) <= 12:
        keys |= {"tickvals": xs, "ticktext": _tick_texts(labels)}
    return keys


def _tick_texts(labels: dict[float, str]) -> list[str]:
    """Return tick labels without the unit, which the axis title has. Fractions remain: ``1/16``, not ``0.0625``."""
    firsts = {x: (label.split() or [""])[0] for x, label in labels.items()}
    return [firsts[x] if "/" in firsts[x] else f"{plain(x)}" for x in sorted(labels)]


def _wrapped(label: str) -> str:
    """Break a category's name into short lines, so that names fit next to each other."""
    lines = [""]
    for word in label.split():
        if lines[-1] and len(lines[-1]) + len(word) > TICK_CHARACTERS:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip()
    return "<br>".join(lines)


def _value_axis(
    label: str, view: View, seen: Sequence[float | None], threshold: Threshold | None, *, is_positive: bool
) -> dict[str, Any]:
    keys: dict[str, Any] = {"title": {"text": label}}
    values = [v for v in seen if v is not None and math.isfinite(v)]
    if threshold is not None and math.isfinite(threshold.bound):
        values = [*values, threshold.bound]
    if view is View.UNIT and max(values) <= 1.5:
        return keys | {"range": [0, max(1.05, 1.03 * max(values))]}
    is_ratio = view is View.EVEN
    positive = [v for v in values if v > 0]
    if is_positive and (is_ratio or is_spread(values)):
        return keys | log_ticks([*positive, 1.0] if is_ratio else positive)
    return keys | {"range": linear_range(values, floor=0.0)}


def _threshold_line(threshold: Threshold, yaxis: dict[str, Any]) -> dict[str, Any]:
    """Return a layout with a line at the bound and a tint over the values that violate the claim."""
    bounds = yaxis.get("range")
    if bounds is None:
        return {}
    is_log = yaxis.get("type") == "log"
    to_value: Callable[[float], float] = (lambda e: 10.0**e) if is_log else (lambda v: v)
    bad_end = to_value(bounds[1] if threshold.direction is Direction.AT_MOST else bounds[0])
    base = {"xref": "paper", "x0": 0, "x1": 1, "yref": "y", "layer": "below"}
    is_at_most = threshold.direction is Direction.AT_MOST
    return {
        "shapes": [
            base
            | {"type": "line", "y0": threshold.bound, "y1": threshold.bound, "line": {"color": "#D13B30", "width": 1}},
            base
            | {
                "type": "rect",
                "y0": threshold.bound,
                "y1": bad_end,
                "line": {"width": 0},
                "fillcolor": "#D13B30",
                "opacity": 0.07,
            },
        ],
        "annotations": [
            {
                "xref": "paper",
                "x": 0,
                "xanchor": "left",
                "yref": "y",
                "y": math.log10(threshold.bound) if is_log else threshold.bound,
                "yanchor": "bottom" if is_at_most else "top",
                "text": f"fails {'above' if is_at_most else 'below'} {plain(threshold.bound)}",
                "showarrow": False,
                "font": {"size": 11, "color": "#D13B30"},
            }
        ],
    }


def _caption(curves: Sequence[CcaCurve], references: Sequence[Reference]) -> str:
    parts = []
    laws: dict[str, list[str]] = {}
    for c in curves:
        if c.curve.law and any(p.theory is not None for p in c.curve.points):
            laws.setdefault(c.curve.law, []).append(c.cca)
    if laws:
        parts.append("Dotted: theory, " + "; ".join(f"{', '.join(ccas)} {law}" for law, ccas in laws.items()) + ".")
    if references:
        parts.append("Gray: " + "; ".join(f"{r.label} ({r.dash})" for r in references) + ".")
    return " ".join(parts)


def _table(axis: Axis, curves: Sequence[CcaCurve]) -> Table:
    labels: dict[float, str] = {}
    for c in curves:
        for p in c.curve.points:
            labels.setdefault(p.x, p.label)
    by_cca = [{p.x: p for p in c.curve.points} for c in curves]
    rows = []
    for x in sorted(labels):
        cells = []
        for measured in by_cca:
            point = measured.get(x)
            cells.append(formats.ABSENT if point is None else _cell(point))
        rows.append((labels[x] or f"{plain(x)}", *cells))
    return Table((style.axis_label(axis.name, axis.unit), *(c.cca for c in curves)), tuple(rows))


def _cell(point: Point) -> str:
    text = f"{formats.number(point.value)} {formats.interval(point.lo, point.hi, point.value)}".rstrip()
    return text if point.theory is None else f"{text}, theory {formats.number(point.theory)}"
