"""A long flow over k hops and one short flow per hop (FRCC sections 6.5 and 7, figure 22; thesis table 6.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairweir.audit.axis import Axis
from fairweir.audit.exhibits import readings
from fairweir.audit.exhibits.family import Claim, Family, Law, Metric, Place, Reading, Reference, Subject
from fairweir.audit.exhibits.setting import places
from fairweir.judging import metrics
from fairweir.judging.interval import Scale
from fairweir.judging.outcome import Direction, Threshold
from fairweir.judging.summary import Summary
from fairweir.scenario.dumbbell import ScenarioDict, flow, start_times
from fairweir.units import Duration, Rate

if TYPE_CHECKING:
    from collections.abc import Mapping

RATE, RTPROP = Rate.from_mbps(100), Duration.from_ms(10)

NO_WORSE_THAN_SQUARE = Threshold(
    bound=1.0,
    direction=Direction.AT_MOST,
    reason="a contract as steep as 1/s² gives a ratio of hops squared; no deployed contract is steeper",
    source="thesis table 6.2 (unfairness with k hops: k for Vegas and Copa, k² for Swift); FRCC section 6.5",
)


def _scenario(subject: Subject, place: Place, seed: int, patience: float) -> ScenarioDict:
    hops = int(place.x)
    names = [f"hop{i + 1}" for i in range(hops)]
    starts = start_times(seed, hops + 1)
    tables = [flow(subject.cca, RTPROP, starts[0], id="long", path=names)]
    tables += [
        flow(subject.cca, RTPROP, start, id=f"short{i + 1}", path=[name])
        for i, (name, start) in enumerate(zip(names, starts[1:], strict=True))
    ]
    return {
        "name": "parking-lot",
        "description": f"one long flow over {place.label}, one short flow on each hop",
        "duration": str(Duration.from_s(110) * patience),
        "warmup": str(Duration.from_s(60) * patience),
        "seed": seed,
        "link": {name: {"rate": str(RATE), "buffer": subject.buffer} for name in names},
        "flow": tables,
    }


def short_by_long(summary: Summary) -> float:
    """Return the mean throughput of the short flows divided by the throughput of the long flow."""
    long, *short = metrics.throughputs_mbps(summary)
    mean = sum(short) / len(short)
    return min(mean / long, metrics.RATIO_CEILING) if long > 0.0 else metrics.RATIO_CEILING


def _short_by_long(reading: Reading) -> float:
    return short_by_long(reading.summary)


def _by_square(reading: Reading) -> float:
    return short_by_long(reading.summary) / reading.place.x**2


def _laws(cca: str) -> Mapping[str, Law]:
    if cca in ("vegas", "copa"):
        return {"short_by_long": Law("hops", lambda hops: hops)}
    return {}


#: The three references: thesis table 6.1 and figure 7.20.
HOPS = Reference("proportional fairness, hops", lambda hops: hops)
HOPS_SQUARED = Reference("hops²", lambda hops: hops * hops, "dot")
SQRT_HOPS = Reference("minimum potential delay, √hops", lambda hops: hops**0.5, "dashdot")

PARKING_LOT = Family(
    name="parking-lot",
    title="Parking lot, over hops",
    question="How much throughput does a flow get if it crosses several bottlenecks?",
    setup=f"{RATE.mbps:g} Mbps per hop, rtprop {RTPROP.ms:g} ms for all flows, one short flow per hop",
    axis=Axis(name="hops", scale="linear"),
    places=places("hops", quick=[2], default=[2, 3, 4, 5], deep=[2, 3, 4, 5, 6]),
    scenario=_scenario,
    metrics=(
        Metric(
            "short_by_long",
            "",
            Scale.POSITIVE,
            _short_by_long,
            label="throughput, short flows / long flow",
            references=(SQRT_HOPS, HOPS, HOPS_SQUARED),
        ),
        Metric(
            "short_by_long_by_square",
            "",
            Scale.POSITIVE,
            _by_square,
            label="short / long / hops²",
            better=Direction.AT_MOST,
        ),
        readings.UTILIZATION,
    ),
    claims=(
        Claim(
            metric="short_by_long_by_square",
            title="multi-bottleneck unfairness",
            text="a short flow gets at most hops squared times the rate of the long flow",
            threshold=NO_WORSE_THAN_SQUARE,
            expectations={
                "frcc": "between hops and hops² (FRCC figure 22)",
                "copa": "hops: proportional fairness (FRCC figure 22)",
                "vegas": "hops: proportional fairness (docs/derivations.md)",
                "bbr": "worse than hops² (FRCC figure 22)",
                "cubic": "worse than hops² (FRCC figure 22)",
                "reno": "√hops due to the loss rates, and more due to the RTTs (docs/derivations.md)",
            },
        ),
    ),
    laws=_laws,
)

FAMILIES = (PARKING_LOT,)
