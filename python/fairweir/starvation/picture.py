"""Plot of the range of queueing delay against link rate for several CCAs, as in figure 3 of the starvation paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairweir.show import style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from fairweir.starvation.result import Point


def rate_delay(curves: Sequence[tuple[str, Sequence[Point]]]) -> Figure:
    """Draw the minimum and maximum queueing delay (RTT minus propagation delay) against link rate, one band per CCA.

    Parameters
    ----------
    curves : for each CCA, its name and one measured point per link rate; points whose RTT did not settle are omitted
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 5.0), layout="constrained")
    axis = figure.subplots()
    for i, (name, points) in enumerate(curves):
        settled = [p for p in points if p.settles]
        rates = [p.rate_mbps for p in settled]
        low, high = ([d - p.rtprop_ms for d, p in zip(ds, settled, strict=True)] for ds in _extremes(settled))
        axis.fill_between(rates, low, high, color=style.colour(i), alpha=0.25, linewidth=0)
        axis.plot(
            rates, high, color=style.colour(i), marker="o", markersize=3, linewidth=1.2, label=f"{name}, $d_{{max}}$"
        )
        axis.plot(rates, low, color=style.colour(i), linestyle="--", linewidth=0.8)
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel("link rate (Mbit/s)")
    axis.set_ylabel("RTT − rtprop (ms)")
    axis.grid(True, which="major", color="#DDDDDD", linewidth=0.6)
    axis.set_title("Delay ranges of one flow alone on an ideal link (dashed: $d_{min}$)", fontsize=11, loc="left")
    axis.legend(fontsize=8, frameon=False)
    return figure


def _extremes(points: Sequence[Point]) -> tuple[list[float], list[float]]:
    return [p.dmin_ms for p in points], [p.dmax_ms for p in points]
