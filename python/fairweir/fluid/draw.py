"""Draw the throughput ratios of weighted flows as a function of wbar, in the fluid model and in runs with packets.

Symbol: wbar = C d + K, the number of packets in flight when the buffer is full (C, link rate; d, propagation delay; K,
buffer).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairweir.fluid.report import limits
from fairweir.show import style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    from fairweir.fluid.packets import Link, PacketRuns
    from fairweir.fluid.report import Analysis

_MARKERS = "osD^v*"


def ratios_over_wbar(link: Link, rows: Sequence[Analysis], packet_runs: Sequence[PacketRuns]) -> Figure:
    """Draw each flow's throughput divided by the last flow's: lines for the fluid, points with intervals for packets.

    Both are functions of wbar.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 4.8), layout="constrained")
    draw_ratios(figure.subplots(), link, rows, packet_runs)
    return figure


def draw_ratios(axes: Axes, link: Link, rows: Sequence[Analysis], packet_runs: Sequence[PacketRuns]) -> None:
    """Draw the diagram of :func:`ratios_over_wbar` on existing axes."""
    wbars = [row.wbar for row in rows]
    settings = list(dict.fromkeys((row.world, row.noise) for row in packet_runs))
    for i, weight in enumerate(link.weights[:-1]):
        colour = style.colour(i)
        axes.plot(wbars, [row.shares[i] / row.shares[-1] for row in rows], color=colour, linewidth=1.4)
        at_threshold, at_large = limits(link.scheme, [weight, link.weights[-1]])
        for level in (at_threshold, at_large):
            axes.axhline(level, color=colour, linestyle=":", linewidth=0.8)
        for marker, (world, noise) in zip(_MARKERS, settings, strict=False):
            here = [row for row in packet_runs if (row.world, row.noise) == (world, noise) and row.ratios]
            middle = [row.ratios[i].value for row in here]
            reach = [
                [row.ratios[i].value - row.ratios[i].lo for row in here],
                [row.ratios[i].hi - row.ratios[i].value for row in here],
            ]
            axes.errorbar(
                [row.wbar for row in here], middle, reach,
                fmt=marker, color=colour, markersize=4, elinewidth=0.8, capsize=2,
                markerfacecolor="white" if noise > 0 else colour,
            )  # fmt: skip
    axes.set_xscale("log")
    axes.set_xlabel("wbar = C d + K (packets)")
    axes.set_ylabel(f"throughput divided by that of weight {link.weights[-1]:g}")
    axes.set_ylim(0, 1.15 * _highest(rows, packet_runs))
    axes.grid(True, which="major", color="#DDDDDD", linewidth=0.6)
    axes.set_title(f"{link.scheme}: fluid and packets (dotted: published limits)", fontsize=11, loc="left")
    axes.legend(handles=_keys(link, settings), fontsize=8, frameon=False)


def _highest(rows: Sequence[Analysis], packet_runs: Sequence[PacketRuns]) -> float:
    """Return the largest ratio to draw; intervals wider than a factor of two (runs with few packets) are ignored."""
    known = [each.hi for row in packet_runs for each in row.ratios if each.hi < 2 * each.lo]
    return max([*known, *(share / row.shares[-1] for row in rows for share in row.shares)])


def _keys(link: Link, settings: Sequence[tuple[str, float]]) -> list[Line2D]:
    from matplotlib.lines import Line2D

    keys = [
        Line2D([], [], color=style.colour(i), label=f"fluid, weight {weight:g}")
        for i, weight in enumerate(link.weights[:-1])
    ]
    for marker, (world, noise) in zip(_MARKERS, settings, strict=False):
        reported = "kernel" if world == "kernel" else f"simulator, ACKs delayed by up to {noise:g} packet times"
        face = "white" if noise > 0 else "grey"
        keys.append(Line2D([], [], marker=marker, color="grey", markerfacecolor=face, linestyle="", label=reported))
    return keys
