"""Draw a flow over time as an interactive figure for the report of ``fairweir explain``.

The report shows bounds on the path that are consistent with the flow's packets: a believed range of the link rate C and
of the propagation delay, and C_L and C_U, the lower and upper bound on C that were known at a time. A limit is the
condition that kept the flow from sending more, such as a full congestion window; a stay is a period with one limit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from fairweir.explain.limits import LIMITS
from fairweir.show import style
from fairweir.show.figure import Figure, rounded, slug

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fairweir.explain.view import Band, Column, FlowView

#: Vertical extent of each panel, as fractions of the figure; the last panel is the strip that shows the limits.
DOMAINS: Final = ([0.73, 1.0], [0.42, 0.69], [0.11, 0.38], [0.0, 0.05])
#: Upper end of a vertical axis, as a multiple of the largest value drawn.
HEADROOM: Final = 1.25
#: Maximum number of stays that are drawn, because more make a page slow. If there are more, the shortest are omitted.
MAX_STAYS: Final = 2000
#: Style of the vertical lines at times when the rate available to the flow changed.
CHANGED: Final = {"color": "#888888", "width": 1, "dash": "dash"}
BELIEVED: Final = style.colour(2)
MEASURED: Final = style.colour(0)
SO_FAR: Final = style.colour(4)
RECEIVER: Final = LIMITS["receiver-window"].colour
#: Entries of the legend: name, color and line style. A color has the same meaning in all panels.
KEYS: Final = (
    ("measured", MEASURED, "solid"),
    ("believed possible", BELIEVED, "dash"),
    ("believed so far", SO_FAR, "dot"),
    ("receiver window", RECEIVER, "solid"),
)


def flow_figure(view: FlowView) -> Figure:
    """Return a figure with rate, RTT and inflight over a common time axis, and a strip below with the flow's limits."""
    data = [
        *(_key(name, colour, dash) for name, colour, dash in KEYS),
        *_band(view, view.believed_rate_mbps, "y", "C believed, CBR-delay"),
        *_so_far(view),
        _line(view, view.rate_mbps, "y", "delivered", MEASURED, "Mbps"),
        *_band(view, view.believed_rtprop_ms, "y2", "rtprop believed"),
        _spread(view, view.rtt_min_ms, view.rtt_max_ms, "y2"),
        _line(view, view.rtt_min_ms, "y2", "RTT, minimum", MEASURED, "ms"),
        _line(view, view.rtt_max_ms, "y2", "RTT, maximum", MEASURED, "ms"),
        _line(view, view.inflight_kb, "y3", "inflight", MEASURED, "kB"),
        _line(view, view.window_kb, "y3", "receiver window", RECEIVER, "kB"),
        *_limits(view),
    ]
    if view.bdp_kb is not None:
        data.append(_level(view, view.bdp_kb, "y3", "minimum BDP believed"))
    tops = (
        top_of(view.rate_mbps, view.believed_rate_mbps),
        top_of(view.rtt_max_ms, view.believed_rtprop_ms),
        HEADROOM * max(_largest(view.inflight_kb), view.bdp_kb or 0.0),
    )
    titles = ("rate (Mbps)", "RTT (ms)", "inflight (kB)")
    layout: dict[str, Any] = {
        "xaxis": {"title": {"text": style.axis_label("t_s")}, "range": [0, view.end_s], "anchor": "y4"},
        "yaxis4": {"domain": DOMAINS[3], "showticklabels": False, "ticks": "", "range": [0, 1], "fixedrange": True},
        "barmode": "overlay",
        "hovermode": "closest",
        "legend": {"orientation": "h", "y": 1.01, "yanchor": "bottom", "x": 0},
    }
    for axis, domain, title, top in zip(("yaxis", "yaxis2", "yaxis3"), DOMAINS, titles, tops, strict=False):
        layout[axis] = {"title": {"text": title}, "domain": domain, "range": [0, top or 1]}
    layout["shapes"] = [
        {"type": "line", "x0": at, "x1": at, "yref": "paper", "y0": DOMAINS[0][0], "y1": 1, "line": CHANGED}
        for at in view.changes_s
    ]
    return Figure(
        id=slug("flow", str(view.number)),
        title=f"Flow {view.number}, {view.ends}",
        data=data,
        layout=layout,
        caption=(
            "Band at the bottom: what limited the flow; hover over it for frame numbers. Believed ranges apply to the "
            "whole flow. A receiver window above the axis did not limit the flow."
        ),
        height=760,
        is_wide=True,
    )


