"""Random aggregation up to one rtprop, over buffers (thesis section B.6, figures B.3 and B.4)."""

from __future__ import annotations

from fairweir import metrics
from fairweir.audit.exhibits import readings, thresholds
from fairweir.audit.exhibits.family import Claim, Depth, Family, Metric, Place, Reading, Subject
from fairweir.audit.results import Axis
from fairweir.dumbbell import ScenarioDict, dumbbell, flow, mbps, ms, start_times_s
from fairweir.intervals import Scale

BUFFERS_BDP = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 4.0, 8.0, 16.0)
COARSE_BDP = (1 / 16, 1 / 4, 1.0, 4.0, 16.0)
PATHS = (
    (24.0, 20.0),
    (24.0, 40.0),
    (24.0, 80.0),
    (48.0, 20.0),
    (48.0, 40.0),
    (48.0, 80.0),
    (96.0, 20.0),
    (96.0, 40.0),
    (96.0, 80.0),
)
"""(rate in Mbps, rtprop in ms)."""
DEFAULT_PATHS = ((24.0, 80.0), (48.0, 40.0), (96.0, 20.0), (96.0, 80.0))
DURATION_S, WARMUP_S = 60.0, 20.0
BATCH_SPEEDUP = 4.0
"""The thesis aggregates in the link itself, so that its buffer is the one which overflows. Here the aggregator stands
behind the link and has no buffer limit; batches of the link's own rate would make it a second bottleneck."""


def _label(buffer_bdp: float) -> str:
    return f"{buffer_bdp:g} BDP" if buffer_bdp >= 1 else f"1/{round(1 / buffer_bdp)} BDP"


def _places(rate_mbps: float, rtprop_ms: float) -> dict[Depth, list[Place]]:
    in_default = (rate_mbps, rtprop_ms) in DEFAULT_PATHS
    is_first = (rate_mbps, rtprop_ms) == (48.0, 40.0)
    quick = [1 / 16, 4.0] if is_first else []
    default = BUFFERS_BDP if is_first else COARSE_BDP if in_default else ()
    return {
        Depth.QUICK: [Place(b, _label(b)) for b in quick],
        Depth.DEFAULT: [Place(b, _label(b)) for b in default],
        Depth.DEEP: [Place(b, _label(b)) for b in BUFFERS_BDP],
    }


def _family(rate_mbps: float, rtprop_ms: float) -> Family:
    name = f"random-jitter-{rate_mbps:g}mbps-{rtprop_ms:g}ms"

    def scenario(subject: Subject, place: Place, seed: int, patience: float) -> ScenarioDict:
        (start,) = start_times_s(seed, 1)
        return dumbbell(
            name,
            f"one flow; random aggregation of up to one rtprop; buffer {place.label}",
            rate_mbps=rate_mbps,
            buffer=f"{place.x:g}bdp",
            flow_tables=[
                flow(
                    subject.cca,
                    rtprop_ms,
                    start,
                    jitter={
                        "kind": "random-aggregation",
                        "max": ms(rtprop_ms),
                        "rate": mbps(BATCH_SPEEDUP * rate_mbps),
                    },
                )
            ],
            duration_s=DURATION_S * patience,
            warmup_s=WARMUP_S * patience,
            seed=seed,
        )

    def lost_per_rtprop(reading: Reading) -> float:
        return metrics.lost_pkts(reading.summary) * rtprop_ms / (reading.measured_s * 1e3)

    return Family(
        name=name,
        title=f"Random aggregation, {rate_mbps:g} Mbps and {rtprop_ms:g} ms, over buffers",
        question="Does a lone flow use the link when packets are delayed at random by up to R, whatever the buffer?",
        setup=f"one flow, {rate_mbps:g} Mbps, rtprop {rtprop_ms:g} ms, packets held for U[0, R), released in batches",
        axis=Axis(name="buffer", unit="BDP", scale="log"),
        places=_places(rate_mbps, rtprop_ms),
        scenario=scenario,
        metrics=(
            readings.UTILIZATION,
            readings.QUEUE,
            readings.QUEUE_P95,
            readings.LOSS,
            Metric("lost_per_rtprop", "packets", Scale.POSITIVE, lost_per_rtprop),
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
            Claim(metric="lost_per_rtprop", title="losses under jitter", text="packets lost in an rtprop"),
        ),
    )


FAMILIES = tuple(_family(rate, rtprop) for rate, rtprop in PATHS)
