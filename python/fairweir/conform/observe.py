"""Extract samples of throughput and delay, and measures of the controller's mechanisms, from a run's first flow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from fairweir.conform.envelope import Points
from fairweir.errors import ConfigError
from fairweir.units import Bytes, Duration, Rate

if TYPE_CHECKING:
    from fairweir.judging.summary import Summary

Series = NDArray[np.float64]

#: Length of a sample's window, in rtprops (Mishra et al. 2022).
SAMPLE_RTPROPS: Final = 10
#: Columns of the series that this module needs.
COLUMNS: Final = ("throughput_mbps", "rtt_ms", "cwnd_bytes", "inflight_bytes", "pacing_rate_mbps", "lost_pkts")
#: Number of samples after a loss within which cwnd reaches its minimum; Linux needs a round trip of up to four rtprops
#: (PRR).
_AFTER: Final = 5
#: Losses with fewer samples between them are one loss event.
_APART: Final = 6
#: Growth of cwnd in three rtprops below which slow start has ended; slow start doubles cwnd per round trip.
_SLOW_START_GROWTH: Final = 1.25
#: Fraction of the window before a loss whose recovery is timed.
_REGAINED: Final = 0.9
_BITS_PER_KBIT: Final = 1e3


@dataclass(frozen=True)
class Path:
    """The quantities of a resolved scenario that make its results dimensionless.

    Attributes
    ----------
    rate_mbps : float, Mbit/s; rate of the bottleneck
    rtprop_ms : float, ms; rtprop of the first flow
    queue_ms : float, ms; maximum queueing delay at the bottleneck
    warmup_s : float, s
    mss_bytes : float, bytes of a packet
    """

    rate_mbps: float
    rtprop_ms: float
    queue_ms: float
    warmup_s: float
    mss_bytes: float

    @classmethod
    def of(cls, config: dict[str, Any], source: str | None = None) -> Path:
        """Return the quantities of a resolved scenario.

        Raises
        ------
        ConfigError : the scenario's bottleneck has no constant rate
        """
        hop, flow = config["links"][0]["hop"], config["flows"][0]
        rate = hop["link"].get("rate")
        if rate is None:
            raise ConfigError("the link has no constant rate", source=source, hint="conform needs `link.NAME.rate`")
        rate, rtprop = Rate.from_bytes_per_s(rate), Duration.from_ns(flow["rtprop"])
        limit = hop["queue"].get("limit")
        # If the queue is unlimited, delays are divided by the rtprop.
        queue = rtprop if limit is None else Bytes(limit) / rate
        warmup = Duration.from_ns(config["warmup"])
        return cls(rate.mbps, rtprop.ms, queue.ms, warmup.s, float(config["packet"]))

    def scaled(self, points: Points) -> Points:
        """Return samples (Mbit/s, ms) as fractions of the rate and of the maximum queueing delay."""
        return np.asarray((points - [0.0, self.rtprop_ms]) / [self.rate_mbps, self.queue_ms])

    def unscaled(self, points: Points) -> Points:
        """Return fractions as samples, (Mbit/s, ms)."""
        return np.asarray(points * [self.rate_mbps, self.queue_ms] + [0.0, self.rtprop_ms])


@dataclass(frozen=True, eq=False)
class Observation:
    """Samples and measures of one run.

    Attributes
    ----------
    points : n × 2 array of samples: throughput, Mbit/s, and RTT, ms
    measures : dict from measure (a name in :data:`fairweir.conform.mechanisms.MEASURES`) to value; a measure that the
        run does not have, such as the decrease in a run without losses, is missing
    """

    points: Points
    measures: dict[str, float]


def observe(summary: Summary, path: Path) -> Observation:
    """Return the observation of a run's first flow. The run must have :data:`COLUMNS`, sampled once per rtprop."""
    t_s = np.array(summary.over_time.t_s)
    series = {name: np.array(flows[0], dtype=float) for name, flows in summary.document["columns"].items()}
    return Observation(_points(t_s, series, path), _measures(summary, t_s, series, path))


