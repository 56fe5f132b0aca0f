"""Figures of the starvation hunt: the minimum jitter of each kind that starves a flow, and the ratio's growth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

from fairweir.audit.exhibits.readings import RATIO
from fairweir.documents.digits import plain
from fairweir.hunting.result import Growth, HuntResult
from fairweir.show import formats, style
from fairweir.show.figure import Figure, Table, log_ticks

GROWTH_WORDS = {"rate_mbps": "rates", "duration_s": "durations"}
GROWTH_AXES = {"rate_mbps": "link rate (Mbps)", "duration_s": "duration of the run (s)"}

Hunts: TypeAlias = Sequence[tuple[int, HuntResult]]
"""(column in the report, result), one per CCA."""

NONE_AT = 2.0
"""Position of "none" on the axis of D, as a multiple of the largest D tried."""


def hunt_figures(hunts: Hunts) -> list[Figure]:
    """Draw the smallest D for each kind of jitter, and the ratio's growth with the rate and with time, for all CCAs."""
    figures = [smallest_jitter(hunts), *(growth_figure(hunts, axis) for axis in GROWTH_AXES)]
    return [figure for figure in figures if figure is not None]


def smallest_jitter(hunts: Hunts) -> Figure | None:
    """Draw the smallest D at which the search found a ratio above the bound, with a row for each kind of jitter."""
    kinds = list(dict.fromkeys(kind for _, hunt in hunts for kind in hunt.smallest_d_ms))
    if not kinds:
        return None
    tried = [d for _, hunt in hunts for d in hunt.searched_d_ms]
    found = [d for _, hunt in hunts for d in hunt.smallest_d_ms.values() if d]
    ceiling = max(tried, default=max(found, default=1.0))
    data: list[dict[str, Any]] = []
    for row, (index, hunt) in enumerate(hunts):
        shift = (row - (len(hunts) - 1) / 2) * 0.11
        hits = [(kind, d) for kind, d in hunt.smallest_d_ms.items() if d]
        misses = [kind for kind, d in hunt.smallest_d_ms.items() if d is None]
        for xs, names, is_hit in (
            ([d for _, d in hits], [k for k, _ in hits], True),
            ([NONE_AT * ceiling] * len(misses), misses, False),
        ):
            data.append(
                {
                    "type": "scatter",
                    "mode": "markers",
                    "name": hunt.cca,
                    "x": xs,
                    "y": [kinds.index(name) + shift for name in names],
                    "marker": {
                        "color": style.colour(index),
                        "symbol": style.marker(index)
                        if is_hit
                        else style.marker(index).removesuffix("-open") + "-open",
                        "size": 10 if is_hit else 8,
                    },
                    "customdata": names,
                    "hovertemplate": f"<b>{hunt.cca}</b>, %{{customdata}}: D = %{{x:.3g}} ms<extra></extra>"
                    if is_hit
                    else f"<b>{hunt.cca}</b>, %{{customdata}}: none up to {ceiling:g} ms<extra></extra>",
                    "meta": {"cca": hunt.cca},
                }
            )
    xaxis = log_ticks([*tried, *found, NONE_AT * ceiling])
    xaxis["tickvals"] = [t for t in xaxis["tickvals"] if t <= ceiling / 1.5] + [NONE_AT * ceiling]
    xaxis["ticktext"] = [f"{plain(t)}" for t in xaxis["tickvals"][:-1]] + ["none"]
    return Figure(
        id="fig-hunt-smallest-d",
        title="Minimum D above the bound, for each kind of jitter",
        data=data,
        layout={
            "xaxis": xaxis | {"title": {"text": "D (ms)"}, "tickangle": 0},
            "yaxis": {"tickvals": list(range(len(kinds))), "ticktext": kinds, "range": [len(kinds) - 0.5, -0.5]},
            "showlegend": False,
        },
        caption="D is the maximum time a packet or ACK is held. A hollow symbol means that no"
        " ratio exceeded the bound at any D, rate and buffer tried. These are results of the search; only the final"
        " scenario is confirmed with new seeds.",
        height=110 + 42 * len(kinds),
        table=Table(
            ("kind of jitter, D (ms)", *(hunt.cca for _, hunt in hunts)),
            tuple((kind, *(_smallest(hunt, kind) for _, hunt in hunts)) for kind in kinds),
        ),
    )


