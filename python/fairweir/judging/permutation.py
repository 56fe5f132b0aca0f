"""Test whether two samples can come from the same distribution.

The statistic is the energy distance (Székely and Rizzo, "Testing for equal distributions in high dimension", 2004);
its distribution under the hypothesis is that over the ways to divide all values between the two samples.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Sequence
from typing import Final

#: Probability of rejecting equal distributions.
LEVEL: Final = 0.05
#: Maximum number of divisions that are enumerated; beyond it, this many are drawn.
MAX_DIVISIONS: Final = 2_000


def can_reject(first: int, second: int) -> bool:
    """Return whether samples of these sizes have enough divisions for a p-value of at most :data:`LEVEL`."""
    # Samples of equal size that change sides have the same distance, so that two divisions have the largest one.
    largest = 2 if first == second else 1
    return math.comb(first + second, second) * LEVEL >= largest


def p_value(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the fraction of divisions whose energy distance is at least that of the two samples.

    The same samples always give the same value, also where divisions are drawn.

    Raises
    ------
    ValueError : a sample is empty
    """
    if not first or not second:
        raise ValueError("a sample without values has no distribution")
    values = [*first, *second]
    gaps = [[abs(x - y) for y in values] for x in values]
    own = _distance(gaps, range(len(first), len(values)))
    # Equal distances may differ by rounding.
    least = own - 2.0**-40 * max(map(max, gaps))
    found = [_distance(gaps, division) >= least for division in _divisions(len(values), len(second))]
    return sum(found) / len(found)


def _divisions(total: int, size: int) -> Iterator[Sequence[int]]:
    if math.comb(total, size) <= MAX_DIVISIONS:
        yield from itertools.combinations(range(total), size)
        return
    yield range(total - size, total)
    dice = random.Random(0)  # noqa: S311
    for _ in range(MAX_DIVISIONS - 1):
        yield dice.sample(range(total), size)


def _distance(gaps: Sequence[Sequence[float]], second: Sequence[int]) -> float:
    """Return the energy distance between the values at the indices `second` and the others."""
    chosen = set(second)
    rest = [i for i in range(len(gaps)) if i not in chosen]
    between = math.fsum(gaps[i][j] for i in rest for j in second) / (len(rest) * len(second))
    within = [math.fsum(gaps[i][j] for i in side for j in side) / len(side) ** 2 for side in (rest, second)]
    return 2 * between - within[0] - within[1]
