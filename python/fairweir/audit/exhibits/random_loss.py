"""Random loss of 2 % on a single flow, on one of two flows and on both (starvation paper section 5.4)."""

from __future__ import annotations

from fairweir.audit.axis import Axis
from fairweir.audit.exhibits import readings, thresholds
from fairweir.audit.exhibits.family import Claim, Family, Place, Subject
from fairweir.audit.exhibits.setting import categories
from fairweir.audit.exhibits.victim import DISTURBED_GAIN, PAIR_RATIO, SOLO_UTILIZATION
from fairweir.scenario.dumbbell import ScenarioDict, dumbbell_document, flows
from fairweir.units import Duration, Rate

RATE, RTPROP, LOSS = Rate.from_mbps(120), Duration.from_ms(40), "2%"
LOSSY = {"alone": (True,), "on one of two": (True, False), "on both": (True, True)}


def _scenario(subject: Subject, place: Place, seed: int, patience: float) -> ScenarioDict:
    lossy = LOSSY[place.label]
    tables = flows(subject.cca, [RTPROP] * len(lossy), seed)
    for table, is_lossy in zip(tables, lossy, strict=True):
        if is_lossy:
            table["loss"] = LOSS
    return dumbbell_document(
        "random-loss",
        f"{LOSS} random loss {place.label}",
        rate=RATE,
        buffer="1bdp",
        flow_tables=tables,
        duration=Duration.from_s(80) * patience,
        warmup=Duration.from_s(20) * patience,
        seed=seed,
    )


LOSS_2_PERCENT = Family(
    name="random-loss",
    title="Random loss of 2 %",
    question="Does loss that congestion did not cause starve a flow?",
    setup=f"{RATE.mbps:g} Mbps, rtprop {RTPROP.ms:g} ms, buffer 1 BDP, independent loss of {LOSS}",
    axis=Axis(name="random loss", scale="category"),
    places=categories(quick=["alone", "on one of two"], default=list(LOSSY), deep=list(LOSSY)),
    scenario=_scenario,
    metrics=(PAIR_RATIO, DISTURBED_GAIN, SOLO_UTILIZATION, readings.UTILIZATION, readings.RTT, readings.LOSS),
    claims=(
        Claim(
            metric="ratio",
            title="loss unfairness",
            text="one of two flows does not starve if it has random loss",
            threshold=thresholds.BOUNDED,
            expectations={
                "pcc_allegro": "10.3 against 99.1 Mbps (starvation paper section 5.4)",
                "reno": "the lossy flow's cwnd is 1.22/sqrt(0.02) = 8.6 packets (Mathis et al.): starved",
                "cubic": "the lossy flow is starved: it backs off at each loss",
            },
        ),
        Claim(
            metric="disturbed_gain", title="who loses", text="throughput of the lossy flow divided by that of the other"
        ),
        Claim(
            metric="solo_utilization",
            title="efficiency under loss",
            text="a single flow utilizes the link despite 2 % loss",
            threshold=thresholds.HALF_USED,
            expectations={
                "pcc_allegro": "full rate (docs/derivations.md)",
                "bbr": "full rate: no response to loss",
            },
        ),
    ),
)

FAMILIES = (LOSS_2_PERCENT,)