def _key(name: str, colour: str, dash: str) -> dict[str, Any]:
    """Return a legend entry that belongs to no data."""
    line = {"color": colour, "width": 1.4, "dash": dash}
    return {"type": "scatter", "mode": "lines", "name": name, "x": [None], "y": [None], "line": line}


def _line(view: FlowView, values: Iterable[float], axis: str, name: str, colour: str, unit: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": rounded(view.t_s),
        "y": rounded(values),
        "yaxis": axis,
        "showlegend": False,
        "line": {"color": colour, "width": 1.4},
        "hovertemplate": f"{name}: %{{y:.4g}} {unit} at %{{x:.4g}} s<extra></extra>",
    }


def _spread(view: FlowView, low: Column, high: Column, axis: str) -> dict[str, Any]:
    """Return the area between two series, as one polygon per period without a gap: plotly's areas ignore gaps."""
    xs: list[float | None] = []
    ys: list[float | None] = []
    known = np.flatnonzero(np.isfinite(low) & np.isfinite(high))
    for run in np.split(known, np.flatnonzero(np.diff(known) > 1) + 1):
        there, back = run, run[::-1]
        xs += [*rounded(view.t_s[there]), *rounded(view.t_s[back]), None]
        ys += [*rounded(high[there]), *rounded(low[back]), None]
    return {
        "type": "scatter",
        "mode": "none",
        "name": "RTT, minimum to maximum",
        "x": xs,
        "y": ys,
        "yaxis": axis,
        "showlegend": False,
        "hoverinfo": "skip",
        "fill": "toself",
        "fillcolor": f"{MEASURED}80",
    }


def _level(view: FlowView, value: float, axis: str, name: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": [0, view.end_s],
        "y": rounded([value, value]),
        "yaxis": axis,
        "showlegend": False,
        "line": {"color": BELIEVED, "width": 1.2, "dash": "dash"},
        "hovertemplate": f"{name}: %{{y:.4g}}<extra></extra>",
    }


def _band(view: FlowView, band: Band | None, axis: str, name: str) -> list[dict[str, Any]]:
    """Return lines for both edges of a range and the area between them; without an upper edge, only the lower edge."""
    if band is None:
        return []
    if band.hi is None:
        return [_level(view, band.lo, axis, f"{name}, at least")]
    edge = _level(view, band.lo, axis, name) | {"line": {"color": BELIEVED, "width": 0.8}}
    return [edge, edge | {"y": rounded([band.hi, band.hi]), "fill": "tonexty"}]


def _so_far(view: FlowView) -> list[dict[str, Any]]:
    """Return lines for C_L and C_U over time, the bounds on the link rate that were known at each time."""
    believed = view.shrinking
    return [
        _line(view, values, "y", name, SO_FAR, "Mbps")
        | {"x": rounded(believed.t_s), "line": {"color": SO_FAR, "width": 1.2, "shape": "hv", "dash": "dot"}}
        for name, values in (
            ("C believed so far, CCAC", believed.min_mbps),
            ("C at most, so far", believed.max_mbps),
        )
        if len(believed.t_s)
    ]


def _limits(view: FlowView) -> list[dict[str, Any]]:
    stays = sorted(view.stays, key=lambda stay: stay.from_s - stay.to_s)[:MAX_STAYS]
    bars = []
    for word, limit in LIMITS.items():
        mine = [stay for stay in stays if stay.limit == word]
        if mine:
            bars.append(
                {
                    "type": "bar",
                    "name": limit.name,
                    "x": [(stay.from_s + stay.to_s) / 2 for stay in mine],
                    "width": [stay.to_s - stay.from_s for stay in mine],
                    "y": [1] * len(mine),
                    "yaxis": "y4",
                    "marker": {"color": limit.colour, "line": {"width": 0}},
                    "text": [
                        f"{stay.from_s:.4g} to {stay.to_s:.4g} s, frames {stay.first_frame} to {stay.last_frame}"
                        for stay in mine
                    ],
                    "textposition": "none",
                    "hovertemplate": f"{limit.name}: %{{text}}<extra></extra>",
                }
            )
    return bars


def _largest(values: Iterable[float]) -> float:
    known = [value for value in values if np.isfinite(value)]
    return max(known, default=0.0)


def top_of(values: Iterable[float], band: Band | None) -> float:
    """Return an upper end of the axis that shows all values, and also the range unless it is far above the values."""
    largest = _largest(values)
    believed = 0.0 if band is None else band.hi or band.lo
    return HEADROOM * max(largest, min(believed, 2 * largest))