def _smallest(hunt: HuntResult, kind: str) -> str:
    if kind not in hunt.smallest_d_ms:
        return "not tried"
    d_ms = hunt.smallest_d_ms[kind]
    return "none" if d_ms is None else formats.number(d_ms)


def growth_figure(hunts: Hunts, axis: str) -> Figure | None:
    """Draw the throughput ratio in the scenario found for each CCA while only the rate, or only the duration, grows."""
    curves = [(i, h, g) for i, h in hunts for g in h.growth if g.axis == axis and g.points]
    if not curves:
        return None
    data = [trace for index, hunt, growth in curves for trace in _growth_traces(index, hunt, growth)]
    xs = sorted({p.x for _, _, g in curves for p in g.points})
    ratios = [
        v for _, _, g in curves for p in g.points for v in (p.ratio.value, p.ratio.lo, p.ratio.hi, p.control.value)
    ]
    bound = max(hunt.bound for _, hunt, _ in curves)
    layout: dict[str, Any] = {
        "xaxis": log_ticks(xs) | {"title": {"text": GROWTH_AXES[axis]}},
        "yaxis": log_ticks([*ratios, bound, 1.0]) | {"title": {"text": RATIO.label}},
        "showlegend": False,
        "shapes": [
            {
                "type": "line", "xref": "paper", "x0": 0, "x1": 1, "yref": "y", "y0": bound, "y1": bound,
                "line": {"color": "#D13B30", "width": 1}, "layer": "below",
            }
        ],
        "annotations": [
            {
                "xref": "paper", "x": 0, "xanchor": "left", "yref": "y", "y": math.log10(bound), "yanchor": "bottom",
                "text": f"bound {plain(bound)}", "showarrow": False, "font": {"size": 11, "color": "#D13B30"},
            }
        ],
    }  # fmt: skip
    exponents = "; ".join(f"{hunt.cca} {formats.number(growth.exponent)}" for _, hunt, growth in curves)
    return Figure(
        id=f"fig-hunt-growth-{axis.replace('_', '-')}",
        title=f"Ratio of the found scenario over {GROWTH_WORDS[axis]}",
        data=data,
        layout=layout,
        caption="Dotted: the same links without jitter. A ratio that grows without bound is starvation; otherwise the"
        " unfairness is bounded."
        f" Exponents: {exponents}.",
        table=Table(
            (GROWTH_AXES[axis], *(hunt.cca for _, hunt, _ in curves)),
            tuple((f"{plain(x)}", *(_growth_cell(growth, x) for _, _, growth in curves)) for x in xs),
        ),
    )


def _growth_traces(index: int, hunt: HuntResult, growth: Growth) -> list[dict[str, Any]]:
    """Return the traces of the ratio and of its control, the same links without jitter."""
    points = sorted(growth.points, key=lambda p: p.x)
    return [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": hunt.cca,
            "x": [p.x for p in points],
            "y": [p.ratio.value for p in points],
            "error_y": {
                "type": "data",
                "array": [max(0.0, p.ratio.hi - p.ratio.value) for p in points],
                "arrayminus": [max(0.0, p.ratio.value - p.ratio.lo) for p in points],
                "thickness": 1.2,
                "width": 3,
            },
            "line": {"color": style.colour(index), "width": 2, "dash": style.dash(index)},
            "marker": {"symbol": style.marker(index), "color": style.colour(index), "size": 8},
            "hovertemplate": f"<b>{hunt.cca}</b> at %{{x:g}}: %{{y:.4g}}<extra></extra>",
            "meta": {"cca": hunt.cca},
        },
        {
            "type": "scatter",
            "mode": "lines",
            "name": f"{hunt.cca}: without jitter",
            "x": [p.x for p in points],
            "y": [p.control.value for p in points],
            "line": {"color": style.colour(index), "width": 1.5, "dash": "dot"},
            "hovertemplate": f"{hunt.cca} without jitter at %{{x:g}}: %{{y:.4g}}<extra></extra>",
            "meta": {"cca": hunt.cca},
        },
    ]


def _growth_cell(growth: Growth, x: float) -> str:
    for point in growth.points:
        if point.x == x:
            ratio = point.ratio
            return formats.estimate(ratio.value, ratio.lo, ratio.hi)
    return formats.ABSENT
