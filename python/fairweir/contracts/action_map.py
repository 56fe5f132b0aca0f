"""Find the contract of a CCA that is given as an action map, as learned CCAs are.

An action map is a function of a flow's rate and a statistic (the queueing delay or loss rate that the flow observes).
It returns the CCA's action: positive if the CCA increases its rate, negative if the CCA decreases it. The contract,
which is the rate as a function of the statistic, is the line on which the action is 0 (thesis section 5.2.1, figures
5.5 and 5.6).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from scipy.optimize import brentq

from fairweir.ccas.lookup import load_module
from fairweir.errors import CcaError, describe_exception

Action = Callable[[float, float], float]
"""Function of the rate in Mbps and of the statistic (queueing delay in ms, or a loss rate). It returns the action, of
which only the sign matters.
"""

SLOWEST_MBPS = 1e-3
FASTEST_MBPS = 1e6
RATES_PER_DECADE = 24
"""Number of rates at which the action is evaluated, per factor of ten. If two zeros of the action are closer together
than two such rates, both may be missed.
"""

HeldStatistic = Literal["p50_qdelay_ms", "loss_rate"]


@dataclass(frozen=True)
class Held:
    """The statistic that is held fixed, and the values at which it is held.

    Attributes
    ----------
    statistic : name of the statistic, as in `contracts/points.py`
    low, high : smallest and largest value, in ms or as a loss rate; positive
    count : number of values, evenly spaced on a logarithmic scale
    """

    statistic: HeldStatistic = "p50_qdelay_ms"
    low: float = 2.0
    high: float = 50.0
    count: int = 12

    @property
    def values(self) -> list[float]:
        """The values of the statistic at which the CCA is evaluated."""
        return [float(value) for value in np.geomspace(self.low, self.high, self.count)]


@dataclass(frozen=True)
class Crossing:
    """The rates at which the action is zero, for one value of the statistic.

    Attributes
    ----------
    statistic : the value, in ms or as a loss rate
    rates_mbps : stable fixed points: at a lower rate the CCA increases its rate, at a higher rate it decreases the
        rate; may be empty
    repelling_mbps : unstable fixed points: at a lower rate the CCA decreases its rate, at a higher rate it increases
        the rate
    """

    statistic: float
    rates_mbps: tuple[float, ...]
    repelling_mbps: tuple[float, ...] = ()


def crossings(action: Action, held: Held) -> list[Crossing]:
    """Return, for each value of the statistic, the rates at which the action is zero.

    Raises
    ------
    CcaError : the action map raises an exception, or does not return a number
    """
    return [_crossing(action, value) for value in held.values]


def _crossing(action: Action, statistic: float) -> Crossing:
    decades = math.log10(FASTEST_MBPS / SLOWEST_MBPS)
    grid = [float(rate) for rate in np.geomspace(SLOWEST_MBPS, FASTEST_MBPS, round(decades * RATES_PER_DECADE))]

    def at(rate: float) -> float:
        try:
            value = float(action(rate, statistic))
        except Exception as error:
            where = f"rate {rate:g} Mbps and statistic {statistic:g}"
            raise CcaError(f"the action map failed at {where}: {describe_exception(error)}") from error
        if math.isnan(value):
            raise CcaError(f"the action map returned no number at rate {rate:g} Mbps and statistic {statistic:g}")
        return value

    signs = [math.copysign(1.0, value) if (value := at(rate)) else 0.0 for rate in grid]
    resting: list[float] = []
    repelling: list[float] = []
    moves = [i for i, sign in enumerate(signs) if sign]
    for i, j in pairwise(moves):
        if signs[i] == signs[j]:
            continue
        # If the action is zero in a range of rates, the CCA does not change its rate there; the middle represents the
        # range.
        if j > i + 1:
            rate = math.sqrt(grid[i + 1] * grid[j - 1])
        else:
            rate = float(brentq(lambda rate: _bounded(at(rate)), grid[i], grid[j], rtol=1e-9))
        (resting if signs[i] > 0.0 else repelling).append(rate)
    return Crossing(statistic, tuple(resting), tuple(repelling))


def _bounded(value: float) -> float:
    """Return the action, limited to +-10^12, because the root search requires finite values."""
    return max(-1e12, min(value, 1e12))


def load_action(name: str) -> Action | None:
    """Return the function that ``file.py:function`` or ``module:function`` refers to; None if it is a class.

    Raises
    ------
    CcaError : the file, module or function does not exist
    """
    where, attribute, module = load_module(name)
    found = getattr(module, attribute, None)
    if isinstance(found, type):
        return None
    if not callable(found):
        raise CcaError(
            f"no function `{attribute}` in `{where}`",
            hint=f"define `def {attribute}(rate_mbps, statistic):`, positive if the CCA increases its rate",
            cca=name,
        )
    return found  # type: ignore[no-any-return]
