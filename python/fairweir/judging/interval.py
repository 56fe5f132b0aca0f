"""Confidence intervals over seeds.

A run is one sample of everything random in a scenario: start times, phases, random jitter, loss, the CCA's random
numbers. The interval of the mean over n seeds is Student's t-interval; for ratios, whose errors multiply, that of the
logarithms. With the few seeds of an audit, a bootstrap would be too narrow (three values have ten resamples).
"""

from __future__ import annotations

import math
from enum import StrEnum
from typing import TYPE_CHECKING

from fairweir._core import student_t_quantile
from fairweir.documents.arguments import words_for_enums
from fairweir.judging.metrics import RATIO_CEILING
from fairweir.judging.outcome import Interval

if TYPE_CHECKING:
    from collections.abc import Sequence

CONFIDENCE = 0.95


class Scale(StrEnum):
    """How the errors of a metric add up, and where its values end."""

    RATIO = "ratio"
    """At least 1; errors multiply."""
    FACTOR = "factor"
    """Above 0; errors multiply."""
    FRACTION = "fraction"
    """Between 0 and 1."""
    POSITIVE = "positive"
    """At least 0."""
    REAL = "real"


def student_t(degrees: int) -> float:
    """Two-sided 95 % quantile of Student's t."""
    return student_t_quantile(degrees, 0.5 + CONFIDENCE / 2)


@words_for_enums
def interval(samples: Sequence[float], scale: Scale) -> Interval:
    """Mean over seeds and its 95 % t-interval.

    Parameters
    ----------
    samples : one finite value per seed, at least one
    scale : decides whether the mean is geometric (ratios and factors), and where the interval is cut off

    Returns
    -------
    Interval, in the samples' unit; a single sample has the whole range that `scale` allows

    Raises
    ------
    ValueError : no samples, or one that is not finite
    """
    if not samples or not all(math.isfinite(s) for s in samples):
        raise ValueError(f"an interval needs finite samples: {list(samples)}")
    if scale in (Scale.RATIO, Scale.FACTOR):
        mid, half = _mean_and_half_width([math.log(s) for s in samples])
        least = 1.0 if scale is Scale.RATIO else 1 / RATIO_CEILING
        return Interval(value=math.exp(mid), lo=max(least, math.exp(mid - half)), hi=_ratio_end(mid + half))
    mid, half = _mean_and_half_width(samples)
    lo, hi = mid - half, mid + half
    if scale in (Scale.FRACTION, Scale.POSITIVE):
        lo = max(0.0, lo)
    if scale is Scale.FRACTION:
        hi = min(1.0, hi)
    return Interval(value=mid, lo=min(lo, mid), hi=max(hi, mid))


def _mean_and_half_width(samples: Sequence[float]) -> tuple[float, float]:
    n = len(samples)
    mean = math.fsum(samples) / n
    if n == 1:
        return mean, math.inf
    deviation = math.sqrt(math.fsum((s - mean) ** 2 for s in samples) / (n - 1))
    return mean, student_t(n - 1) * deviation / math.sqrt(n)


def _ratio_end(logarithm: float) -> float:
    """Return the upper end of a ratio: at most the ceiling, unless nothing is known about it."""
    if math.isinf(logarithm):
        return math.inf
    return math.exp(min(logarithm, math.log(RATIO_CEILING)))
