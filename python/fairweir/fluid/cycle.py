"""Compute the long-run behavior of the fluid model: a fixed point or a limit cycle, and throughputs.

Symbols: C, the link rate; R*, the RTT when the buffer is full (the unit of time); wbar, the packets in flight when the
buffer is full; q, the state of the queue (0: the buffer is full, above 0: arriving packets are lost); W_i, flow i's
window. :mod:`fairweir.fluid.model` has the equations. Source: WCC paper, section III.C.

A *return* is the part of a solution from one upward crossing of q = 0 to a later one. A crossing is *forgetful* if no
packet was lost within the last R* before the crossing, so that only the windows at the crossing affect the future.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.integrate import quad_vec

from fairweir.fluid.model import Fluid, Vector
from fairweir.fluid.orbit import Crossing, NoOrbitError, Orbit, Past, integrate

#: If the windows at two crossings differ by less than this, relatively, they count as equal.
_SAME: Final = 1e-9
#: Maximum number of returns before the search for a limit cycle fails.
_RETURNS: Final = 200
#: A return takes between 0.2 wbar and 0.35 wbar, in R*. Its integration ends after 50 R* plus 5 R* per packet of wbar.
_TIMEOUT: Final = 50.0
_TIMEOUT_A_PACKET: Final = 5.0
#: Maximum number of upward crossings per period in a cycle whose crossings are not forgetful.
_MAX_RISES: Final = 6


@dataclass(frozen=True)
class Cycle:
    """One period of a limit cycle. The period starts and ends at an upward crossing of q = 0.

    Attributes
    ----------
    orbit : Orbit, the solution over one period
    period : float, in R*
    downward : float, the last time in the period at which q falls below 0, in R*
    rises : int, number of times in a period at which q rises above 0
    is_forgetful : bool, whether no packet was lost within the last R* before the cycle begins, so that the cycle's
        initial windows alone determine the cycle
    """

    orbit: Orbit
    period: float
    downward: float
    rises: int
    is_forgetful: bool = True

    @property
    def start(self) -> Vector:
        """The state at time 0: the windows in packets, followed by q = 0."""
        return self.orbit.at(0.0)


def limit_cycle(fluid: Fluid) -> Cycle:
    """Integrate from upward crossing to upward crossing of q = 0 until the windows at two successive crossings are
    equal.

    Raises
    ------
    NoOrbitError : the windows converge to a fixed point, or the windows do not repeat
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
    """Find a cycle in which packets are lost within one R* before every upward crossing. For wbar near the threshold,
    cycles have this property.

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
    """Return the number of upward crossings after which the windows repeat, or None if they do not repeat yet."""
    last = orbit.at(rises[-1])[:-1]
    for count in range(1, min(_MAX_RISES, len(rises) - 1) + 1):
        if np.max(np.abs(orbit.at(rises[-1 - count])[:-1] / last - 1)) < _SAME:
            return count
    return None


def _timeout(fluid: Fluid) -> float:
    return _TIMEOUT + _TIMEOUT_A_PACKET * fluid.wbar


def next_return(fluid: Fluid, windows: Vector) -> Orbit:
    """Integrate from one forgetful upward crossing of q = 0 to the next forgetful one.

    An upward crossing is forgetful if no packet was lost within the last R* before the crossing. The past then has no
    effect, and `windows` alone determine the solution. Therefore the map from one crossing to the next has only n
    arguments, the n flows' windows, although the equations have a delay. Between two forgetful crossings, q may also
    cross 0 upwards at other times.

    Parameters
    ----------
    windows : array, the windows at the first crossing, packets

    Raises
    ------
    NoOrbitError : no forgetful crossing follows
    """
    orbit = integrate(fluid, np.append(windows, 0.0), until=_timeout(fluid), stops_forgetful=True)
    if orbit.end >= _timeout(fluid) - 1e-6:
        raise NoOrbitError("q does not return to 0 after one delay without losses")
    return orbit


def throughputs(orbit: Orbit, end: float) -> Vector:
    """Return each flow's throughput divided by C: the mean of W_i/(wbar (1 + q)) over times from 0 to `end` (in R*)."""

    def rate(t: float) -> Vector:
        state = orbit.at(t)
        return state[:-1] / (orbit.fluid.wbar * (1 + state[-1]))

    total, _ = quad_vec(rate, 0.0, end, epsrel=1e-8, points=orbit.starts[1:], limit=2000)
    return np.asarray(total) / end
