"""Differences between a candidate and a reference over the same seeds, and the verdict on one.

The difference of a pair is the candidate's value minus the reference's; for ratios and factors, whose errors multiply,
it is that of the logarithms. Intervals are Student's t-intervals, as everywhere (:mod:`fairweir.judging.interval`).
"""

from __future__ import annotations

import math
from enum import StrEnum
from typing import TYPE_CHECKING

from fairweir.documents.arguments import words_for_enums
from fairweir.judging.interval import CONFIDENCE, Scale, interval
from fairweir.judging.outcome import Direction, Interval

if TYPE_CHECKING:
    from collections.abc import Sequence

RELEVANT_FACTOR = 1.1
"""Smallest relevant difference of a ratio."""
RELEVANT_FRACTION = 0.02
"""Smallest relevant difference of a fraction, such as a utilization, unless its metric states another."""
RELEVANT_SHARE = 0.05
"""Smallest relevant difference of other positive numbers, as a fraction of the reference's mean."""


class Relation(StrEnum):
    """Verdict on a candidate compared with a reference."""

    BETTER = "better"
    """The whole interval of the difference is on the good side of 0, and its mean is relevant."""
    WORSE = "worse"
    """The same on the bad side."""
    SAME = "same"
    """The whole interval of the difference is within the smallest relevant difference."""
    UNDECIDED = "undecided"
    """None of the others: more seeds would decide."""

    @property
    def symbol(self) -> str:
        """One character that is readable without colour."""
        return {"better": "▲", "worse": "▼", "same": "=", "undecided": "?"}[self.value]


@words_for_enums
def is_multiplicative(scale: Scale) -> bool:
    """Return whether differences on `scale` are those of logarithms."""
    return scale in (Scale.RATIO, Scale.FACTOR)


@words_for_enums
def paired(
    reference: Sequence[float], candidate: Sequence[float], scale: Scale, *, confidence: float = CONFIDENCE
) -> Interval:
    """Return the mean difference of pairs and its interval.

    Parameters
    ----------
    reference, candidate : n finite values each, at least one; positive for ratios and factors
    scale : decides whether the difference is that of the logarithms
    confidence : of the interval

    Returns
    -------
    Interval ; unbounded with a single pair
    """
    pairs = zip(reference, candidate, strict=True)
    if is_multiplicative(scale):
        return interval([math.log(c) - math.log(r) for r, c in pairs], Scale.REAL, confidence=confidence)
    return interval([c - r for r, c in pairs], Scale.REAL, confidence=confidence)


def unpaired(reference: Sequence[float], candidate: Sequence[float]) -> Interval:
    """Return the difference of the means of independent runs and its 95 % interval.

    Parameters
    ----------
    reference, candidate : at least two finite values each
    """
    sides = [interval(side, Scale.REAL) for side in (reference, candidate)]
    # Half widths of independent means add up as the roots of squares do.
    half = math.hypot(*((side.hi - side.lo) / 2 for side in sides))
    change = sides[1].value - sides[0].value
    return Interval(value=change, lo=change - half, hi=change + half)


@words_for_enums
def smallest_relevant(scale: Scale, reference_mean: float, absolute: float | None = None) -> float:
    """Return the smallest relevant difference, in the unit of :func:`paired`.

    Parameters
    ----------
    scale : of the metric
    reference_mean : of the reference's values
    absolute : of the metric, where the scale's default is too coarse or too fine
    """
    if is_multiplicative(scale):
        return math.log(RELEVANT_FACTOR)
    if scale is Scale.FRACTION:
        return RELEVANT_FRACTION if absolute is None else absolute
    return max(absolute or 0.0, RELEVANT_SHARE * abs(reference_mean))


@words_for_enums
def judge_difference(difference: Interval, relevant: float, good: Direction) -> Relation:
    """Judge a difference: better and worse need an interval that excludes 0 and a relevant mean.

    Parameters
    ----------
    difference : Interval, of candidate minus reference
    relevant : smallest relevant difference, in the same unit
    good : ``at_least`` if larger values are better, ``at_most`` if smaller ones are
    """
    if -relevant <= difference.lo and difference.hi <= relevant:
        return Relation.SAME
    if abs(difference.value) <= relevant or difference.lo <= 0.0 <= difference.hi:
        return Relation.UNDECIDED
    return Relation.BETTER if (difference.value > 0.0) == (good is Direction.AT_LEAST) else Relation.WORSE
