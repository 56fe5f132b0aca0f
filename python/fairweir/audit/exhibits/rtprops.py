"""Flows of different rtprops (FRCC section 7, figure 20; starvation paper section 5.2)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fairweir.audit.axis import Axis
from fairweir.audit.exhibits import readings, thresholds
from fairweir.audit.exhibits.family import (
    Claim,
    Family,
    Law,
    Metric,
    Place,
    Reading,
    Reduction,
    Reference,
    Subject,
)
from fairweir.audit.exhibits.setting import places, steady_times
from fairweir.judging import metrics
from fairweir.judging.interval import Scale
from fairweir.judging.outcome import Direction, Threshold
from fairweir.scenario.dumbbell import ScenarioDict, dumbbell_document, flows
from fairweir.units import Duration, Rate

if TYPE_CHECKING:
    from collections.abc import Mapping

THREE_RTPROPS = (Duration.from_ms(10), Duration.from_ms(20), Duration.from_ms(30))
SHORT = Duration.from_ms(4)
RATE = Rate.from_mbps(48)

FRCC_GAMMA_D = Duration.from_ms(40)
FRCC_THETA = Duration.from_ms(10)

WITHIN_RTPROP_RATIO = Threshold(
    bound=3.0,
    direction=Direction.AT_MOST,
    reason="30/10, the rtprop ratio: rates that differ by more are worse than rates proportional to the RTT",
    source="FRCC section 7, figure 20: the ratio lies between 1 and the rtprop ratio; RFC 9743 section 5.1.4",
)
NO_MORE_THAN_RTPROPS = Threshold(
    bound=1.0,
    direction=Direction.AT_MOST,
    reason="the throughput ratio should not exceed the rtprop ratio",
    source="FRCC section 7, figure 20 right",
)


def frcc_ratio(rtprops: tuple[Duration, ...]) -> float:
    """Return FRCC's throughput ratio for flows with different rtprops: rates are proportional to RTT + gamma D.

    References
    ----------
    docs/derivations.md, Rates of flows with different rtprops
    """
    n = len(rtprops)
    weights = [r + n * FRCC_THETA + FRCC_GAMMA_D for r in rtprops]
    return max(weights) / min(weights)


def _three_laws(cca: str) -> Mapping[str, Law]:
    return {"ratio": Law("(R₃+3θ+γD)/(R₁+3θ+γD)", lambda rate: frcc_ratio(THREE_RTPROPS))} if cca == "frcc" else {}


def _ratio_laws(cca: str) -> Mapping[str, Law]:
    if cca != "frcc":
        return {}
    return {"ratio": Law("(kR+2θ+γD)/(R+2θ+γD)", lambda k: frcc_ratio((SHORT, SHORT * k)))}


def _three(subject: Subject, place: Place, seed: int, patience: float) -> ScenarioDict:
    duration, warmup = steady_times(Rate.from_mbps(place.x), patience)
    return dumbbell_document(
        "rtprops-10-20-30",
        f"three flows with rtprops of 10, 20 and 30 ms at {place.label}",
        rate=Rate.from_mbps(place.x),
        buffer=subject.buffer,
        flow_tables=flows(subject.cca, THREE_RTPROPS, seed),
        duration=duration,
        warmup=warmup,
        seed=seed,
    )


def _pair(subject: Subject, place: Place, seed: int, patience: float) -> ScenarioDict:
    duration, warmup = steady_times(RATE, patience)
    return dumbbell_document(
        "rtprop-ratio",
        f"two flows whose rtprops differ {place.x:g}-fold",
        rate=RATE,
        buffer=subject.buffer,
        flow_tables=flows(subject.cca, [SHORT, SHORT * place.x], seed),
        duration=duration,
        warmup=warmup,
        seed=seed,
    )


def _ratio_by_rtprops(reading: Reading) -> float | None:
    """Return the throughput ratio divided by the rtprop ratio; None for equal rtprops, a control that is not judged."""
    return metrics.ratio(reading.summary) / reading.place.x if reading.place.x > 1 else None


WITH_ITS_RATIO = replace(
    readings.RATIO,
    references=(Reference("the RTprop ratio itself", lambda ratio: ratio),),  # FRCC paper, figure 20 right
)

THREE = Family(
    name="rtprops-10-20-30",
    title="Rtprops of 10, 20 and 30 ms, over rates",
    question="Do flows with slightly different rtprops share a link fairly at every rate?",
    setup="three flows with rtprops of 10, 20, 30 ms; buffer 3 BDP (of the longest rtprop) for CCAs that fill any "
    "buffer, otherwise 100 BDP",
    axis=Axis(name="link rate", unit="Mbps", scale="log"),
    places=places(
        "Mbps", quick=[12, 96], default=[12, 24, 48, 96, 240, 1000], deep=[12, 24, 48, 72, 96, 240, 480, 1000]
    ),
    scenario=_three,
    metrics=readings.SWEEP,
    claims=(
        Claim(
            metric="ratio",
            title="rtprop unfairness",
            text="the throughput ratio does not exceed the rtprop ratio",
            threshold=WITHIN_RTPROP_RATIO,
            expectations={
                "frcc": "1.25 at every rate (closed form, docs/derivations.md)",
                "bbr": "starves the 10 ms flow, increasingly as the rate grows (FRCC figures 1 and 20)",
                "copa": "grows with the rate (FRCC figure 20)",
                "reno": "near 1 (FRCC figure 20)",
                "cubic": "near 1 (FRCC figure 20)",
            },
        ),
        Claim(
            metric="ratio",
            title="growth with rate",
            text="unfairness does not grow with the link rate",
            threshold=thresholds.NOT_GROWING,
            reduction=Reduction.SLOPE,
            expectations={
                "frcc": "0: neither its delay nor the delay's variation depends on the link rate",
                "bbr": "positive",
            },
        ),
        Claim(metric="utilization", title="efficiency", text="the link is used", threshold=thresholds.EFFICIENT),
    ),
    laws=_three_laws,
    traced=lambda depth: (96.0,),
)

PAIR = Family(
    name="rtprop-ratio",
    title="Two flows, over ratios of their rtprops",
    question="How unfair are very different rtprops?",
    setup=f"two flows, the smaller rtprop {SHORT.ms:g} ms, {RATE.mbps:g} Mbps",
    axis=Axis(name="rtprop ratio", scale="log"),
    places=places("×", quick=[4, 16], default=[1, 2, 4, 8, 16, 32, 64], deep=[1, 2, 4, 8, 16, 32, 64]),
    scenario=_pair,
    metrics=(
        WITH_ITS_RATIO,
        *readings.SWEEP[1:],
        Metric(
            "ratio_by_rtprops",
            "",
            Scale.POSITIVE,
            _ratio_by_rtprops,
            label="throughput ratio / rtprop ratio",
            better=Direction.AT_MOST,
        ),
    ),
    claims=(
        Claim(
            metric="ratio_by_rtprops",
            title="rtprop bias",
            text="the throughput ratio is at most the rtprop ratio",
            threshold=NO_MORE_THAN_RTPROPS,
            expectations={"frcc": "at most 1: the closed form gives a throughput ratio of 4.94 for 4 and 256 ms"},
        ),
    ),
    laws=_ratio_laws,
)

FAMILIES = (THREE, PAIR)