def _points(t_s: Series, series: dict[str, Series], path: Path) -> Points:
    late = t_s > path.warmup_s
    throughput, rtt = (series[name][late] for name in ("throughput_mbps", "rtt_ms"))
    number = len(throughput) // SAMPLE_RTPROPS
    windows = [column[: number * SAMPLE_RTPROPS].reshape(number, SAMPLE_RTPROPS) for column in (throughput, rtt)]
    # A window in which nothing was acknowledged has no delay.
    has_delay = ~np.all(np.isnan(windows[1]), axis=1)
    means = [np.nanmean(window[has_delay], axis=1) for window in windows]
    return np.stack(means, axis=1)


def _measures(summary: Summary, t_s: Series, series: dict[str, Series], path: Path) -> dict[str, float]:
    flow = summary.flows[0]
    late = t_s > path.warmup_s
    cwnd, rtt, lost = series["cwnd_bytes"], series["rtt_ms"], series["lost_pkts"]
    found = {
        "loss_rate": flow.loss_rate,
        "timeouts": float(flow.timeouts),
        "min_cwnd_pkts": float(cwnd[late].min() / path.mss_bytes) if late.any() else np.nan,
        **_events(t_s, cwnd, lost, late),
        **_slow_start(cwnd, lost, path),
    }
    with np.errstate(invalid="ignore", divide="ignore"):
        # Bytes of cwnd per ms of RTT are kB/s; eight of them are kbit/s.
        cwnd_rate_mbps = cwnd / rtt * 8 / _BITS_PER_KBIT
        pacing = (series["pacing_rate_mbps"] / cwnd_rate_mbps)[late]
        used = (series["inflight_bytes"] / cwnd)[late]
    found["paced"] = float(np.mean(np.isfinite(pacing))) if len(pacing) else np.nan
    if np.any(np.isfinite(pacing)):
        found["pacing"] = float(np.median(pacing[np.isfinite(pacing)]))
    if np.any(np.isfinite(used)):
        found["used"] = float(np.median(used[np.isfinite(used)]))
    return {name: value for name, value in found.items() if np.isfinite(value)}


def _events(t_s: Series, cwnd: Series, lost: Series, late: NDArray[np.bool_]) -> dict[str, float]:
    """Return the measures of loss events after the warm-up: decrease, time between them, time to regain the window."""
    at = [int(i) for i in np.flatnonzero(lost > 0)]
    events = [i for k, i in enumerate(at) if k == 0 or i - at[k - 1] >= _APART]
    events = [i for i in events if late[i] and i >= 2]
    decreases, regains = [], []
    for k, i in enumerate(events):
        end = events[k + 1] if k + 1 < len(events) else len(cwnd)
        before, after = cwnd[i - 2 : i + 1].max(), cwnd[i : min(i + _AFTER, end)].min()
        decreases.append(after / before)
        again = np.flatnonzero(cwnd[i + _AFTER : end] >= _REGAINED * before)
        if len(again):
            regains.append(t_s[i + _AFTER + again[0]] - t_s[i])
    found = {"loss_events_per_s": len(events) / max(1e-9, float(t_s[-1] - t_s[late][0]))} if late.any() else {}
    if decreases:
        found["decrease"] = float(np.median(decreases))
    if regains:
        found["regain_s"] = float(np.median(regains))
    return found


def _slow_start(cwnd: Series, lost: Series, path: Path) -> dict[str, float]:
    """Return whether slow start ended before the first loss, and the window at the first loss, in BDPs."""
    at = np.flatnonzero(lost > 0)
    if not len(at) or at[0] < 2 * _AFTER:
        return {}
    first = int(at[0])
    bdp = path.rate_mbps * path.rtprop_ms / 8 * _BITS_PER_KBIT
    # The sender learns of a loss a round trip after cwnd caused it, so growth is measured before that round trip.
    growth = cwnd[first - 3] / max(cwnd[first - 6], path.mss_bytes)
    return {
        "exits_before_loss": float(growth < _SLOW_START_GROWTH),
        "first_loss_bdp": float(cwnd[: first + 1].max() / bdp),
    }
