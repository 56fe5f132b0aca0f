"""Delayed ACKs on one of two flows: one ACK per four packets or per packet (starvation paper figure 7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairweir.audit.axis import Axis
from fairweir.audit.exhibits import readings, thresholds
from fairweir.audit.exhibits.family import Claim, Family, Law, Place, Subject
from fairweir.audit.exhibits.setting import places
from fairweir.audit.exhibits.victim import DISTURBED_GAIN
from fairweir.scenario.dumbbell import ScenarioDict, dumbbell_document, flows
from fairweir.units import Duration, Rate

if TYPE_CHECKING:
    from collections.abc import Mapping

RATE, RTPROP, BUFFER = Rate.from_mbps(6), Duration.from_ms(120), "60pkts"
TIMER = "200ms"
"""Delayed-ACK timer of ns-3, the source of the published numbers. With Linux's 40 ms a slow flow rarely delays ACKs."""
PUBLISHED_RATIO = {"reno": 2.7, "cubic": 3.2}


def _scenario(subject: Subject, place: Place, seed: int, patience: float) -> ScenarioDict:
    tables = flows(subject.cca, [RTPROP] * 2, seed)
    if place.x > 1:
        tables[0]["delayed_ack"] = {"every": int(place.x), "timer": TIMER}
    return dumbbell_document(
        "delayed-acks",
        f"two flows; the receiver of the first sends one ACK for {place.label}",
        rate=RATE,
        buffer=BUFFER,
        flow_tables=tables,
        duration=Duration.from_s(600) * patience,
        warmup=Duration.from_s(100) * patience,
        seed=seed,
    )


def _laws(cca: str) -> Mapping[str, Law]:
    if cca not in PUBLISHED_RATIO:
        return {}
    return {"ratio": Law("published, at 4", lambda every: PUBLISHED_RATIO[cca] if every == 4 else None)}


DELAYED_ACKS = Family(
    name="delayed-acks",
    title="Delayed ACKs on one of two flows",
    question="How much throughput does a flow lose if its receiver acknowledges less often?",
    setup=f"two flows, {RATE.mbps:g} Mbps, rtprop {RTPROP.ms:g} ms, buffer of 60 packets",
    axis=Axis(name="packets per ACK", scale="linear"),
    places=places("packets", quick=[4], default=[1, 2, 4, 8], deep=[1, 2, 4, 8, 16]),
    scenario=_scenario,
    metrics=(readings.RATIO, DISTURBED_GAIN, readings.UTILIZATION, readings.RTT, readings.LOSS),
    claims=(
        Claim(
            metric="ratio",
            title="delayed-ACK unfairness",
            text="delayed ACKs reduce a flow's share by a bounded factor",
            threshold=thresholds.BOUNDED,
            expectations={
                "reno": "2.7, bounded (starvation paper figure 7)",
                "cubic": "3.2, bounded (starvation paper figure 7)",
            },
        ),
    ),
    laws=_laws,
    traced=lambda depth: (4.0,),
)

FAMILIES = (DELAYED_ACKS,)
