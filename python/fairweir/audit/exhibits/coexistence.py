"""Coexistence with deployed algorithms: the effect in both directions (RFC 9743 section 5.2.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairweir.audit.axis import Axis
from fairweir.audit.exhibits import readings, thresholds
from fairweir.audit.exhibits.family import Claim, Depth, Family, Metric, Place, Reading, Subject, View
from fairweir.audit.exhibits.setting import categories
from fairweir.judging import metrics
from fairweir.judging.interval import Scale
from fairweir.judging.outcome import Direction
from fairweir.scenario.dumbbell import ScenarioDict, dumbbell_document, flow, start_times
from fairweir.units import Duration, Rate

if TYPE_CHECKING:
    from collections.abc import Mapping

RATE, RTPROP = Rate.from_mbps(48), Duration.from_ms(40)
INCUMBENTS = ("cubic", "reno", "bbr")
BUFFERS_BDP: Mapping[str, float] = {"1 BDP": 1.0, "4 BDP": 4.0}


def _names(incumbents: tuple[str, ...], buffers: tuple[str, ...]) -> list[str]:
    return [f"{incumbent}, {buffer}" for incumbent in incumbents for buffer in buffers]


def parse(label: str) -> tuple[str, float]:
    """Return the incumbent and the buffer (BDP) that a place's label names."""
    incumbent, buffer = label.split(", ")
    return incumbent, BUFFERS_BDP[buffer]


def _scenario(subject: Subject, place: Place, seed: int, patience: float) -> ScenarioDict:
    incumbent, buffer_bdp = parse(place.label)
    own, other = start_times(seed, 2, Duration.from_s(5))
    return dumbbell_document(
        "coexistence",
        f"one flow competes with one {incumbent} flow, buffer {buffer_bdp:g} BDP",
        rate=RATE,
        buffer=f"{buffer_bdp:g}bdp",
        flow_tables=[
            flow(subject.cca, RTPROP, own, id="new"),
            flow(incumbent, RTPROP, other, id="incumbent"),
        ],
        duration=Duration.from_s(180) * patience,
        warmup=Duration.from_s(60) * patience,
        seed=seed,
    )


def _new_by_incumbent(reading: Reading) -> float:
    new, incumbent = metrics.throughputs_mbps(reading.summary)
    if incumbent <= new / metrics.RATIO_CEILING:
        return metrics.RATIO_CEILING
    return new / incumbent


def _harm_done(reading: Reading) -> float:
    """Return the harm to the incumbent: the new flow's throughput divided by the incumbent's, at least 1."""
    return max(1.0, _new_by_incumbent(reading))


def _harm_taken(reading: Reading) -> float:
    """Return the harm to the new flow: the incumbent's throughput divided by the new flow's, at least 1."""
    by = _new_by_incumbent(reading)
    return metrics.RATIO_CEILING if by <= 1.0 / metrics.RATIO_CEILING else max(1.0, 1.0 / by)


ALL = _names(INCUMBENTS, tuple(BUFFERS_BDP))

COEXISTENCE = Family(
    name="coexistence",
    title="Coexistence with CUBIC, Reno and BBR",
    question="Does the CCA starve deployed algorithms, and do they starve it?",
    setup=f"one flow and one incumbent, {RATE.mbps:g} Mbps, rtprop {RTPROP.ms:g} ms, shallow and deep buffers",
    axis=Axis(name="incumbent and buffer", scale="category"),
    places=categories(quick=_names(("cubic",), ("1 BDP",)), default=ALL, deep=ALL),
    scenario=_scenario,
    metrics=(
        Metric(
            "new_by_incumbent",
            "",
            Scale.POSITIVE,
            _new_by_incumbent,
            label="throughput, new flow / incumbent",
            view=View.EVEN,
            is_grid=True,
        ),
        Metric(
            "harm_done",
            "",
            Scale.RATIO,
            _harm_done,
            label="harm done, new by incumbent",
            view=View.EVEN,
            better=Direction.AT_MOST,
        ),
        Metric(
            "harm_taken",
            "",
            Scale.RATIO,
            _harm_taken,
            label="harm taken, incumbent by new",
            view=View.EVEN,
            better=Direction.AT_MOST,
        ),
        readings.JAIN,
        readings.UTILIZATION,
        readings.QUEUE,
        readings.LOSS,
    ),
    claims=(
        Claim(
            metric="harm_done",
            title="harm to incumbents",
            text="the CCA does not starve competing CUBIC, Reno and BBR flows",
            threshold=thresholds.STARVED,
            expectations={"bbr": "with a shallow buffer, takes most of the link from loss-based flows"},
        ),
        Claim(
            metric="harm_taken",
            title="harm by incumbents",
            text="CUBIC, Reno and BBR do not starve the CCA",
            threshold=thresholds.STARVED,
            expectations={
                "frcc": "out of scope: limitation L2 (FRCC section 8)",
                "vegas": "yields to loss-based flows, which fill the buffer",
                "copa": "yields if it does not switch to its competitive mode",
            },
        ),
    ),
    traced=lambda depth: (0.0,) if depth is not Depth.QUICK else (),
)

FAMILIES = (COEXISTENCE,)
