"""Costs of a contract: the four metrics of a decreasing function on a closed interval.

Notation: f the contract, s the statistic in [S_min, S_max], C_max = f(S_min), C_min = f(S_max), ds noise.

References
----------
Thesis section 6.1 (equations 6.1.1 to 6.1.6) and appendix C.1. The appendix derives the bounds for whole steps of ds
and whole hops. Here they include rounding, because a step function violates C.1.2 as printed.
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
    """How a statistic accumulates over hops."""

    SUM = "sum"
    """Delays."""
    MAX = "max"
    """The maximum delay of a hop, which the network must report."""
    MIN = "min"
    SURVIVAL = "1-prod"
    """Loss and mark rates: 1 - prod(1 - s)."""

    def over(self, s: float, hops: int) -> float:
        """Return the statistic observed by a flow that crosses `hops` hops, each with `s`."""
        match self:
            case Fold.SUM:
                return hops * s
            case Fold.SURVIVAL:
                return -math.expm1(hops * math.log1p(-s)) if s < 1.0 else 1.0
            case Fold.MAX | Fold.MIN:
                return s


@dataclass(frozen=True)
class Curve:
    """A contract on the interval in which it is used.

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
        """Maximum rate."""
        return self.f(self.s_min)

    @property
    def c_min(self) -> float:
        """Minimum rate."""
        return self.f(self.s_max)

    def statistic(self, rate: float) -> float:
        """Invert f, for a rate in [c_min, c_max]."""
        if rate >= self.c_max:
            return self.s_min
        if rate <= self.c_min:
            return self.s_max
        return float(brentq(lambda s: math.log(self.f(s) / rate), self.s_min, self.s_max, xtol=1e-15, rtol=1e-12))


class Corner(StrEnum):
    """A corner of the trade-off space: no metric can improve without cost (thesis section 6.1, appendix C.1)."""

    NOISE = "noise"
    """An exponential: noise costs the same factor at every rate. It is the steepest curve for its robustness."""
    HOPS = "hops"
    """A power: hops cost the same factor at every rate. It is the steepest curve for its unfairness."""


EVEN = 1.02
"""Factors that differ by less over the domain count as equal; loss rates add up only approximately over hops."""


@words_for_enums
def corner(curve: Curve, noise: float, hops: int, fold: Fold) -> Corner | None:
    """Return the corner at which a contract is: there its factor is constant over the domain, and C.1's bounds are
    equalities.
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
    """Return C_max / C_min: the range of fair shares."""
    return curve.c_max / curve.c_min


def robustness(curve: Curve, noise: float) -> float:
    """Return the maximum f(s) / f(s + noise) with both in the domain; infinite if the noise exceeds the domain's
    width.
    """
    if curve.s_min + noise > curve.s_max:
        return math.inf
    return _largest(lambda s: curve.f(s) / curve.f(min(s + noise, curve.s_max)), curve.s_min, curve.s_max - noise)


@words_for_enums
def unfairness(curve: Curve, hops: int, fold: Fold) -> float:
    """Return the maximum throughput of a flow over one of `hops` hops, divided by that of a flow over all hops.

    The maximum over capacities is the maximum over s, since C = f(s) + f(fold(s)) decreases with s. Infinite if the
    domain contains no such pair.
    """
    if fold.over(curve.s_min, hops) > curve.s_max:
        return math.inf
    last = _last_folded(curve, hops, fold)
    return _largest(lambda s: curve.f(s) / curve.f(min(fold.over(s, hops), curve.s_max)), curve.s_min, last)


def _last_folded(curve: Curve, hops: int, fold: Fold) -> float:
    """Return the maximum s whose statistic over `hops` hops is in the domain; s_min if there is none."""
    if fold.over(curve.s_min, hops) >= curve.s_max:
        return curve.s_min
    if fold.over(curve.s_max, hops) <= curve.s_max:
        return curve.s_max
    return float(brentq(lambda s: fold.over(s, hops) - curve.s_max, curve.s_min, curve.s_max))


def growth(curve: Curve, flows: int | float) -> float:
    """Return the maximum f^-1(C/n) / f^-1(C) with both in the domain; infinite if C_max / C_min is less than n."""
    if curve.c_min * flows > curve.c_max:
        return math.inf
    last = curve.statistic(curve.c_min * flows)
    return _largest(lambda s: curve.statistic(curve.f(s) / flows) / s, curve.s_min, last)


def _largest(of: Callable[[float], float], low: float, high: float) -> float:
    """Return the maximum on [low, high]: the best point of a grid, refined between its neighbors."""
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
    """Return the bound of C.1.4 on growth, where `error` is the robustness for `noise`; whole steps of noise count."""
    steps = math.floor(math.log(flows) / math.log(error) + 1e-9)
    return 1.0 + steps * noise / curve.s_min


def max_generality_by_noise(curve: Curve, noise: float, error: float) -> float:
    """Return the bound of C.1.2 on C_max by C_min; steps of noise are rounded up."""
    return float(error ** math.ceil((curve.s_max - curve.s_min) / noise - 1e-9))
