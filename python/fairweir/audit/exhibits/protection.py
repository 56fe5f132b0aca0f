"""Two tests that RFC 9743 requires: backoff under heavy loss, and standing queues in deep buffers."""

from __future__ import annotations

from dataclasses import replace

from fairweir.audit.axis import Axis
from fairweir.audit.exhibits import readings
from fairweir.audit.exhibits.family import Claim, Family, Metric, Place, Reading, Subject
from fairweir.audit.exhibits.setting import places
from fairweir.judging.interval import Scale
from fairweir.judging.metrics import p95_queue_ms
from fairweir.judging.outcome import Direction, Threshold
from fairweir.scenario.dumbbell import PACKET, ScenarioDict, dumbbell_document, flow, start_times
from fairweir.units import Duration, Rate

RATE, RTPROP = Rate.from_mbps(48), Duration.from_ms(40)

BACKED_OFF = Threshold(
    bound=0.1,
    direction=Direction.AT_MOST,
    reason="at such loss a sender should stop, or slow down to at most one packet per RTT; a tenth of the link's rate "
    "is 16 packets per RTT",
    source="RFC 9743 section 5.1.1 (full backoff), which cites RFC 3714 and states no number; RFC 3714 "
    "considers 30 % extreme",
)


def _lossy(subject: Subject, place: Place, seed: int, patience: float) -> ScenarioDict:
    (start,) = start_times(seed, 1)
    return dumbbell_document(
        "heavy-loss",
        f"one flow loses {place.label} of its packets",
        rate=RATE,
        buffer="1bdp",
        flow_tables=[flow(subject.cca, RTPROP, start, loss=f"{place.x:g}%")],
        duration=Duration.from_s(80) * patience,
        warmup=Duration.from_s(20) * patience,
        seed=seed,
    )


def _deep(subject: Subject, place: Place, seed: int, patience: float) -> ScenarioDict:
    (start,) = start_times(seed, 1)
    return dumbbell_document(
        "deep-buffer",
        f"one flow through a buffer of {place.label}",
        rate=RATE,
        buffer=f"{place.x:g}bdp",
        flow_tables=[flow(subject.cca, RTPROP, start)],
        duration=Duration.from_s(120) * patience,
        warmup=Duration.from_s(40) * patience,
        seed=seed,
    )


def _sent_by_link(reading: Reading) -> float:
    """Return the sending rate, including retransmissions, divided by the link's rate."""
    sent = sum(f.sent_pkts for f in reading.summary.flows)
    return sent * PACKET / (RATE * Duration.from_s(reading.measured_s))


def _queue_by_rtprop(reading: Reading) -> float | None:
    queue_ms = p95_queue_ms(reading.summary)
    return None if queue_ms is None else queue_ms / RTPROP.ms


HEAVY_LOSS = Family(
    name="heavy-loss",
    title="Heavy loss",
    question="Does the sender back off when most of its packets are lost?",
    setup=f"one flow, {RATE.mbps:g} Mbps, rtprop {RTPROP.ms:g} ms, independent loss",
    axis=Axis(name="loss", unit="%", scale="linear"),
    places=places("%", quick=[50], default=[30, 50], deep=[10, 20, 30, 40, 50, 70]),
    scenario=_lossy,
    metrics=(
        Metric(
            "sent_by_link",
            "",
            Scale.POSITIVE,
            _sent_by_link,
            label="sending rate / link rate",
            better=Direction.AT_MOST,
            relevant=0.02,
        ),
        # A sender should back off here, so less use of the link is not worse.
        replace(readings.UTILIZATION, better=None),
    ),
    claims=(
        Claim(
            metric="sent_by_link",
            title="full backoff",
            text="the sender backs off from heavy loss",
            threshold=BACKED_OFF,
            expectations={
                "bbr": "keeps its rate up to 20 % loss, which its probes compensate; the rate decays above 20 %",
                "frcc": "no reaction to loss (docs/ccas/frcc.md)",
                "pcc_allegro": "collapses above 5 % loss, because of its utility function (docs/derivations.md)",
            },
        ),
    ),
)

DEEP_BUFFER = Family(
    name="deep-buffer",
    title="Standing queue, over buffers",
    question="How much of a deep buffer does a single flow fill?",
    setup=f"one flow, {RATE.mbps:g} Mbps, rtprop {RTPROP.ms:g} ms, no jitter",
    axis=Axis(name="buffer", unit="BDP", scale="log"),
    places=places("BDP", quick=[8], default=[1, 4, 16], deep=[1, 2, 4, 8, 16, 32]),
    scenario=_deep,
    metrics=(
        Metric(
            "queue_by_rtprop",
            "rtprops",
            Scale.POSITIVE,
            _queue_by_rtprop,
            label="queueing delay / rtprop",
            better=Direction.AT_MOST,
            relevant=0.02,
        ),
        readings.UTILIZATION,
        readings.QUEUE,
        readings.QUEUE_P95,
    ),
    claims=(
        Claim(
            metric="queue_by_rtprop",
            title="bufferbloat",
            text="95th percentile of the queueing delay, in rtprops (RFC 9743 section 5.1.2 gives no bound)",
            expectations={"reno": "the whole buffer: one rtprop per BDP of buffer", "cubic": "the whole buffer"},
        ),
    ),
)

FAMILIES = (HEAVY_LOSS, DEEP_BUFFER)
