"""Compute the metrics of an audit from a run's summary."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import linear_regression

from fairweir.errors import FairweirError
from fairweir.judging.summary import Statistic, Summary

RATIO_CEILING = 1e6
"""The ratio of two rates that is reported if the smaller rate is 0. It exceeds any plausible ratio in a run of 10^8
packets.
"""


def throughputs_mbps(summary: Summary) -> list[float]:
    """Return the throughput of each flow, Mbit/s, in the scenario's order."""
    return [flow.throughput_mbps for flow in summary.flows]


def max_min_ratio(rates: Sequence[float]) -> float:
    """Return the largest rate divided by the smallest: at least 1, at most `RATIO_CEILING`."""
    largest, smallest = max(rates), min(rates)
    if largest <= 0.0:
        return RATIO_CEILING
    if smallest <= largest / RATIO_CEILING:
        return RATIO_CEILING
    return largest / smallest


def jain(rates: Sequence[float]) -> float:
    """Return Jain's fairness index: 1 if all rates are equal, 1/n if one flow has the whole rate, 0 if all are 0."""
    squares = sum(r * r for r in rates)
    return sum(rates) ** 2 / (len(rates) * squares) if squares > 0.0 else 0.0


def exponent(xs: Sequence[float], ys: Sequence[float]) -> float:
    """Return the exponent e of y ~ x^e: the least squares slope of ln y against ln x.

    Parameters
    ----------
    xs, ys : n positive numbers each; at least two of `xs` differ
    """
    return linear_regression([math.log(x) for x in xs], [math.log(y) for y in ys]).slope


def ratio(summary: Summary) -> float:
    """Return the largest throughput divided by the smallest."""
    return max_min_ratio(throughputs_mbps(summary))


def fairness_index(summary: Summary) -> float:
    """Return Jain's index of the throughputs."""
    return jain(throughputs_mbps(summary))


def utilization(summary: Summary) -> float:
    """Return the utilization, at most 1, of the first link; in a dumbbell the first link is the bottleneck."""
    return min(1.0, summary.links[0].utilization)


def mean_rtt_ms(summary: Summary) -> float | None:
    """Return the mean RTT of each flow, averaged over flows as in FRCC's scripts (docs/derivations.md)."""
    means = [flow.rtt_ms.mean for flow in summary.flows if flow.rtt_ms.mean is not None]
    return sum(means) / len(means) if means else None


def sampled(value: float | None, of: str) -> float:
    """Return a statistic of a delay, or raise an error if the delay has no samples.

    Parameters
    ----------
    value : a statistic of ``rtt_ms``, ``qdelay_ms`` or ``queue_ms``; None without samples
    of : name of the flow or link, for the error message

    Raises
    ------
    FairweirError : there is no sample
    """
    if value is None:
        raise FairweirError(
            f"no delay was sampled: `{of}`", hint="nothing was acknowledged after the warm-up; increase the duration"
        )
    return value


def mean_queue_ms(summary: Summary) -> float | None:
    """Return the mean queueing delay at the first link; None if no packet passed."""
    return _queue_ms(summary, "mean")


def p95_queue_ms(summary: Summary) -> float | None:
    """Return the 95th percentile of the queueing delay at the first link; None if no packet passed."""
    return _queue_ms(summary, "p95")


def _queue_ms(summary: Summary, statistic: Statistic) -> float | None:
    return summary.links[0].queue_ms.value(statistic)


def loss_rate(summary: Summary) -> float:
    """Return the number of lost packets divided by the number of lost or delivered packets, over all flows."""
    lost = lost_pkts(summary)
    settled = lost + sum(flow.delivered_pkts for flow in summary.flows)
    return lost / settled if settled else 0.0


def lost_pkts(summary: Summary) -> int:
    """Return the number of packets lost after the warm-up, over all flows."""
    return sum(flow.lost_pkts for flow in summary.flows)
