"""Convert a flow's time series to the units of figures, for pages and image files.

A belief is a range of a path's parameter (link rate C, propagation delay) that is consistent with the observed packets.
A limit is the condition that kept the flow from sending more, such as a full congestion window. n is the number of
entries of a series.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fairweir.explain.words import KB, MBPS, MS, S

Column = NDArray[np.float64]

#: Number of intervals into which a flow is divided; its rate is averaged over each interval.
RATES: Final = 100


@dataclass(frozen=True)
class Band:
    """A believed range of a parameter; `hi` is None if the range has no upper end."""

    lo: float
    hi: float | None


@dataclass(frozen=True)
class Stay:
    """A period in which one limit held. Times are in s since the flow's first packet."""

    limit: str
    from_s: float
    to_s: float
    first_frame: int
    last_frame: int


@dataclass(frozen=True)
class Shrinking:
    """The bounds on C in the CCAC model (docs/formal/models.md), which become tighter over time; an entry is valid
    until the next.

    Attributes
    ----------
    t_s : n times, ascending, s since the flow's first packet
    min_mbps, max_mbps : n lower and upper bounds; NaN means that there is no bound yet
    """

    t_s: Column
    min_mbps: Column
    max_mbps: Column


@dataclass(frozen=True)
class FlowView:
    """The time series of a flow, in bins of equal length. NaN means that a bin has no data.

    Attributes
    ----------
    t_s : n times, the centers of the bins, s since the flow's first packet
    rate_mbps : n rates of acknowledged IP packets
    rtt_min_ms, rtt_max_ms : n; minimum and maximum RTT in a bin
    inflight_kb : n; maximum inflight in a bin
    window_kb : n; minimum free window that the receiver advertised in a bin
    believed_rate_mbps, believed_rtprop_ms : Band; None if no parameters of the path explain the flow
    shrinking : Shrinking, the bounds on C over time
    changes_s : list of float; times at which the rate available to the flow changed, because of the link or of other
        traffic
    stays : list of Stay, in order of time
    """

    number: int
    ends: str
    t_s: Column
    rate_mbps: Column
    rtt_min_ms: Column
    rtt_max_ms: Column
    inflight_kb: Column
    window_kb: Column
    believed_rate_mbps: Band | None
    believed_rtprop_ms: Band | None
    shrinking: Shrinking
    changes_s: list[float]
    stays: list[Stay]

    @property
    def end_s(self) -> float:
        """End of the time axis."""
        return float(self.t_s[-1] * 2 - self.t_s[-2]) if len(self.t_s) > 1 else 1.0

    @property
    def bdp_kb(self) -> float | None:
        """The smallest believed BDP: the inflight that fills the path without a queue."""
        if self.believed_rate_mbps is None or self.believed_rtprop_ms is None:
            return None
        return self.believed_rate_mbps.lo * self.believed_rtprop_ms.lo / 8


def flow_view(facts: dict[str, Any], max_points: int = 600) -> FlowView:
    """Return the time series of one flow in the document of `explain_file`, in at most `max_points` bins."""
    series = facts["series"]
    bins = len(series["delivered_bytes"])
    joined = max(1, -(-bins // max_points))
    width_s = series["width_ns"] * joined * S
    starts = np.arange(0, max(bins, 1), joined)
    belief = facts["cbr_delay"]
    origin = series["from_ns"]

    def column(name: str, pick: np.ufunc, scale: float) -> Column:
        return np.asarray(pick.reduceat(_numbers(series[name]), starts) * scale, dtype=np.float64)

    return FlowView(
        number=facts["flow"],
        ends=f"{facts['src']} to {facts['dst']}",
        t_s=(np.arange(len(starts)) + 0.5) * width_s,
        rate_mbps=_rate(_numbers(series["delivered_bytes"]), series["width_ns"] * S, starts),
        rtt_min_ms=column("rtt_min_ns", np.fmin, MS),
        rtt_max_ms=column("rtt_max_ns", np.fmax, MS),
        inflight_kb=column("inflight_bytes", np.fmax, KB),
        window_kb=column("window_bytes", np.fmin, KB),
        believed_rate_mbps=None if belief is None else _band(belief["rate_bytes_per_s"], MBPS),
        believed_rtprop_ms=None if belief is None else _band(facts["rtprop_ns"], MS),
        shrinking=_shrinking(facts["shrinking"], origin, len(series["delivered_bytes"]) * series["width_ns"] * S),
        changes_s=[(change["time_ns"] - origin) * S for change in (facts["pieces"] or {"changes": []})["changes"]],
        stays=[
            Stay(
                period["limit"],
                (period["from_ns"] - origin) * S,
                (period["to_ns"] - origin) * S,
                period["first_frame"],
                period["last_frame"],
            )
            for period in facts["limits"]
        ],
    )


def _numbers(values: list[int | None]) -> Column:
    return np.array([np.nan if value is None else value for value in values] or [np.nan], dtype=np.float64)


def _rate(delivered: Column, width_s: float, starts: NDArray[np.int64]) -> Column:
    """Return the mean rate (Mbit/s) around each start. The mean is over enough bins that single packets do not
    matter.
    """
    around = max(1, len(delivered) // RATES)
    smooth = np.convolve(np.nan_to_num(delivered), np.ones(around) / around, mode="same")
    return np.asarray(smooth[starts] * MBPS / width_s, dtype=np.float64)


def _shrinking(moments: list[dict[str, Any]], origin: int, end_s: float) -> Shrinking:
    """Return the bounds on C at each change, and the final bounds at the end of the flow."""
    t_s = [(moment["time_ns"] - origin) * S for moment in moments]
    least = _numbers([moment["min_bytes_per_s"] for moment in moments]) * MBPS
    most = _numbers([moment["max_bytes_per_s"] for moment in moments]) * MBPS
    if not moments:
        return Shrinking(np.array([]), np.array([]), np.array([]))
    return Shrinking(np.array([*t_s, max(end_s, t_s[-1])]), np.append(least, least[-1]), np.append(most, most[-1]))


def _band(ends: dict[str, Any], scale: float) -> Band:
    return Band((ends["lo"] or 0.0) * scale, None if ends["hi"] is None else ends["hi"] * scale)
