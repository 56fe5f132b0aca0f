"""Compute confidence intervals over seeds.

A run is one sample of all random quantities in a scenario: start times, phases, random jitter, loss, and the random
numbers of the CCA. The interval of the mean over n seeds is Student's t-interval. For ratios, whose errors multiply,
the interval is computed from the logarithms. With the few seeds of an audit, a bootstrap interval would be too narrow,
because three values have only ten distinct resamples.
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
    """Whether the errors of a metric add or multiply, and the range of its values."""

    RATIO = "ratio"
    """Values are at least 1; errors multiply."""
    FACTOR = "factor"
    """Values are above 0; errors multiply."""
    FRACTION = "fraction"
    """Values are between 0 and 1; errors add."""
    POSITIVE = "positive"
    """Values are at least 0; errors add."""
    REAL = "real"


def student_t(degrees: int, confidence: float = CONFIDENCE) -> float:
    """Return the two-sided quantile of Student's t-distribution with the given degrees of freedom."""
    return student_t_quantile(degrees, 0.5 + confidence / 2)


@words_for_enums
def interval(samples: Sequence[float], scale: Scale, *, confidence: float = CONFIDENCE) -> Interval:
    """Return the mean over seeds, with its t-interval.

    Parameters
    ----------
    samples : one finite value per seed, at least one
    scale : determines whether the mean is geometric (ratios and factors), and the range to which the interval is
        limited
    confidence : probability that the interval covers the mean, between 0 and 1

    Returns
    -------
    Interval, in the samples' unit; the interval of a single sample is the whole range of `scale`

    Raises
    ------
    ValueError : there is no sample, or a sample is not finite
    """
    if not samples or not all(math.isfinite(s) for s in samples):
        raise ValueError(f"an interval needs finite samples: {list(samples)}")
    if scale in (Scale.RATIO, Scale.FACTOR):
        mid, half = _mean_and_half_width([math.log(s) for s in samples], confidence)
        least = 1.0 if scale is Scale.RATIO else 1 / RATIO_CEILING
        return Interval(value=math.exp(mid), lo=max(least, math.exp(mid - half)), hi=_ratio_end(mid + half))
    mid, half = _mean_and_half_width(samples, confidence)
    lo, hi = mid - half, mid + half
    if scale in (Scale.FRACTION, Scale.POSITIVE):
        lo = max(0.0, lo)
    if scale is Scale.FRACTION:
        hi = min(1.0, hi)
    return Interval(value=mid, lo=min(lo, mid), hi=max(hi, mid))


def _mean_and_half_width(samples: Sequence[float], confidence: float) -> tuple[float, float]:
    n = len(samples)
    mean = math.fsum(samples) / n
    if n == 1:
        return mean, math.inf
    deviation = math.sqrt(math.fsum((s - mean) ** 2 for s in samples) / (n - 1))
    return mean, student_t(n - 1, confidence) * deviation / math.sqrt(n)


def _ratio_end(logarithm: float) -> float:
    """Return the upper end of a ratio's interval: at most `RATIO_CEILING`; infinite if there is only one sample."""
    if math.isinf(logarithm):
        return math.inf
    return math.exp(min(logarithm, math.log(RATIO_CEILING)))
