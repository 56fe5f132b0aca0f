"""The course of a run over time, as pages draw it: panels of curves with common times, thinned to what a screen shows.

`web/charts/picture.ts` has the same types for the pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from fairweir.show import style
from fairweir.units import MS_PER_S, NS_PER_S, Duration

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairweir.play.run import Run

    Numbers: TypeAlias = NDArray[np.float64]

#: Number of intervals that a curve is thinned to; each has two points, its minimum and its maximum.
INTERVALS: Final = 1_000
#: Maximum number of points of a picture: a browser draws them in half a second. Curves of many flows are thinned more.
MAX_POINTS: Final = 200_000
#: Length of dashes and gaps, CSS pixels, by plotly's name.
_DASHES: Final = {"solid": [], "dash": [6, 4], "dot": [2, 3], "dashdot": [6, 3, 2, 3]}


@dataclass(frozen=True)
class Curve:
    """A quantity of one flow or link over time.

    Attributes
    ----------
    label : str
    color : str, #RRGGBB
    dash : list of int; lengths of dashes and gaps, CSS pixels; empty for a solid line
    values : float64 array, one per time; NaN where there is no value
    low, high : float64 arrays; the range over several seeds, of which `values` is the median; None for one run
    """

    label: str
    color: str
    dash: list[int]
    values: Numbers
    low: Numbers | None = None
    high: Numbers | None = None

    def document(self, first: int, last: int, intervals: int) -> dict[str, Any]:
        """Return the part between two rows, thinned to `intervals`."""
        arrays = {"values": self.values, "low": self.low, "high": self.high}
        return {
            "label": self.label,
            "color": self.color,
            "dash": self.dash,
            **{name: thin(array[first:last], intervals) for name, array in arrays.items() if array is not None},
        }


@dataclass(frozen=True)
class Panel:
    """A quantity over time.

    Attributes
    ----------
    name : str, unique in the picture
    label : str, the axis label with the unit
    curves : the quantity of each flow or link
    top : float, end of the value axis, which begins at 0; None if it depends on the curves alone
    """

    name: str
    label: str
    curves: tuple[Curve, ...]
    top: float | None = None


@dataclass(frozen=True)
class Picture:
    """The course of a run.

    Attributes
    ----------
    label : str, a short name of the run, which distinguishes it from others in the same figure
    t_s : float64 array, s; ends of the sampling intervals
    warmup_s, duration_s : float, s
    panels : the quantities, from top to bottom
    """

    label: str
    t_s: Numbers
    warmup_s: float
    duration_s: float
    panels: tuple[Panel, ...]

    def document(
        self, from_s: float | None = None, to_s: float | None = None, intervals: int = INTERVALS
    ) -> dict[str, Any]:
        """Return the part between two times, thinned to `intervals`; arrays are those of :mod:`fairweir.show.frame`."""
        first, last = _rows(self.t_s, from_s, to_s)
        t_s = self.t_s[first:last]
        intervals = max(min(intervals, MAX_POINTS // (2 * self._lines)), 1)
        return {
            "label": self.label,
            "t_s": thin_times(t_s, intervals),
            "warmup_s": self.warmup_s,
            "duration_s": self.duration_s,
            "panels": [
                {
                    "name": panel.name,
                    "label": panel.label,
                    **({} if panel.top is None else {"top": panel.top}),
                    "curves": [curve.document(first, last, intervals) for curve in panel.curves],
                }
                for panel in self.panels
            ],
        }

    @property
    def _lines(self) -> int:
        """Return the number of lines that are drawn; a range over seeds has two more."""
        curves = (curve for panel in self.panels for curve in panel.curves)
        return max(sum(1 if curve.low is None else 3 for curve in curves), 1)


def picture_of(run: Run, label: str = "") -> Picture:
    """Return the course of a run with time series: throughput, cwnd, RTT, queues, losses and marks.

    Throughput is the mean over the flow's mean RTT, or over an interval if that is longer: a flow sends in bursts, one
    per RTT, which would hide its rate.

    Raises
    ------
    ConfigError : the run has no time series
    """
    config = run.scenario.resolve()
    packet_bytes = float(config["packet"])
    flow_names = [flow.id for flow in run.summary.flows]
    link_names = [link.name for link in run.summary.links]
    t_s, flows = _columns(run.flows, len(flow_names), ("throughput_mbps", "cwnd_bytes", "rtt_ms", "lost_pkts"))
    _, links = _columns(run.links, len(link_names), ("queue_bytes", "marks"))
    interval_s = float(t_s[0]) if t_s.size else 1.0
    rtts_s = [(flow.rtt_ms.mean or 0.0) / MS_PER_S for flow in run.summary.flows]
    throughput = trailing_means(flows["throughput_mbps"], [round(rtt_s / interval_s) for rtt_s in rtts_s])
    looks = [look_of_flow(i) for i in range(len(flow_names))]
    gray = [look_of_link(i) for i in range(len(link_names))]

    def curves(names: Sequence[str], looks: Sequence[tuple[str, list[int]]], values: Numbers) -> tuple[Curve, ...]:
        return tuple(Curve(name, *look, row) for name, look, row in zip(names, looks, values, strict=True))

    queues, windows = links["queue_bytes"] / packet_bytes, flows["cwnd_bytes"] / packet_bytes
    marked = [i for i in range(len(link_names)) if links["marks"][i].any()]
    return Picture(
        label=label or f"{run.scenario.name or 'run'}, seed {run.summary.seed}",
        t_s=t_s,
        warmup_s=Duration.from_ns(config["warmup"]).s,
        duration_s=Duration.from_ns(config["duration"]).s,
        panels=(
            Panel(
                "throughput_mbps",
                style.axis_label("throughput_mbps"),
                curves(flow_names, looks, throughput),
            ),
            Panel("cwnd_pkts", style.axis_label("cwnd_pkts"), curves(flow_names, looks, windows)),
            Panel("rtt_ms", style.axis_label("rtt_ms"), curves(flow_names, looks, flows["rtt_ms"])),
            Panel("queue_pkts", style.axis_label("queue_pkts"), curves(link_names, gray, queues)),
            Panel(
                "losses",
                "losses and marks (packets/s)",
                curves(flow_names, looks, flows["lost_pkts"] / interval_s)
                + curves(
                    [f"marks, {link_names[i]}" for i in marked],
                    [gray[i] for i in marked],
                    links["marks"][marked] / interval_s,
                ),
            ),
        ),
    )


def look_of_flow(index: int) -> tuple[str, list[int]]:
    """Return the color and the dash of a flow's curve."""
    return style.colour(index), _DASHES[style.dash(index)]


