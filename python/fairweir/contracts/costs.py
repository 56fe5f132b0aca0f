"""Compute the costs of a contract: robustness, unfairness, growth and generality.

A contract f is a decreasing function from a statistic s, such as the queueing delay, to a flow's rate. Its domain is
the closed interval [S_min, S_max] of s. Symbols: C_max = f(S_min) and C_min = f(S_max), the largest and smallest rate;
C, link rate; n, number of flows; ds, noise in s. A hop is a bottleneck link that a flow crosses.

References
----------
Thesis section 6.1 (equations 6.1.1 to 6.1.6) and appendix C.1, whose bounds relate the costs. The appendix derives the
bounds for whole multiples of ds and whole numbers of hops. Here the bounds are rounded to whole multiples, because a
contract that decreases in steps violates the bound of section C.1.2 as printed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from fairweir.documents.arguments import words_for_enums

GRID_POINTS = 512


class Fold(StrEnum):
    """How the statistics of several hops combine to the statistic that a flow over these hops observes."""

    SUM = "sum"
    """The sum of the hops' statistics, for delays."""
    MAX = "max"
    """The largest delay of any hop, which the network must report to the flow."""
    MIN = "min"
    SURVIVAL = "1-prod"
    """1 - prod(1 - s), for loss and mark rates."""

    def over(self, s: float, hops: int) -> float:
        """Return the statistic that a flow over `hops` hops observes if the statistic of each hop is `s`."""
        match self:
            case Fold.SUM:
                return hops * s
            case Fold.SURVIVAL:
                return -math.expm1(hops * math.log1p(-s)) if s < 1.0 else 1.0
            case Fold.MAX | Fold.MIN:
                return s


@dataclass(frozen=True)
class Curve:
    """A contract with its domain.

    Attributes
    ----------
    f : function from s to a rate; strictly decreasing and positive on [s_min, s_max]
    s_min, s_max : positive, in the unit of the statistic
    """

    f: Callable[[float], float]
    s_min: float
    s_max: float

    @property
    def c_max(self) -> float:
        """The maximum rate, f(s_min)."""
        return self.f(self.s_min)

    @property
    def c_min(self) -> float:
        """The minimum rate, f(s_max)."""
        return self.f(self.s_max)

    def statistic(self, rate: float) -> float:
        """Return the statistic at which the contract gives `rate`, limited to the domain."""
        if rate >= self.c_max:
            return self.s_min
        if rate <= self.c_min:
            return self.s_max
        return float(brentq(lambda s: math.log(self.f(s) / rate), self.s_min, self.s_max, xtol=1e-15, rtol=1e-12))


class Corner(StrEnum):
    """A corner of the trade-off between the costs: no cost can fall unless another rises (thesis 6.1, appendix C.1)."""

    NOISE = "noise"
    """The contract is an exponential: noise changes the rate by the same factor at every rate. No steeper contract has
    the same robustness.
    """
    HOPS = "hops"
    """The contract is a power of s: additional hops change the rate by the same factor at every rate. No steeper
    contract has the same unfairness.
    """


EVEN = 1.02
"""If a factor varies by less than this ratio over the domain, it counts as constant. The combination of loss rates over
hops is only approximately a sum, so exact equality is not required.
"""


@words_for_enums
def corner(curve: Curve, noise: float, hops: int, fold: Fold) -> Corner | None:
    """Return the corner at which a contract lies; None if it lies at neither corner.

    At a corner, the factor by which noise or hops change the rate is constant over the domain, and the bounds of
    appendix C.1 hold with equality.
    """
    s_last = curve.s_max
    if _is_even(lambda s: curve.f(s) / curve.f(min(s + noise, s_last)), curve.s_min, s_last - noise):
        return Corner.NOISE
    last = _last_folded(curve, hops, fold)
    adds_up = fold in (Fold.SUM, Fold.SURVIVAL)
    if adds_up and _is_even(lambda s: curve.f(s) / curve.f(min(fold.over(s, hops), s_last)), curve.s_min, last):
        return Corner.HOPS
    return None


