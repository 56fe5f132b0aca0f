"""Many flows on one link."""

from __future__ import annotations

from fairweir.audit.axis import Axis
from fairweir.audit.exhibits import readings, thresholds
from fairweir.audit.exhibits.family import Claim, Family, Place, Subject
from fairweir.audit.exhibits.setting import places
from fairweir.judging.outcome import Direction, Threshold
from fairweir.scenario.dumbbell import ScenarioDict, dumbbell_document, flows
from fairweir.units import Duration, Rate

RTPROP = Duration.from_ms(40)
RATE_PER_FLOW = Rate.from_mbps(2)

EVEN = Threshold(
    bound=0.8,
    direction=Direction.AT_LEAST,
    reason="with many flows the extremes carry little information, and Jain's index is the usual measure; 0.8 allows "
    "for slow convergence of windows of a few packets",
    source="RFC 9743 section 5.1.4, which states no number; 0.9 is the bound for a few flows",
)
NO_COLLAPSE = Threshold(
    bound=0.1,
    direction=Direction.AT_MOST,
    reason="a permanent loss of a tenth of all packets approaches congestion collapse",
    source="RFC 9743 sections 5.1.1 and 5.1.3",
)


def _scenario(subject: Subject, place: Place, seed: int, patience: float) -> ScenarioDict:
    n = int(place.x)
    return dumbbell_document(
        "many-flows",
        f"{n} flows on a link of {RATE_PER_FLOW.mbps:g} Mbps per flow",
        rate=RATE_PER_FLOW * n,
        buffer=subject.buffer,
        flow_tables=flows(subject.cca, [RTPROP] * n, seed, spread=Duration.from_s(5)),
        duration=Duration.from_s(600) * patience,
        warmup=Duration.from_s(400) * patience,
        seed=seed,
    )


CROWD = Family(
    name="many-flows",
    title="Many flows",
    question="Do many flows share a link fairly and without heavy loss?",
    setup=f"rtprop {RTPROP.ms:g} ms, a link of {RATE_PER_FLOW.mbps:g} Mbps per flow",
    axis=Axis(name="flows", scale="log"),
    places=places("flows", quick=[32], default=[100], deep=[32, 100, 320]),
    scenario=_scenario,
    metrics=readings.SWEEP,
    claims=(
        Claim(
            metric="jain",
            title="fairness among many flows",
            text="many flows get fair shares",
            threshold=EVEN,
            expectations={"frcc": "slow: with 100 flows the RTT is 1 s, and a round of 20 slots takes 83 s"},
        ),
        Claim(metric="utilization", title="efficiency", text="the link is used", threshold=thresholds.EFFICIENT),
        Claim(metric="loss_rate", title="loss with many flows", text="losses stay small", threshold=NO_COLLAPSE),
    ),
)

FAMILIES = (CROWD,)
