"""ACK aggregation on one of three flows (FRCC section 7, figures 2 and 21).

In the published setup the flows start 5 s apart, and the first flow is behind a box. The box holds the flow's ACKs and
forwards its data at the link's rate, from a queue without a limit (docs/derivations.md). This queue affects the result:
a loss-based flow builds its queue in the box and arrives at the bottleneck at exactly the link's rate, so the other
flows take the losses. The family `BARE` has the ACK aggregation without the box.
"""

from __future__ import annotations

from fairweir.audit.axis import Axis
from fairweir.audit.exhibits import readings, thresholds
from fairweir.audit.exhibits.family import Claim, Family, Place, Subject
from fairweir.audit.exhibits.setting import places, steady_times
from fairweir.audit.exhibits.victim import AGGREGATED_GAIN
from fairweir.scenario.dumbbell import ScenarioDict, dumbbell_document, flow, start_times
from fairweir.units import Duration, Rate

RTPROP = Duration.from_ms(32)
LONG_HOLD = Duration.from_ms(32)
LINK_RATE = Rate.from_mbps(96)
APART = Duration.from_s(5)
SOCKET_BUFFER = "11000pkts"
"""Maximum data in the box: 16 MB, as published."""

EXPECTED = {
    "frcc": "close to 1, even at 128 ms (FRCC figure 21)",
    "copa": "starves the aggregated flow (FRCC figures 2 and 21)",
    "cubic": "starves the flows without aggregation (FRCC figure 2); because of the box, see aggregation-bare",
    "reno": "starves the flows without aggregation (FRCC figure 2); because of the box, see aggregation-bare",
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
    Claim(
        metric="aggregated_gain",
        title="who wins",
        text="throughput of the aggregated flow divided by the mean of the others",
    ),
    Claim(metric="utilization", title="efficiency", text="the link is used", threshold=thresholds.HALF_USED),
)


def _aggregated(
    subject: Subject, name: str, rate: Rate, hold: Duration, seed: int, patience: float, *, has_box: bool = True
) -> ScenarioDict:
    duration, warmup = steady_times(rate, patience)
    starts = [i * APART + offset for i, offset in enumerate(start_times(seed, 3))]
    tables = [flow(subject.cca, RTPROP, start) for start in starts]
    if hold:
        tables[0]["ack_jitter"] = {"kind": "ack-aggregation", "hold": str(hold)}
    if has_box and hold:
        tables[0] |= {"access": {"rate": str(rate)}, "rwnd": SOCKET_BUFFER}
    return dumbbell_document(
        name,
        f"three flows; the first flow's ACKs are held for {hold} and released in bursts",
        rate=rate,
        buffer=subject.buffer,
        flow_tables=tables,
        duration=duration,
        warmup=warmup,
        seed=seed,
    )


def _over_holds(subject: Subject, place: Place, seed: int, patience: float) -> ScenarioDict:
    return _aggregated(subject, "aggregation-hold", LINK_RATE, Duration.from_ms(place.x), seed, patience)


def _over_rates(subject: Subject, place: Place, seed: int, patience: float) -> ScenarioDict:
    return _aggregated(subject, "aggregation-rate", Rate.from_mbps(place.x), LONG_HOLD, seed, patience)


def _bare(subject: Subject, place: Place, seed: int, patience: float) -> ScenarioDict:
    return _aggregated(subject, "aggregation-bare", LINK_RATE, Duration.from_ms(place.x), seed, patience, has_box=False)


HOLD = Family(
    name="aggregation-hold",
    title="ACK aggregation on one of three flows, over holds",
    question="Does a flow whose ACKs arrive in bursts starve, or does it starve the others?",
    setup=f"three flows start 5 s apart, rtprop {RTPROP.ms:g} ms, {LINK_RATE.mbps:g} Mbps; the first is behind a box"
    " that holds its ACKs and forwards its data at the link's rate; with a hold of 0 ms there is no box",
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
    setup=f"as above; the ACKs of the first flow are held for {LONG_HOLD.ms:g} ms",
    axis=Axis(name="link rate", unit="Mbps", scale="log"),
    places=places("Mbps", quick=[], default=[12, 24, 48, 96, 240], deep=[12, 24, 48, 96, 240, 480, 1000]),
    scenario=_over_rates,
    metrics=(*readings.SWEEP, AGGREGATED_GAIN),
    claims=CLAIMS[:2],
)

BARE = Family(
    name="aggregation-bare",
    title="ACK aggregation without the box, over holds",
    question="What is the effect of ACK aggregation alone, without a separate queue for the first flow's data?",
    setup=f"three flows start 5 s apart, rtprop {RTPROP.ms:g} ms, {LINK_RATE.mbps:g} Mbps; ACKs of the first are held",
    axis=Axis(name="hold", unit="ms", scale="linear"),
    places=places("ms", quick=[], default=[32, 128], deep=[8, 16, 32, 64, 128]),
    scenario=_bare,
    metrics=(*readings.SWEEP, AGGREGATED_GAIN),
    claims=CLAIMS[:2],
)

FAMILIES = (HOLD, RATE, BARE)
