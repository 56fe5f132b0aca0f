"""Where the fluid goes: the fixed point, or the limit cycle, and what each flow gets (WCC paper, section III.C)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.integrate import quad_vec

from fairweir.fluid.model import Fluid, Vector
from fairweir.fluid.orbit import NoOrbitError, Orbit, integrate

#: Windows of two returns that differ by less, relative, are those of the cycle.
_SAME: Final = 1e-9
_RETURNS: Final = 200
_PATIENCE: Final = 10_000.0


@dataclass(frozen=True)
class Cycle:
    """A limit cycle, from one upward crossing of q = 0 to the next.

    Attributes
    ----------
    orbit : Orbit over the period
    period : float, in R*
    downward : float; when q falls below 0 for the last time, in R*
    rises : int; how often q rises above 0 in a period
    """

    orbit: Orbit
    period: float
    downward: float
    rises: int

    @property
    def start(self) -> Vector:
        """Windows and q = 0 at time 0."""
        return self.orbit.at(0.0)


def limit_cycle(fluid: Fluid) -> Cycle:
    """Follow returns to q = 0, upwards, until they repeat.

    Raises
    ------
    NoOrbitError : windows rest instead, or nothing repeats
    """
    if fluid.has_fixed_point:
        raise NoOrbitError(f"windows rest at wbar = {fluid.wbar:g}: it is at most {fluid.threshold:g}")
    windows = fluid.resting_windows * 1.2 * fluid.wbar / fluid.threshold
    for _ in range(_RETURNS):
        orbit = next_return(fluid, windows)
        reached = orbit.state[:-1]
        if np.max(np.abs(reached / windows - 1)) < _SAME:
            rises = sum(crossing.is_upward for crossing in orbit.crossings) - 1
            return Cycle(orbit, orbit.end, orbit.crossings[-2].t, rises)
        windows = reached
    raise NoOrbitError(f"no cycle after {_RETURNS} returns")


def next_return(fluid: Fluid, windows: Vector) -> Orbit:
    """Start at q = 0 upwards, nothing lost for one delay before, and end at the next such crossing.

    With nothing lost before, the past is of no consequence: `windows` alone decide. So the return map acts on n
    windows, although the equations have a delay. On the way q may rise above 0 more than once.

    Raises
    ------
    NoOrbitError : q does not come back so
    """
    orbit = integrate(fluid, np.append(windows, 0.0), until=_PATIENCE, stops_forgetful=True)
    if orbit.end >= _PATIENCE:
        raise NoOrbitError("q does not return to 0 with nothing lost for a delay before")
    return orbit


def throughputs(orbit: Orbit, end: float) -> Vector:
    """Give each flow's throughput by C: the mean of W_i/(wbar (1 + q)) over [0, end]."""

    def rate(t: float) -> Vector:
        state = orbit.at(t)
        return state[:-1] / (orbit.fluid.wbar * (1 + state[-1]))

    total, _ = quad_vec(rate, 0.0, end, epsrel=1e-8, points=orbit.starts[1:], limit=2000)
    return np.asarray(total) / end
