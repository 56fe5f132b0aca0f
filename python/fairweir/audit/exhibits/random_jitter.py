"""Random aggregation up to one rtprop, over buffers (thesis section B.6, figures B.3 and B.4)."""

from __future__ import annotations

from fairweir.audit.axis import Axis
from fairweir.audit.exhibits import readings, thresholds
from fairweir.audit.exhibits.family import Claim, Depth, Family, Metric, Place, Reading, Subject
from fairweir.judging import metrics
from fairweir.judging.interval import Scale
from fairweir.judging.outcome import Direction
from fairweir.scenario.dumbbell import ScenarioDict, dumbbell_document, flow, start_times
from fairweir.units import Duration, Rate

BUFFERS_BDP = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 4.0, 8.0, 16.0)
COARSE_BDP = (1 / 16, 1 / 4, 1.0, 4.0, 16.0)


def _paths(*pairs: tuple[int, int]) -> tuple[tuple[Rate, Duration], ...]:
    return tuple((Rate.from_mbps(mbps), Duration.from_ms(ms)) for mbps, ms in pairs)


PATHS = _paths((24, 20), (24, 40), (24, 80), (48, 20), (48, 40), (48, 80), (96, 20), (96, 40), (96, 80))
"""Pairs of link rate and rtprop."""
DEFAULT_PATHS = _paths((24, 80), (48, 40), (96, 20), (96, 80))
(FIRST_PATH,) = _paths((48, 40))
DURATION, WARMUP = Duration.from_s(60), Duration.from_s(20)
BATCH_SPEEDUP = 4.0
"""Rate at which the aggregator releases batches, in multiples of the link's rate.

In the thesis the link itself aggregates packets, so that its buffer overflows. Here the aggregator is behind the
link and has no buffer limit. If it released batches at the link's rate, it would be a second bottleneck.
"""


def _label(buffer_bdp: float) -> str:
    return f"{buffer_bdp:g} BDP" if buffer_bdp >= 1 else f"1/{round(1 / buffer_bdp)} BDP"


def _places(rate: Rate, rtprop: Duration) -> dict[Depth, list[Place]]:
    in_default = (rate, rtprop) in DEFAULT_PATHS
    is_first = (rate, rtprop) == FIRST_PATH
    quick = [1 / 16, 4.0] if is_first else []
    default = BUFFERS_BDP if is_first else COARSE_BDP if in_default else ()
    return {
        Depth.QUICK: [Place(b, _label(b)) for b in quick],
        Depth.DEFAULT: [Place(b, _label(b)) for b in default],
        Depth.DEEP: [Place(b, _label(b)) for b in BUFFERS_BDP],
    }


def _family(rate: Rate, rtprop: Duration) -> Family:
    name = f"random-jitter-{rate.mbps:g}mbps-{rtprop.ms:g}ms"

    def scenario(subject: Subject, place: Place, seed: int, patience: float) -> ScenarioDict:
        (start,) = start_times(seed, 1)
        return dumbbell_document(
            name,
            f"one flow; random aggregation of up to one rtprop; buffer {place.label}",
            rate=rate,
            buffer=f"{place.x:g}bdp",
            flow_tables=[
                flow(
                    subject.cca,
                    rtprop,
                    start,
                    jitter={
                        "kind": "random-aggregation",
                        "max": str(rtprop),
                        "rate": str(BATCH_SPEEDUP * rate),
                    },
                )
            ],
            duration=DURATION * patience,
            warmup=WARMUP * patience,
            seed=seed,
        )

    def lost_per_rtprop(reading: Reading) -> float:
        return metrics.lost_pkts(reading.summary) * (rtprop / Duration.from_s(reading.measured_s))

    return Family(
        name=name,
        title=f"Random aggregation, {rate.mbps:g} Mbps and {rtprop.ms:g} ms, over buffers",
        question="Does a single flow utilize the link at any buffer size if packets are delayed at random by up to R?",
        setup=f"one flow, {rate.mbps:g} Mbps, rtprop {rtprop.ms:g} ms, packets are held for U[0, R)"
        " and released in batches",
        axis=Axis(name="buffer", unit="BDP", scale="log"),
        places=_places(rate, rtprop),
        scenario=scenario,
        metrics=(
            readings.UTILIZATION,
            readings.QUEUE,
            readings.QUEUE_P95,
            readings.LOSS,
            Metric(
                "lost_per_rtprop",
                "packets",
                Scale.POSITIVE,
                lost_per_rtprop,
                label="packets lost per rtprop",
                better=Direction.AT_MOST,
                relevant=0.1,
            ),
        ),
        claims=(
            Claim(
                metric="utilization",
                title="efficiency under jitter",
                text="the link is used at every buffer size",
                threshold=thresholds.JITTER_USED,
                expectations={
                    "copa": "starves: not robust to jitter (thesis section 4.2.4)",
                    "cubic": "low with short buffers, long queues with deep ones (thesis section 4.2.4)",
                    "bbr": "uses the link, but loses O(BDP) in short buffers (thesis section 4.2.4)",
                },
            ),
            Claim(metric="lost_per_rtprop", title="losses under jitter", text="packets lost per rtprop"),
        ),
    )


FAMILIES = tuple(_family(rate, rtprop) for rate, rtprop in PATHS)
