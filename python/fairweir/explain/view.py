"""A flow over time in the units of figures, for figures on pages and in files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fairweir.explain.words import KB, MBPS, MS, S

Column = NDArray[np.float64]

#: Number of intervals of a flow over which the rate is averaged.
RATES: Final = 100


@dataclass(frozen=True)
class Band:
    """A range of beliefs; `hi` is None if unbounded."""

    lo: float
    hi: float | None


@dataclass(frozen=True)
class Stay:
    """A period with one limit; times are s since the flow's first packet."""

    limit: str
    from_s: float
    to_s: float
    first_frame: int
    last_frame: int


@dataclass(frozen=True)
class Shrinking:
    """The CCAC model's bounds on C over time; each is valid until the next.

    Attributes
    ----------
    t_s : n, ascending, s since the flow's first packet
    min_mbps, max_mbps : n; NaN means that there is no bound yet
    """

    t_s: Column
    min_mbps: Column
    max_mbps: Column


@dataclass(frozen=True)
class FlowView:
    """A flow over time.

    Attributes
    ----------
    t_s : n; centers of the bins, s since the flow's first packet
    rate_mbps : n; rate of IP packets acknowledged in a bin. In all columns, NaN means no data.
    rtt_min_ms, rtt_max_ms : n
    inflight_kb : n; maximum in a bin
    window_kb : n; minimum free window that the receiver advertised in a bin
    believed_rate_mbps, believed_rtprop_ms : Band; None if no path explains the flow
    shrinking : Shrinking
    changes_s : list of float; times of changes of the available rate, due to the link or to other traffic
    stays : list of Stay, in order
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
        """Minimum believed BDP, the inflight that fills the path without a queue."""
        if self.believed_rate_mbps is None or self.believed_rtprop_ms is None:
            return None
        return self.believed_rate_mbps.lo * self.believed_rtprop_ms.lo / 8


def flow_view(facts: dict[str, Any], max_points: int = 600) -> FlowView:
    """Return a flow of `explain_file`'s document over time, in at most `max_points` bins."""
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
    """Return the mean rate (Mbit/s) around each start, over enough bins to average out single packets."""
    around = max(1, len(delivered) // RATES)
    smooth = np.convolve(np.nan_to_num(delivered), np.ones(around) / around, mode="same")
    return np.asarray(smooth[starts] * MBPS / width_s, dtype=np.float64)


def _shrinking(moments: list[dict[str, Any]], origin: int, end_s: float) -> Shrinking:
    """Return the beliefs at each change, and the final beliefs at the end of the flow."""
    t_s = [(moment["time_ns"] - origin) * S for moment in moments]
    least = _numbers([moment["min_bytes_per_s"] for moment in moments]) * MBPS
    most = _numbers([moment["max_bytes_per_s"] for moment in moments]) * MBPS
    if not moments:
        return Shrinking(np.array([]), np.array([]), np.array([]))
    return Shrinking(np.array([*t_s, max(end_s, t_s[-1])]), np.append(least, least[-1]), np.append(most, most[-1]))


def _band(ends: dict[str, Any], scale: float) -> Band:
    return Band((ends["lo"] or 0.0) * scale, None if ends["hi"] is None else ends["hi"] * scale)
