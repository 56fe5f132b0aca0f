"""Metrics for families that disturb the first flow only."""

from __future__ import annotations

from dataclasses import replace

from fairweir.audit.exhibits import readings
from fairweir.audit.exhibits.family import Metric, Reading, View
from fairweir.judging import metrics
from fairweir.judging.interval import Scale
from fairweir.judging.outcome import Direction


def disturbed_gain(reading: Reading) -> float | None:
    """Return the first flow's throughput divided by the mean of the others'. Below 1, the first flow is the victim."""
    rates = metrics.throughputs_mbps(reading.summary)
    if len(rates) < 2:
        return None
    others = sum(rates[1:]) / (len(rates) - 1)
    return min(rates[0] / others, metrics.RATIO_CEILING) if others > 0.0 else metrics.RATIO_CEILING


def paired_ratio(reading: Reading) -> float | None:
    """Return the largest throughput divided by the smallest; None if there is only one flow."""
    return metrics.ratio(reading.summary) if len(reading.summary.flows) > 1 else None


def solo_utilization(reading: Reading) -> float | None:
    """Return the utilization of the bottleneck by a single flow; None if there are several flows."""
    return metrics.utilization(reading.summary) if len(reading.summary.flows) == 1 else None


AGGREGATED_GAIN = Metric(
    "aggregated_gain", "", Scale.POSITIVE, disturbed_gain, label="aggregated flow / mean of the others", view=View.EVEN
)
DISTURBED_GAIN = Metric(
    "disturbed_gain", "", Scale.POSITIVE, disturbed_gain, label="disturbed flow / mean of the others", view=View.EVEN
)
PAIR_RATIO = replace(readings.RATIO, read=paired_ratio)
SOLO_UTILIZATION = Metric(
    "solo_utilization",
    "",
    Scale.FRACTION,
    solo_utilization,
    label="link utilization, flow alone",
    view=View.UNIT,
    better=Direction.AT_LEAST,
)