def look_of_link(index: int) -> tuple[str, list[int]]:
    """Return the color and the dash of a link's curve."""
    return "#888888", _DASHES[style.DASHES[index % len(style.DASHES)]]


def _columns(table: Any, number: int, names: Sequence[str]) -> tuple[Numbers, dict[str, Numbers]]:
    """Return the times, s, and each column as a matrix: one row per flow or link, one column per interval."""
    t_s = np.asarray(table["t_ns"], dtype=np.float64)[::number] / NS_PER_S
    return t_s, {name: np.asarray(table[name], dtype=np.float64).reshape(-1, number).T for name in names}


def trailing_means(rows: Numbers, numbers: Sequence[int]) -> Numbers:
    """Return the mean of each value and those before it in its row, as many as the row's number or as there are."""
    ends = np.arange(1, rows.shape[1] + 1)
    means = rows.copy()
    for i, number in enumerate(numbers):
        if number > 1:
            sums = np.concatenate(([0.0], np.cumsum(rows[i])))
            starts = np.maximum(ends - number, 0)
            means[i] = (sums[ends] - sums[starts]) / (ends - starts)
    return means


def _rows(t_s: Numbers, from_s: float | None, to_s: float | None) -> tuple[int, int]:
    """Return the range of rows between two times, with one more on each side, so that lines reach the edges."""
    first = 0 if from_s is None else max(int(np.searchsorted(t_s, from_s)) - 1, 0)
    last = len(t_s) if to_s is None else min(int(np.searchsorted(t_s, to_s, side="right")) + 1, len(t_s))
    return first, max(last, first)


def _starts(number: int, intervals: int) -> NDArray[np.int64]:
    return (np.arange(intervals, dtype=np.int64) * number) // intervals


def thin_times(t_s: Numbers, intervals: int) -> Numbers:
    """Return the times of the values that :func:`thin` returns, ascending: two per interval, or all."""
    number = t_s.size
    if number <= 2 * intervals:
        return t_s
    starts = _starts(number, intervals)
    ends = np.append(starts[1:], number)
    return np.column_stack([t_s[starts], t_s[(starts + ends) // 2]]).ravel()


def thin(values: Numbers, intervals: int) -> Numbers:
    """Return the minimum and the maximum of each of `intervals` equal parts, or all values if that is not fewer.

    In each part, the extreme that is nearer to the part's first value comes first. A part without values gives NaN.
    """
    number = values.size
    if number <= 2 * intervals:
        return values
    starts = _starts(number, intervals)
    low, high = np.fmin.reduceat(values, starts), np.fmax.reduceat(values, starts)
    first = values[starts]
    rising = ~(np.abs(first - high) < np.abs(first - low))
    return np.column_stack([np.where(rising, low, high), np.where(rising, high, low)]).ravel()
