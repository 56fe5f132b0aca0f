"""Judge a controller in one scenario: does it differ from the reference by more than the reference from itself?

The reference has n runs. Each run is compared with the envelope of the other n - 1: this is the *yardstick*, the
conformance of the reference to itself. The candidate's run with the same number is compared with the same envelope, so
the two values are a pair. An envelope shows the range of samples, but not how often they occur; therefore, the means of
throughput and of delay are compared, too. Each of the three differences may be as large as half the width of the 95 %
prediction interval of a further run of the reference, and in any case as large as a fixed slack.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

import numpy as np
from pydantic import BaseModel, ConfigDict

from fairweir.agree.compare import prediction_half_width
from fairweir.conform.envelope import Envelope, Points, best_translation, conformance, envelope, number_of_clusters
from fairweir.conform.mechanisms import Mechanism, explain
from fairweir.conform.observe import Observation, Path
from fairweir.judging.difference import paired
from fairweir.judging.interval import Scale, interval
from fairweir.judging.outcome import Interval, Outcome
from fairweir.show import formats

#: Difference of conformance that is always allowed.
SLACK: Final = 0.05
#: Difference of a mean that is always allowed, as a fraction of the link rate or of the maximum queueing delay.
MEAN_SLACK: Final = 0.03
#: Confidence of each of three intervals, which hold together with 95 %.
CONFIDENCE: Final = 1 - 0.05 / 3
#: Allowed difference above which the reference's runs differ so much that nothing can be judged.
MAX_ALLOWED: Final = 0.5
#: Minimum number of runs per side.
MIN_RUNS: Final = 3


class Standing(StrEnum):
    """Verdict on a controller in one scenario."""

    CONFORMS = "conforms"
    """The intervals of all differences are within the reference's spread."""
    DIFFERS = "differs"
    """A whole interval is outside the reference's spread."""
    UNDECIDED = "undecided"
    """Neither of these: more seeds would decide, or the reference's own runs differ too much."""
    NOT_JUDGED = "not judged"
    """The machine was too slow for the kernel world."""
    NOT_RUN = "not run"
    """A run failed."""

    @property
    def outcome(self) -> Outcome:
        """Outcome of the claim that the controller conforms."""
        return {"conforms": Outcome.HOLDS, "differs": Outcome.FAILS, "undecided": Outcome.UNKNOWN}.get(
            self.value, Outcome.INFO
        )


