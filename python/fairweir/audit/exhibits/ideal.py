"""Ideal links: rate, rtprop and number of flows (FRCC section 7, figure 19)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairweir.audit.axis import Axis
from fairweir.audit.exhibits import laws, readings, thresholds
from fairweir.audit.exhibits.family import Claim, Family, Law, Place, Subject
from fairweir.audit.exhibits.setting import places, steady_times
from fairweir.scenario.dumbbell import ScenarioDict, dumbbell_document, flows
from fairweir.units import Duration, Rate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

LINK_RATE = Rate.from_mbps(48)
BASE_RTPROP = Duration.from_ms(50)
FLOWS = 3

CLAIMS = (
    Claim(
        metric="ratio",
        title="fairness",
        text="over the last 40 % of the run, the largest throughput is at most twice the smallest",
        threshold=thresholds.FAIR,
        expectations={
            "frcc": "1 (FRCC theorem 6.1)",
            "reno": "1 eventually; a sawtooth takes W/2 RTTs, so at 1 Gbps or more convergence takes hours (RFC 3649)",
            "vegas": "flows that start later mistake a standing queue for propagation delay and get more",
            "pcc_allegro": "no contract, so any split is possible (thesis table 5.1)",
            "pcc_vivace": "no contract, so any split is possible (thesis table 5.1)",
        },
    ),
    Claim(metric="utilization", title="efficiency", text="the link is used", threshold=thresholds.EFFICIENT),
    Claim(
        metric="rtt_ms",
        title="RTT law",
        text="the mean RTT follows the CCA's law",
        expectations={
            "frcc": "R + θ n, plus about 15 ms of probes (docs/derivations.md)",
            "reno": "4R is the RTT with a full buffer; the sawtooth's mean is near 3R",
            "cubic": "4R is the RTT with a full buffer; the sawtooth's mean is near 3.6R",
        },
    ),
)


def _rtt_law(link: Callable[[float], laws.IdealLink]) -> Callable[[str], Mapping[str, Law]]:
    def of(cca: str) -> Mapping[str, Law]:
        law = laws.rtt_law(cca)
        return {"rtt_ms": Law(law.formula, lambda x: law.rtt_ms(link(x)))} if law else {}

    return of


def _over_rates(subject: Subject, place: Place, seed: int, patience: float) -> ScenarioDict:
    duration, warmup = steady_times(Rate.from_mbps(place.x), patience)
    return dumbbell_document(
        "ideal-rate",
        f"{FLOWS} flows with equal rtprops on an ideal {place.label} link",
        rate=Rate.from_mbps(place.x),
        buffer=subject.buffer,
        flow_tables=flows(subject.cca, [BASE_RTPROP] * FLOWS, seed),
        duration=duration,
        warmup=warmup,
        seed=seed,
    )


def _over_rtprops(subject: Subject, place: Place, seed: int, patience: float) -> ScenarioDict:
    duration, warmup = steady_times(LINK_RATE, patience)
    return dumbbell_document(
        "ideal-rtprop",
        f"{FLOWS} flows with an rtprop of {place.label} on an ideal link",
        rate=LINK_RATE,
        buffer=subject.buffer,
        flow_tables=flows(subject.cca, [Duration.from_ms(place.x)] * FLOWS, seed),
        duration=duration,
        warmup=warmup,
        seed=seed,
    )


def _over_counts(subject: Subject, place: Place, seed: int, patience: float) -> ScenarioDict:
    n = int(place.x)
    duration, warmup = steady_times(LINK_RATE, patience)
    return dumbbell_document(
        "ideal-flows",
        f"{n} flows with equal rtprops on an ideal link",
        rate=LINK_RATE,
        buffer=subject.buffer,
        flow_tables=flows(subject.cca, [BASE_RTPROP] * n, seed),
        duration=duration,
        warmup=warmup,
        seed=seed,
    )


RATE = Family(
    name="ideal-rate",
    title="Ideal link, over rates",
    question="Are shares fair and is the link utilized at every rate?",
    setup=f"{FLOWS} flows, rtprop {BASE_RTPROP.ms:g} ms, no jitter; buffer 3 BDP for CCAs that fill any buffer, "
    "otherwise 100 BDP",
    axis=Axis(name="link rate", unit="Mbps", scale="log"),
    places=places(
        "Mbps",
        quick=[12, 96],
        default=[12, 48, 96, 240, 1000, 10000],
        deep=[12, 24, 48, 96, 240, 480, 1000, 2400, 10000],
    ),
    scenario=_over_rates,
    metrics=readings.SWEEP,
    claims=CLAIMS,
    laws=_rtt_law(lambda rate: laws.IdealLink(Rate.from_mbps(rate), BASE_RTPROP, FLOWS)),
    traced=lambda depth: (96.0,),
)

RTPROP = Family(
    name="ideal-rtprop",
    title="Ideal link, over rtprops",
    question="Are shares fair and is the link utilized at every propagation delay?",
    setup=f"{FLOWS} flows with equal rtprops, {LINK_RATE.mbps:g} Mbps, no jitter",
    axis=Axis(name="rtprop", unit="ms", scale="log"),
    places=places("ms", quick=[20, 100], default=[10, 20, 50, 100, 200], deep=[5, 10, 20, 50, 100, 150, 200]),
    scenario=_over_rtprops,
    metrics=readings.SWEEP,
    claims=CLAIMS,
    laws=_rtt_law(lambda rtprop: laws.IdealLink(LINK_RATE, Duration.from_ms(rtprop), FLOWS)),
)

COUNT = Family(
    name="ideal-flows",
    title="Ideal link, over numbers of flows",
    question="Are shares fair and is the link utilized for any number of flows?",
    setup=f"rtprop {BASE_RTPROP.ms:g} ms, {LINK_RATE.mbps:g} Mbps, no jitter",
    axis=Axis(name="flows", scale="linear"),
    places=places("flows", quick=[1, 4], default=[1, 2, 4, 8], deep=[1, 2, 3, 4, 6, 8, 12, 16]),
    scenario=_over_counts,
    metrics=readings.SWEEP,
    claims=CLAIMS,
    laws=_rtt_law(lambda n: laws.IdealLink(LINK_RATE, BASE_RTPROP, int(n))),
)

FAMILIES = (RATE, RTPROP, COUNT)
