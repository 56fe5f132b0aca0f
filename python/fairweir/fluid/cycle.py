"""Long-run behavior of the fluid: fixed point or limit cycle, and throughputs (WCC paper, section III.C)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.integrate import quad_vec

from fairweir.fluid.model import Fluid, Vector
from fairweir.fluid.orbit import Crossing, NoOrbitError, Orbit, Past, integrate

#: Relative difference below which the windows at two returns count as equal.
_SAME: Final = 1e-9
_RETURNS: Final = 200
#: A return takes between 0.2 wbar and 0.35 wbar (R*). The search ends after 50 R* plus 5 R* per packet of wbar.
_TIMEOUT: Final = 50.0
_TIMEOUT_A_PACKET: Final = 5.0
#: Maximum number of upward crossings per period in a cycle that is not forgetful.
_MAX_RISES: Final = 6


@dataclass(frozen=True)
class Cycle:
    """A limit cycle, from one upward crossing of q = 0 to the next.

    Attributes
    ----------
    orbit : Orbit, over one period
    period : float, in R*
    downward : float, the last time at which q falls below 0, in R*
    rises : int, number of times that q rises above 0 in a period
    is_forgetful : bool, no packet was lost for one delay before the cycle begins, so that its initial windows alone
        determine the cycle
    """

    orbit: Orbit
    period: float
    downward: float
    rises: int
    is_forgetful: bool = True

    @property
    def start(self) -> Vector:
        """The state at time 0: windows, and q = 0."""
        return self.orbit.at(0.0)


def limit_cycle(fluid: Fluid) -> Cycle:
    """Iterate over the upward crossings of q = 0 until the windows at a crossing equal those at the one before.

    Raises
    ------
    NoOrbitError : the windows converge to a fixed point, or they do not repeat
    """
    if fluid.has_fixed_point:
        raise NoOrbitError(f"windows are constant at wbar = {fluid.wbar:g}: it is at most {fluid.threshold:g}")
    windows = fluid.resting_windows * 1.2 * fluid.wbar / fluid.threshold
    for _ in range(_RETURNS):
        try:
            orbit = next_return(fluid, windows)
        except NoOrbitError:
            return _short_cycle(fluid, windows)
        reached = orbit.state[:-1]
        if np.max(np.abs(reached / windows - 1)) < _SAME:
            rises = sum(crossing.is_upward for crossing in orbit.crossings) - 1
            return Cycle(orbit, orbit.end, orbit.crossings[-2].t, rises)
        windows = reached
    raise NoOrbitError(f"no cycle after {_RETURNS} returns")


def _short_cycle(fluid: Fluid, windows: Vector) -> Cycle:
    """Find a cycle in which losses occur within one delay before every upward crossing, as for wbar near the threshold.

    Raises
    ------
    NoOrbitError : the windows do not repeat
    """
    for patience in (_timeout(fluid) * factor for factor in (4, 16)):
        long = integrate(fluid, np.append(windows, 0.0), until=patience)
        rises = [crossing.t for crossing in long.crossings if crossing.is_upward]
        count = _repeats_after(long, rises)
        if count is not None:
            break
    else:
        raise NoOrbitError(f"no cycle after {patience:.0f} R*")
    start = rises[-1 - count]
    recent = [Crossing(c.t - start, c.is_upward) for c in long.crossings if start - 1 <= c.t < start]
    past = Past(lambda t: long.at(start + t), recent, was_full=long.is_losing(start))
    period = rises[-1] - start
    orbit = integrate(fluid, long.at(start), past, until=period)
    downward = max(c.t for c in orbit.crossings if not c.is_upward and c.t > 0)
    return Cycle(orbit, period, downward, count, is_forgetful=False)


def _repeats_after(orbit: Orbit, rises: Sequence[float]) -> int | None:
    """Return the number of upward crossings after which the windows repeat; None if they do not repeat yet."""
    last = orbit.at(rises[-1])[:-1]
    for count in range(1, min(_MAX_RISES, len(rises) - 1) + 1):
        if np.max(np.abs(orbit.at(rises[-1 - count])[:-1] / last - 1)) < _SAME:
            return count
    return None


def _timeout(fluid: Fluid) -> float:
    return _TIMEOUT + _TIMEOUT_A_PACKET * fluid.wbar


def next_return(fluid: Fluid, windows: Vector) -> Orbit:
    """Integrate from one forgetful upward crossing of q = 0 to the next.

    An upward crossing is forgetful if no packet was lost for one delay before it. The past then has no effect, and
    `windows` alone determine the solution. The return map therefore acts on n windows, although the equations have a
    delay. Between two forgetful crossings q may cross 0 upwards at other times.

    Parameters
    ----------
    windows : array, the windows at the first crossing, packets

    Raises
    ------
    NoOrbitError : there is no further forgetful crossing
    """
    orbit = integrate(fluid, np.append(windows, 0.0), until=_timeout(fluid), stops_forgetful=True)
    if orbit.end >= _timeout(fluid) - 1e-6:
        raise NoOrbitError("q does not return to 0 after one delay without losses")
    return orbit


def throughputs(orbit: Orbit, end: float) -> Vector:
    """Return each flow's throughput divided by C: the mean of W_i/(wbar (1 + q)) over [0, end]."""

    def rate(t: float) -> Vector:
        state = orbit.at(t)
        return state[:-1] / (orbit.fluid.wbar * (1 + state[-1]))

    total, _ = quad_vec(rate, 0.0, end, epsrel=1e-8, points=orbit.starts[1:], limit=2000)
    return np.asarray(total) / end
