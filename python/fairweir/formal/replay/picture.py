"""A picture of a refutation: the curves of the solver's trace and of the trace's replay in the simulator.

A refutation is a trace that violates a claim about a CCA. A curve is the value of a cumulative quantity, such as the
bytes sent, at each point in time of the trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from fairweir.formal.claims.measure import Curves
from fairweir.show import style
from fairweir.show.plots import check_plot_path, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZE_INCHES = (8.0, 7.0)
#: For each curve: name, label, and index of the color in the palette.
_CURVES = (
    ("A", "A, sent", 0),
    ("TA", "TA, bytes that may have left the queue", 2),
    ("S", "S, served", 1),
    ("L", "L, lost", 3),
)


def save_picture(trace: Curves, packets: Curves | None, title: str, path: Path) -> Path:
    """Draw a refutation.

    Parameters
    ----------
    trace : curves of the solver's trace
    packets : curves of the replay in the simulator, drawn as points; None if the trace was not replayed
    title : the refuted claim, and the margin by which the trace violates the claim
    path : file that ends in .png, .svg or .pdf; the same curves produce the same bytes in the file

    Raises
    ------
    ConfigError : the file name has another ending, or the directory does not exist
    """
    check_plot_path(path)
    return save_figure(_figure(trace, packets, title), path)


def _figure(trace: Curves, packets: Curves | None, title: str) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE_INCHES, layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[2, 1])
    times = [float(t * trace.grid.step) for t in range(trace.grid.points)]
    for name, label, number in _CURVES:
        values = getattr(trace, name)
        if name != "L" or any(values):
            _draw(above, times, values, getattr(packets, name) if packets else None, label, number)
    queue = [trace.waiting(t) for t in range(trace.grid.points)]
    seen = [packets.waiting(t) for t in range(packets.grid.points)] if packets else None
    _draw(below, times, queue, seen, "A - L - S, waiting", 0)
    above.set_title(title, fontsize="medium")
    above.set_ylabel("bytes since the start (C R)")
    below.set_ylabel("bytes waiting (C R)")
    below.set_xlabel("time (R)")
    for axis in (above, below):
        axis.grid(alpha=0.3)
        axis.legend(fontsize="small")
    return figure


def _draw(
    axis: Axes,
    times: Sequence[float],
    values: Sequence[Fraction],
    packets: Sequence[Fraction] | None,
    label: str,
    number: int,
) -> None:
    colour = style.colour(number)
    axis.plot(times, list(map(float, values)), color=colour, linewidth=1.4, label=label)
    if packets is not None:
        axis.plot(times, list(map(float, packets)), "o", color=colour, markersize=5, fillstyle="none")