class Difference(BaseModel):
    """Candidate minus reference, over pairs of runs.

    Attributes
    ----------
    value, lo, hi : the mean and its interval
    allowed : float; maximum absolute difference that is within the reference's spread
    is_one_sided : whether only negative differences count
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    value: float
    lo: float
    hi: float
    allowed: float
    is_one_sided: bool = False

    @classmethod
    def of(cls, reference: Sequence[float], candidate: Sequence[float], slack: float, *, one_sided: bool) -> Difference:
        """Return the difference of pairs."""
        found = paired(reference, candidate, Scale.REAL, confidence=CONFIDENCE)
        allowed = max(slack, prediction_half_width(reference, 1))
        return cls(value=found.value, lo=found.lo, hi=found.hi, allowed=allowed, is_one_sided=one_sided)

    @property
    def is_within(self) -> bool:
        """Whether the whole interval is allowed."""
        return self.lo >= -self.allowed and (self.is_one_sided or self.hi <= self.allowed)

    @property
    def is_outside(self) -> bool:
        """Whether the whole interval is not allowed."""
        return self.hi < -self.allowed or (not self.is_one_sided and self.lo > self.allowed)


class Cell(BaseModel):
    """One controller in one scenario.

    Attributes
    ----------
    scenario, arrangement : str; "alone", or "competing" with a second flow
    competitors : tuple of 2 str; the competing flow's controller at the candidate and at the reference; empty if alone
    standing : Standing
    why : str; the reason of the standing
    conformance : Interval of the candidate's conformance, over runs
    yardstick : Interval of the reference's conformance to itself
    difference : Difference of the two
    throughput_mbps, delay_ms : Difference of the means over a run's samples
    translated : Interval of conformance-T: after the best translation
    offset_mbps, offset_ms : Interval; the offset of the candidate's envelope from the reference's
    clusters : int
    candidate_hulls, reference_hulls : corners of the envelopes of all runs, (Mbit/s, ms)
    candidate_points, reference_points : samples of all runs, (Mbit/s, ms)
    mechanisms : list of Mechanism; the measures that differ
    release_p99_us : float, us; the 99th percentile of the emulator's lateness, the maximum over runs
    """

    model_config = ConfigDict(extra="forbid")

    scenario: str
    arrangement: str
    competitors: tuple[str, str] | None = None
    standing: Standing
    why: str = ""
    conformance: Interval | None = None
    yardstick: Interval | None = None
    difference: Difference | None = None
    throughput_mbps: Difference | None = None
    delay_ms: Difference | None = None
    translated: Interval | None = None
    offset_mbps: Interval | None = None
    offset_ms: Interval | None = None
    clusters: int = 1
    candidate_hulls: list[list[tuple[float, float]]] = []
    reference_hulls: list[list[tuple[float, float]]] = []
    candidate_points: list[tuple[float, float]] = []
    reference_points: list[tuple[float, float]] = []
    mechanisms: list[Mechanism] = []
    release_p99_us: float | None = None

    @property
    def name(self) -> str:
        """The scenario and the arrangement."""
        return f"{self.scenario}, {self.arrangement}"


def judge(cell: Cell, path: Path, candidate: Sequence[Observation], reference: Sequence[Observation]) -> Cell:
    """Return the cell with its verdict.

    Parameters
    ----------
    cell : names of the cell
    path : quantities of the scenario
    candidate, reference : the observations of the runs, n each, in pairs
    """
    scaled = [[path.scaled(run.points) for run in runs] for runs in (candidate, reference)]
    if min(len(points) for points in (*scaled[0], *scaled[1])) == 0:
        return cell.model_copy(
            update={"standing": Standing.NOT_RUN, "why": "a run has no sample: nothing was acknowledged"}
        )
    everything = [np.concatenate(points) for points in scaled]
    clusters = number_of_clusters(everything[1])
    ours, theirs = ([envelope(points, clusters) for points in side] for side in scaled)
    values: list[tuple[float, float, float, Points]] = []
    for i, (mine, own) in enumerate(zip(ours, theirs, strict=True)):
        others = envelope(np.concatenate([points for k, points in enumerate(scaled[1]) if k != i]), clusters)
        values.append((conformance(mine, others), conformance(own, others), *best_translation(mine, others)))
    found, yardstick = [v[0] for v in values], [v[1] for v in values]
    difference = Difference.of(yardstick, found, SLACK, one_sided=True)
    means = [[run.points.mean(axis=0) for run in runs] for runs in (candidate, reference)]
    throughput, delay = (
        Difference.of(
            [float(m[i]) for m in means[1]], [float(m[i]) for m in means[0]], MEAN_SLACK * scale, one_sided=False
        )
        for i, scale in ((0, path.rate_mbps), (1, path.queue_ms))
    )
    standing, why = _standing(difference, throughput, delay)
    hulls = [envelope(points, clusters) for points in everything]
    return cell.model_copy(
        update={
            "standing": standing,
            "why": why,
            "conformance": interval(found, Scale.FRACTION),
            "yardstick": interval(yardstick, Scale.FRACTION),
            "difference": difference,
            "throughput_mbps": throughput,
            "delay_ms": delay,
            "translated": interval([v[2] for v in values], Scale.FRACTION),
            "offset_mbps": interval([float(v[3][0]) * path.rate_mbps for v in values], Scale.REAL),
            "offset_ms": interval([float(v[3][1]) * path.queue_ms for v in values], Scale.REAL),
            "clusters": clusters,
            "candidate_hulls": _outlines(hulls[0], path),
            "reference_hulls": _outlines(hulls[1], path),
            "candidate_points": _pairs(path.unscaled(everything[0])),
            "reference_points": _pairs(path.unscaled(everything[1])),
            "mechanisms": explain(
                [run.measures for run in candidate],
                [run.measures for run in reference],
                is_alone=cell.competitors is None,
            ),
        }
    )


def _standing(difference: Difference, throughput: Difference, delay: Difference) -> tuple[Standing, str]:
    named = ((difference, "conformance", ""), (throughput, "mean throughput", " Mbit/s"), (delay, "mean delay", " ms"))
    outside = [_words(*one) for one in named if one[0].is_outside]
    if outside:
        return Standing.DIFFERS, "; ".join(outside)
    if difference.allowed > MAX_ALLOWED:
        return Standing.UNDECIDED, f"the reference's own runs differ by up to {difference.allowed:.2f} in conformance"
    if within := [_words(*one) for one in named if not one[0].is_within]:
        return Standing.UNDECIDED, f"more seeds would decide: {'; '.join(within)}"
    return Standing.CONFORMS, _words(*named[0])


def _words(one: Difference, name: str, unit: str) -> str:
    value = formats.estimate(one.value, one.lo, one.hi).replace("-", "−")
    return f"{name} {'' if one.value < 0 else '+'}{value}{unit}, allowed ±{formats.number(one.allowed)}"


def _outlines(found: Envelope, path: Path) -> list[list[tuple[float, float]]]:
    return [_pairs(path.unscaled(hull)) for hull in found.hulls]


def _pairs(points: Points) -> list[tuple[float, float]]:
    return [(round(float(x), 4), round(float(y), 4)) for x, y in points]
