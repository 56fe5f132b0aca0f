"""Disturbed RTT samples: a packet that is early, or ACKs released on a grid (starvation paper sections 5.1, 5.3)."""

from __future__ import annotations

from typing import Any

from fairweir.audit.axis import Axis
from fairweir.audit.exhibits import readings, thresholds
from fairweir.audit.exhibits.family import Claim, Family, Place, Subject
from fairweir.audit.exhibits.setting import categories, places
from fairweir.audit.exhibits.victim import DISTURBED_GAIN, PAIR_RATIO, SOLO_UTILIZATION
from fairweir.scenario.dumbbell import ScenarioDict, dumbbell_document, flows
from fairweir.units import Duration, Rate

RATE, RTPROP = Rate.from_mbps(120), Duration.from_ms(60)
EARLY = Duration.from_ms(1)
REPEAT = "5s"
"""Interval between early packets. The longest min-RTT window in use is 10 s, so the first flow's minimum RTT stays too
low.
"""
POISONED = {"alone": (True,), "one of two": (True, False)}


def _played(
    subject: Subject, name: str, description: str, tables: list[dict[str, Any]], seed: int, patience: float
) -> ScenarioDict:
    return dumbbell_document(
        name,
        description,
        rate=RATE,
        buffer=subject.buffer,
        flow_tables=tables,
        duration=Duration.from_s(120) * patience,
        warmup=Duration.from_s(60) * patience,
        seed=seed,
    )


def _poisoned(subject: Subject, place: Place, seed: int, patience: float) -> ScenarioDict:
    poisoned = POISONED[place.label]
    tables = flows(subject.cca, [RTPROP - EARLY] * len(poisoned), seed)
    for table, is_poisoned in zip(tables, poisoned, strict=True):
        table["ack_jitter"] = (
            {"kind": "early-packet", "offset": str(EARLY), "every": REPEAT}
            if is_poisoned
            else {"kind": "constant", "delay": str(EARLY)}
        )
    description = f"one packet every {REPEAT} is {EARLY} early, {place.label}"
    return _played(subject, "poisoned-rtprop", description, tables, seed, patience)


def _on_a_grid(subject: Subject, place: Place, seed: int, patience: float) -> ScenarioDict:
    tables = flows(subject.cca, [RTPROP] * 2, seed)
    tables[0]["ack_jitter"] = {"kind": "periodic", "period": str(Duration.from_ms(place.x))}
    description = f"two flows; the first flow's ACKs arrive only at multiples of {place.label}"
    return _played(subject, "acks-on-a-grid", description, tables, seed, patience)


POISONING = Family(
    name="poisoned-rtprop",
    title="Rtprop poisoned by an early packet",
    question="Does one RTT sample that is 1 ms too small make a flow give up its share?",
    setup=f"{RATE.mbps:g} Mbps, rtprop {RTPROP.ms:g} ms; one packet every {REPEAT} measures {(RTPROP - EARLY).ms:g} ms",
    axis=Axis(name="poisoned flow", scale="category"),
    places=categories(quick=list(POISONED), default=list(POISONED), deep=list(POISONED)),
    scenario=_poisoned,
    metrics=(PAIR_RATIO, DISTURBED_GAIN, SOLO_UTILIZATION, readings.UTILIZATION, readings.RTT),
    claims=(
        Claim(
            metric="solo_utilization",
            title="efficiency when poisoned",
            text="a single flow whose min RTT is 1 ms too small utilizes the link",
            threshold=thresholds.HALF_USED,
            expectations={"copa": "1/(δ·1 ms) = 2 packets per ms = 24 Mbps, 20 % (docs/derivations.md)"},
        ),
        Claim(
            metric="ratio",
            title="poisoning unfairness",
            text="one of two flows does not starve if its min RTT is 1 ms too small",
            threshold=thresholds.BOUNDED,
            expectations={"copa": "8.8 against 95 Mbps (starvation paper section 5.1); at least 4 without noise"},
        ),
    ),
)

GRID = Family(
    name="acks-on-a-grid",
    title="ACKs released at multiples of a period, on one of two flows",
    question="Does a flow starve if its ACKs arrive only at the ticks of a clock?",
    setup=f"two flows, {RATE.mbps:g} Mbps, rtprop {RTPROP.ms:g} ms; the first flow's ACKs wait for the next tick",
    axis=Axis(name="period", unit="ms", scale="linear"),
    places=places("ms", quick=[60], default=[20, 60], deep=[5, 10, 20, 40, 60]),
    scenario=_on_a_grid,
    metrics=(readings.RATIO, DISTURBED_GAIN, readings.UTILIZATION, readings.RTT, readings.LOSS),
    claims=(
        Claim(
            metric="ratio",
            title="grid unfairness",
            text="ACKs on a grid do not starve a flow",
            threshold=thresholds.BOUNDED,
            expectations={"pcc_vivace": "9.9 against 99.4 Mbps at 60 ms (starvation paper section 5.3)"},
        ),
        Claim(
            metric="disturbed_gain",
            title="who loses",
            text="throughput of the flow on the grid divided by that of the other",
        ),
    ),
    traced=lambda depth: (60.0,),
)

FAMILIES = (POISONING, GRID)