def _is_even(of: Callable[[float], float], low: float, high: float) -> bool:
    if high <= low:
        return False
    values = [of(float(s)) for s in np.geomspace(low, high, GRID_POINTS)[:-1]]
    return max(values) < EVEN * min(values)


def generality(curve: Curve) -> float:
    """Return C_max / C_min, the largest ratio of link rates per flow that the contract can represent."""
    return curve.c_max / curve.c_min


def robustness(curve: Curve, noise: float) -> float:
    """Return the maximum of f(s) / f(s + noise), with s and s + noise in the domain.

    If the noise is larger than the domain is wide, return infinity.
    """
    if curve.s_min + noise > curve.s_max:
        return math.inf
    return _largest(lambda s: curve.f(s) / curve.f(min(s + noise, curve.s_max)), curve.s_min, curve.s_max - noise)


@words_for_enums
def unfairness(curve: Curve, hops: int, fold: Fold) -> float:
    """Return the maximum ratio of two rates: that of a flow over one hop, and that of a flow over all `hops` hops.

    The maximum is over all link rates C; it is computed as a maximum over s, because C = f(s) + f(statistic over `hops`
    hops) decreases with s. If no s in the domain has a statistic over `hops` hops that is in the domain, return
    infinity.
    """
    if fold.over(curve.s_min, hops) > curve.s_max:
        return math.inf
    last = _last_folded(curve, hops, fold)
    return _largest(lambda s: curve.f(s) / curve.f(min(fold.over(s, hops), curve.s_max)), curve.s_min, last)


def _last_folded(curve: Curve, hops: int, fold: Fold) -> float:
    """Return the largest s in the domain whose statistic over `hops` hops is also in the domain; s_min if there is
    none.
    """
    if fold.over(curve.s_min, hops) >= curve.s_max:
        return curve.s_min
    if fold.over(curve.s_max, hops) <= curve.s_max:
        return curve.s_max
    return float(brentq(lambda s: fold.over(s, hops) - curve.s_max, curve.s_min, curve.s_max))


def growth(curve: Curve, flows: int | float) -> float:
    """Return the maximum of f^-1(C/n) / f^-1(C), the growth of the statistic from 1 to n = `flows` flows.

    C and C/n are between C_min and C_max. If C_max / C_min is less than n, return infinity.
    """
    if curve.c_min * flows > curve.c_max:
        return math.inf
    last = curve.statistic(curve.c_min * flows)
    return _largest(lambda s: curve.statistic(curve.f(s) / flows) / s, curve.s_min, last)


def _largest(of: Callable[[float], float], low: float, high: float) -> float:
    """Return the maximum of a function on [low, high]: the best point of a grid, refined between the neighboring
    points.
    """
    if high <= low:
        return of(low)
    grid = np.geomspace(low, high, GRID_POINTS)
    grid[0], grid[-1] = low, high
    values = [of(float(s)) for s in grid]
    best = int(np.argmax(values))
    bounds = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, grid.size - 1)])
    refined = minimize_scalar(lambda s: -of(s), bounds=bounds, method="bounded")
    return max(values[best], -float(refined.fun))


def min_growth(curve: Curve, noise: float, error: float, flows: float) -> float:
    """Return the minimum growth that equation C.1.4 permits if the robustness for `noise` is `error`.

    The number of noise steps is rounded down.
    """
    steps = math.floor(math.log(flows) / math.log(error) + 1e-9)
    return 1.0 + steps * noise / curve.s_min


def max_generality_by_noise(curve: Curve, noise: float, error: float) -> float:
    """Return the maximum of C_max / C_min that section C.1.2 permits if the robustness for `noise` is `error`.

    The number of noise steps in the domain is rounded up.
    """
    return float(error ** math.ceil((curve.s_max - curve.s_min) / noise - 1e-9))
