"""Compare the metrics of a candidate with those of a reference over the same seeds, and judge the difference.

A seed gives a pair of values: the candidate's and the reference's. Their difference is the candidate's value minus the
reference's value. For ratios and factors, whose errors multiply, the difference of the logarithms is used. Intervals
are Student's t-intervals (:mod:`fairweir.judging.interval`). A difference is relevant if its absolute value exceeds the
smallest relevant difference of its metric.
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
"""Smallest relevant factor between two ratios."""
RELEVANT_FRACTION = 0.02
"""Smallest relevant difference of a fraction, such as a utilization, unless its metric states another."""
RELEVANT_SHARE = 0.05
"""Smallest relevant difference of any other positive number, as a fraction of the reference's mean."""


class Relation(StrEnum):
    """The verdict on a candidate compared with a reference."""

    BETTER = "better"
    """The whole interval of the difference shows an improvement, and the mean difference is relevant."""
    WORSE = "worse"
    """The whole interval of the difference shows a decline, and the mean difference is relevant."""
    SAME = "same"
    """In the whole interval, the absolute difference is at most the smallest relevant difference."""
    UNDECIDED = "undecided"
    """None of the other verdicts applies; more seeds may decide."""

    @property
    def symbol(self) -> str:
        """One character for the verdict, so that the verdict can be read without color."""
        return {"better": "▲", "worse": "▼", "same": "=", "undecided": "?"}[self.value]


@words_for_enums
def is_multiplicative(scale: Scale) -> bool:
    """Return whether differences of a metric on `scale` are differences of logarithms."""
    return scale in (Scale.RATIO, Scale.FACTOR)


@words_for_enums
def paired(
    reference: Sequence[float], candidate: Sequence[float], scale: Scale, *, confidence: float = CONFIDENCE
) -> Interval:
    """Return the mean difference of the pairs, with its interval.

    Parameters
    ----------
    reference, candidate : n finite values each, one per seed, at least one; positive for ratios and factors
    scale : scale of the metric, which decides whether logarithms are used
    confidence : probability that the interval covers the mean

    Returns
    -------
    Interval, which is unbounded if there is a single pair
    """
    pairs = zip(reference, candidate, strict=True)
    if is_multiplicative(scale):
        return interval([math.log(c) - math.log(r) for r, c in pairs], Scale.REAL, confidence=confidence)
    return interval([c - r for r, c in pairs], Scale.REAL, confidence=confidence)


def unpaired(reference: Sequence[float], candidate: Sequence[float], *, confidence: float = CONFIDENCE) -> Interval:
    """Return the difference of the means of independent runs, with its interval, of 95 % by default.

    Parameters
    ----------
    reference, candidate : at least two finite values each
    confidence : of the interval
    """
    sides = [interval(side, Scale.REAL, confidence=confidence) for side in (reference, candidate)]
    # The half width of the difference is the square root of the sum of the squared half widths, because the runs are
    # independent.
    half = math.hypot(*((side.hi - side.lo) / 2 for side in sides))
    change = sides[1].value - sides[0].value
    return Interval(value=change, lo=change - half, hi=change + half)


@words_for_enums
def smallest_relevant(scale: Scale, reference_mean: float, absolute: float | None = None) -> float:
    """Return the smallest relevant difference, in the unit of :func:`paired`.

    Parameters
    ----------
    scale : scale of the metric
    reference_mean : mean of the reference's values
    absolute : the metric's own smallest relevant difference; None if it has none. It replaces the default for
        fractions, is the minimum of the result for other linear scales, and is ignored for ratios and factors
    """
    if is_multiplicative(scale):
        return math.log(RELEVANT_FACTOR)
    if scale is Scale.FRACTION:
        return RELEVANT_FRACTION if absolute is None else absolute
    return max(absolute or 0.0, RELEVANT_SHARE * abs(reference_mean))


@words_for_enums
def judge_difference(difference: Interval, relevant: float, good: Direction) -> Relation:
    """Return the verdict on a difference. "Better" and "worse" need an interval that excludes 0 and a mean that is
    relevant.

    Parameters
    ----------
    difference : Interval of the candidate's values minus the reference's
    relevant : smallest relevant difference, in the same unit
    good : ``at_least`` if larger values are better, ``at_most`` if smaller ones are
    """
    if -relevant <= difference.lo and difference.hi <= relevant:
        return Relation.SAME
    if abs(difference.value) <= relevant or difference.lo <= 0.0 <= difference.hi:
        return Relation.UNDECIDED
    return Relation.BETTER if (difference.value > 0.0) == (good is Direction.AT_LEAST) else Relation.WORSE
