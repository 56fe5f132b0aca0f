"""Metrics that many families share."""

from __future__ import annotations

from fairweir.audit.exhibits.family import Metric, View
from fairweir.judging import metrics
from fairweir.judging.interval import Scale
from fairweir.judging.outcome import Direction

RATIO = Metric(
    "ratio",
    "",
    Scale.RATIO,
    lambda r: metrics.ratio(r.summary),
    label="throughput ratio, largest/smallest",
    view=View.EVEN,
    better=Direction.AT_MOST,
)
JAIN = Metric(
    "jain",
    "",
    Scale.FRACTION,
    lambda r: metrics.fairness_index(r.summary),
    label="Jain's fairness index",
    view=View.UNIT,
    better=Direction.AT_LEAST,
)
UTILIZATION = Metric(
    "utilization",
    "",
    Scale.FRACTION,
    lambda r: metrics.utilization(r.summary),
    label="link utilization",
    view=View.UNIT,
    better=Direction.AT_LEAST,
)
RTT = Metric(
    "rtt_ms",
    "ms",
    Scale.POSITIVE,
    lambda r: metrics.mean_rtt_ms(r.summary),
    label="mean RTT (ms)",
    better=Direction.AT_MOST,
    relevant=1.0,
)
QUEUE = Metric(
    "queue_ms",
    "ms",
    Scale.POSITIVE,
    lambda r: metrics.mean_queue_ms(r.summary),
    label="mean queueing delay (ms)",
    better=Direction.AT_MOST,
    relevant=1.0,
)
QUEUE_P95 = Metric(
    "queue_p95_ms",
    "ms",
    Scale.POSITIVE,
    lambda r: metrics.p95_queue_ms(r.summary),
    label="95th percentile of the queueing delay (ms)",
    better=Direction.AT_MOST,
    relevant=1.0,
)
LOSS = Metric(
    "loss_rate",
    "",
    Scale.FRACTION,
    lambda r: metrics.loss_rate(r.summary),
    label="loss rate",
    better=Direction.AT_MOST,
    relevant=0.002,
)

SWEEP = (RATIO, JAIN, UTILIZATION, RTT, QUEUE, LOSS)
"""Metrics of each family of long flows over one bottleneck."""
