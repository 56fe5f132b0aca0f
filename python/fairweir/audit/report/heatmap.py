"""One metric over categories for all CCAs, as a grid of colored numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from fairweir.show import formats
from fairweir.show.figure import Figure, slug

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairweir.audit.exhibits.family import Metric
    from fairweir.audit.results import FamilyResult

COLOURS: Final = ((0.0, "#3F93C8"), (0.25, "#8FC1DE"), (0.5, "#F4F4F2"), (0.75, "#F0B48C"), (1.0, "#DD6B20"))
"""Blue where the incumbent gets more, white where both get the same, orange where the new flow gets more.

`INK` is readable on all of them, at least 4.5:1 (WCAG 1.4.3).
"""

INK: Final = "#1b1f24"

LARGEST_DECADE: Final = 1.5
"""Absolute value of log10(ratio) at which the color saturates, a ratio of about 30; a ratio of 10 is starvation."""


def grid_figure(metric: Metric, results: Sequence[tuple[int, str, FamilyResult]]) -> Figure | None:
    """Draw a grid with a row per CCA, a column per category and the value of `metric` in each cell.

    Parameters
    ----------
    results : (column in the report, CCA, its results) of each CCA that ran the family

    Returns
    -------
    Figure ; None if no CCA has a value
    """
    cells = {
        (cca, point.label): point
        for _, cca, family in results
        for curve in family.curves
        if curve.metric == metric.name
        for point in curve.points
    }
    places = {p.label: p.x for p in cells.values()}
    labels = sorted(places, key=lambda label: places[label])
    ccas = [cca for _, cca, _ in results]
    numbers = [[cells[cca, label].value if (cca, label) in cells else None for label in labels] for cca in ccas]
    if all(v is None for row in numbers for v in row):
        return None
    family = results[0][2]
    texts = [[formats.number(v) for v in row] for row in numbers]
    hovers = [
        [
            f"{cca} with {label}: {formats.number(p.value)} {formats.interval(p.lo, p.hi, p.value)}"
            if (p := cells.get((cca, label)))
            else ""
            for label in labels
        ]
        for cca in ccas
    ]
    return Figure(
        id=slug("grid", family.name, metric.name),
        title=_sentence(metric.label),
        data=[
            {
                "type": "heatmap",
                "x": labels,
                "y": ccas,
                "z": [[_decades(v) for v in row] for row in numbers],
                "text": texts,
                "hovertext": hovers,
                "texttemplate": "%{text}",
                "textfont": {"color": INK, "size": 13},
                "hovertemplate": "%{hovertext}<extra></extra>",
                "colorscale": [list(stop) for stop in COLOURS],
                "zmin": -LARGEST_DECADE,
                "zmax": LARGEST_DECADE,
                "xgap": 3,
                "ygap": 3,
                "colorbar": {
                    "tickvals": [-1.0, -0.5, 0.0, 0.5, 1.0],
                    "ticktext": ["1/10", "1/3", "even", "3", "10"],
                    "thickness": 12,
                    "outlinewidth": 0,
                },
            }
        ],
        layout={
            "xaxis": {"side": "top", "showgrid": False, "type": "category"},
            "yaxis": {"autorange": "reversed", "showgrid": False, "type": "category"},
            "margin": {"l": 90, "r": 12, "t": 40, "b": 12},
        },
        caption="Above 1, the CCA of the row gets more than the incumbent; below 1, less. A ratio of 10 is starvation.",
        height=110 + 46 * len(ccas),
        is_wide=True,
    )


def _decades(value: float | None) -> float | None:
    return None if value is None or value <= 0 else math.log10(value)


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]
