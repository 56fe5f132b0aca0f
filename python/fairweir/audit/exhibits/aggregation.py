"""ACK aggregation on one of three flows (FRCC section 7, figures 2 and 21)."""

from __future__ import annotations

from fairweir.audit.exhibits import readings, thresholds
from fairweir.audit.exhibits.family import Claim, Family, Place, ScenarioDict, Subject
from fairweir.audit.exhibits.setting import dumbbell, flows, ms, places
from fairweir.audit.exhibits.victim import AGGREGATED_GAIN
from fairweir.audit.results import Axis

RTPROP_MS = 32.0
HOLD_MS = 32.0
RATE_MBPS = 96.0

EXPECTED = {
    "frcc": "near 1, even at 128 ms (FRCC figure 21)",
    "copa": "starves the aggregated flow (FRCC figures 2 and 21)",
    "cubic": "starves the flows without aggregation (FRCC figure 2)",
    "reno": "starves the flows without aggregation (FRCC figure 2)",
    "bbr": "slight unfairness (FRCC figure 21)",
}
CLAIMS = (
    Claim(
        metric="ratio",
        title="aggregation unfairness",
        text="aggregating one flow's ACKs does not starve a flow",
        threshold=thresholds.BOUNDED,
        expectations=EXPECTED,
    ),
    Claim(metric="aggregated_gain", title="who wins", text="throughput of the aggregated flow by the mean of the others"),
    Claim(metric="utilization", title="efficiency", text="the link is used", threshold=thresholds.HALF_USED),
)


def _aggregated(subject: Subject, rate_mbps: float, hold_ms: float, name: str, label: str, seed: int, times_s: tuple[float, float]) -> ScenarioDict:
    tables = flows(subject.cca, [RTPROP_MS] * 3, seed)
    if hold_ms > 0.0:
        tables[0]["ack_jitter"] = {"kind": "ack-aggregation", "hold": ms(hold_ms)}
    return dumbbell(
        name,
        f"three flows; the ACKs of the first are aggregated ({label})",
        rate_mbps=rate_mbps,
        buffer=subject.buffer,
        flow_tables=tables,
        duration_s=times_s[0],
        warmup_s=times_s[1],
        seed=seed,
    )


def _over_holds(subject: Subject, place: Place, seed: int, patience: float) -> ScenarioDict:
    return _aggregated(
        subject, RATE_MBPS, place.x, "aggregation-hold", place.label, seed, (120.0 * patience, 60.0 * patience)
    )


def _over_rates(subject: Subject, place: Place, seed: int, patience: float) -> ScenarioDict:
    times = (80.0, 50.0) if place.x > 500.0 else (120.0, 60.0)
    return _aggregated(
        subject,
        place.x,
        HOLD_MS,
        "aggregation-rate",
        f"{ms(HOLD_MS)} at {place.label}",
        seed,
        (times[0] * patience, times[1] * patience),
    )


HOLD = Family(
    name="aggregation-hold",
    title="ACK aggregation on one of three flows, over holds",
    question="Does a flow whose ACKs come in bursts starve, or starve the others?",
    setup=f"three flows, rtprop {RTPROP_MS:g} ms, {RATE_MBPS:g} Mbps; ACKs of the first are held and released in bursts",
    axis=Axis(name="hold", unit="ms", scale="linear"),
    places=places("ms", quick=[32, 128], default=[0, 8, 16, 32, 64, 128], deep=[0, 4, 8, 16, 32, 48, 64, 96, 128]),
    scenario=_over_holds,
    metrics=(*readings.SWEEP, AGGREGATED_GAIN),
    claims=CLAIMS,
    traced=lambda depth: (32.0,),
)

RATE = Family(
    name="aggregation-rate",
    title="ACK aggregation of 32 ms on one of three flows, over rates",
    question="Does the unfairness of ACK aggregation grow with the link's rate?",
    setup=f"three flows, rtprop {RTPROP_MS:g} ms; ACKs of the first held for {HOLD_MS:g} ms",
    axis=Axis(name="link rate", unit="Mbps", scale="log"),
    places=places("Mbps", quick=[], default=[12, 24, 48, 96, 240, 1000], deep=[12, 24, 48, 96, 240, 480, 1000]),
    scenario=_over_rates,
    metrics=(*readings.SWEEP, AGGREGATED_GAIN),
    claims=CLAIMS[:2],
)

FAMILIES = (HOLD, RATE)
