"""Draw contracts, which are flows' rates as functions of a congestion statistic, such as the queueing delay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairweir.show.style import axis_label, colour

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from fairweir.contracts.result import ContractResult

COLUMNS = 3
DOT_MARKS = ("o", "s", "^", "D", "v", "P", "X")


def contract_panels(results: Sequence[ContractResult]) -> Figure:
    """Return a figure with one panel per result: a point for each flow of each run, and a line for the fitted
    contract.
    """
    from matplotlib.figure import Figure

    columns = min(COLUMNS, len(results))
    rows = -(-len(results) // columns)
    figure = Figure(figsize=(5.2 * columns, 4.2 * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    panels = [axes for row in grid for axes in row]
    for axes, result in zip(panels, results, strict=False):
        _panel(axes, result)
    for axes in panels[len(results) :]:
        axes.set_axis_off()
    return figure


def _panel(axes: Axes, result: ContractResult) -> None:
    statistic = result.best.statistic if result.best else "mean_qdelay_ms"
    output = result.best.output if result.best else "rate"
    points = [p for p in result.points if p.statistic(statistic) > 0 and p.output(output) > 0]
    for i, capacity in enumerate(sorted({p.capacity_mbps for p in points})):
        here = [p for p in points if p.capacity_mbps == capacity]
        axes.plot(
            [p.statistic(statistic) for p in here],
            [p.output(output) for p in here],
            DOT_MARKS[i % len(DOT_MARKS)],
            color=colour(i),
            markersize=4,
            alpha=0.7,
            label=f"{capacity:g} Mbps",
        )
    if result.curve:
        is_contract = result.has_contract
        axes.plot(
            *zip(*result.curve, strict=True),
            color="0.4",
            linestyle="-" if is_contract else "--",
            label="contract" if is_contract else "closest fit",
        )
    axes.set(xscale="log", yscale="log", xlabel=axis_label(statistic), ylabel=axis_label(output))
    axes.set_title(f"{result.cca}: {result.text if result.has_contract else 'no contract'}", fontsize=10)
    axes.legend(fontsize=8)
