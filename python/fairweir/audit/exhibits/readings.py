"""Metrics that many families share."""

from __future__ import annotations

from fairweir.audit.exhibits.family import Metric
from fairweir.judging import metrics
from fairweir.judging.interval import Scale

RATIO = Metric("ratio", "", Scale.RATIO, lambda r: metrics.ratio(r.summary))
JAIN = Metric("jain", "", Scale.FRACTION, lambda r: metrics.fairness_index(r.summary))
UTILIZATION = Metric("utilization", "", Scale.FRACTION, lambda r: metrics.utilization(r.summary))
RTT = Metric("rtt_ms", "ms", Scale.POSITIVE, lambda r: metrics.mean_rtt_ms(r.summary))
QUEUE = Metric("queue_ms", "ms", Scale.POSITIVE, lambda r: metrics.mean_queue_ms(r.summary))
QUEUE_P95 = Metric("queue_p95_ms", "ms", Scale.POSITIVE, lambda r: metrics.p95_queue_ms(r.summary))
LOSS = Metric("loss_rate", "", Scale.FRACTION, lambda r: metrics.loss_rate(r.summary))

SWEEP = (RATIO, JAIN, UTILIZATION, RTT, QUEUE, LOSS)
"""Metrics of every sweep of long flows over one bottleneck."""
