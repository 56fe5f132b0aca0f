"""Integrate the fluid model in steps of at most one R*. Steps end where the right-hand side is discontinuous.

Symbols: R*, the RTT when the buffer is full, is the unit of time; q, the state of the queue, is above 0 while packets
are lost; W_i is flow i's window in packets. :mod:`fairweir.fluid.model` has the equations and their right-hand side.

A sender learns of a loss one R* after the loss. The losses that a sender learns of therefore begin one R* after q
crosses 0 upwards, and end one R* after q crosses 0 downwards. The integration locates every crossing, and ends a step
where a crossing takes effect. Within a step the right-hand side is smooth, so an adaptive Runge-Kutta method (DOP853)
has its full order.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from scipy.integrate import solve_ivp

from fairweir.fluid.model import Fluid, Vector

#: Relative and absolute tolerance of the integration.
_RTOL: Final = 1e-10
_ATOL: Final = 1e-12
#: A jump in a derivative causes a jump in the next higher derivative one R* later. Steps end at the first three such
#: jumps after a crossing; the jumps after those are negligible.
_ECHOES: Final = 3
#: Times that differ by less than this, in R*, count as equal.
_INSTANT: Final = 1e-9


class NoOrbitError(ArithmeticError):
    """The integration left the range in which the model is defined, or did not reach the required point."""


@dataclass(frozen=True)
class Crossing:
    """A time at which q crosses 0. Losses begin at an upward crossing, and end at a downward crossing.

    Attributes
    ----------
    t : float, in R*
    is_upward : bool
    """

    t: float
    is_upward: bool


@dataclass
class Past:
    """The state before time 0; times are in R*.

    Attributes
    ----------
    at : function from a time in [-1, 0] to windows and q; None if no packet was lost then, so that no value is needed
    crossings : list of Crossing within [-1, 0], in order
    was_full : bool, whether q > 0 at time -1
    """

    at: Callable[[float], Vector] | None = None
    crossings: list[Crossing] = field(default_factory=list)
    was_full: bool = False


@dataclass
class Orbit:
    """A solution from time 0 on.

    Attributes
    ----------
    fluid : Fluid, the model
    past : Past, the state before time 0
    starts, pieces : for each step, its start in R*, and the function from a time in the step to windows and q
    crossings : list of Crossing, including those of the past
    end, state : the time, in R*, up to which the solution is known, and the state at that time
    """

    fluid: Fluid
    past: Past
    starts: list[float] = field(default_factory=list)
    pieces: list[Callable[[float], Vector]] = field(default_factory=list)
    crossings: list[Crossing] = field(default_factory=list)
    end: float = 0.0
    state: Vector = None

    def at(self, t: float) -> Vector:
        """Return windows and q at a time between -1 and `end`, in R*."""
        if t < 0 or not self.starts:
            if self.past.at is None:
                raise NoOrbitError(f"the history has no value at t = {t:g}")
            return self.past.at(t)
        return self.pieces[bisect_right(self.starts, t) - 1](t)

    def is_losing(self, t: float) -> bool:
        """Return whether senders learn of losses just after `t`, that is, whether q was above 0 one R* before."""
        last = [crossing for crossing in self.crossings if crossing.t <= t - 1 + _INSTANT]
        return last[-1].is_upward if last else self.past.was_full

    def past_of(self, t: float) -> Vector | None:
        """Return the state one R* before `t`, or None if no packet was lost then."""
        return self.at(t - 1) if self.is_losing(t) else None

    def slope(self, t: float) -> Vector:
        """Return the derivative of the state at `t`; if the derivative jumps at `t`, the value after the jump."""
        slope = self.fluid.slope(self.at(t), self.past_of(t))
        if self.at(t)[-1] <= self.fluid.floor + _ATOL:
            slope[-1] = max(slope[-1], 0.0)
        return slope


def integrate(
    fluid: Fluid, state: Vector, past: Past | None = None, *, until: float, stops_forgetful: bool = False
) -> Orbit:
    """Integrate the fluid from time 0.

    Parameters
    ----------
    fluid : Fluid
    state : array, windows and q at time 0; q need not continue the past
    past : Past; default: no packet was lost before time 0
    until : float, end time in R*
    stops_forgetful : bool, whether to stop at the first upward crossing without a loss within the last R* before it

    Raises
    ------
    NoOrbitError : the differential equations' solver fails
    """
    past = past or Past()
    orbit = Orbit(fluid, past, crossings=list(past.crossings), state=np.array(state, float))
    was_full = past.crossings[-1].is_upward if past.crossings else past.was_full
    fullness = orbit.state[-1] or fluid.slope(orbit.state, None)[-1]
    if was_full != (fullness > 0):
        orbit.crossings.append(Crossing(0.0, not was_full))
    is_empty = bool(orbit.state[-1] <= fluid.floor)
    while orbit.end < until - _INSTANT:
        is_empty, crossed = _step(orbit, until, is_empty)
        if stops_forgetful and crossed is not None and is_forgetful(orbit, crossed):
            orbit.end, orbit.state = crossed.t, orbit.at(crossed.t)
            break
    return orbit


def is_forgetful(orbit: Orbit, last: Crossing) -> bool:
    """Return whether the crossing `last` is upward, and no packet was lost within the last R* before it."""
    earlier = [crossing.t for crossing in orbit.crossings if crossing.t < last.t]
    return last.is_upward and (not earlier or last.t - earlier[-1] > 1.0)


def _step(orbit: Orbit, until: float, is_empty: bool) -> tuple[bool, Crossing | None]:
    """Integrate until the next time at which a derivative jumps.

    Returns
    -------
    (bool, Crossing) : whether the queue is empty at the end of the step, and the last crossing in the step, if any
    """
    fluid, start = orbit.fluid, orbit.end
    echoes = (crossing.t + k for crossing in orbit.crossings for k in range(1, 1 + _ECHOES))
    stop = min([until, start + 1.0, *(t for t in echoes if t > start + _INSTANT)])
    is_losing = orbit.is_losing(start)

    def slope(t: float, state: Vector) -> Vector:
        # A rounding error may make t - 1 exceed the end of the known solution.
        found = fluid.slope(state, orbit.at(min(t - 1, start)) if is_losing else None)
        if is_empty:
            found[-1] = 0.0
        return found

    def fullness(_: float, state: Vector) -> float:
        return float(state[-1])

    def end_of_mode(_: float, state: Vector) -> float:
        if is_empty:
            return float(fluid.slope(state, None)[-1])
        return 1.0 if math.isinf(fluid.psi) else float(state[-1] - fluid.floor)

    events: list[Any] = [fullness, end_of_mode]
    events[1].terminal = True
    events[1].direction = 1.0 if is_empty else -1.0
    found: Any = solve_ivp(
        slope, (start, stop), orbit.state, "DOP853", dense_output=True, events=events, rtol=_RTOL, atol=_ATOL
    )
    if not found.success:
        raise NoOrbitError(f"no solution beyond t = {start:g}: {found.message}")
    orbit.starts.append(start)
    orbit.pieces.append(found.sol)
    orbit.end, orbit.state = float(found.t[-1]), found.y[:, -1].copy()
    if found.status == 1:
        is_empty = not is_empty
        if is_empty:
            orbit.state[-1] = fluid.floor
    crossed = None
    for t in found.t_events[0]:
        if not orbit.crossings or t > orbit.crossings[-1].t + _INSTANT:
            crossed = Crossing(float(t), bool(fluid.slope(found.sol(t), None)[-1] > 0))
            orbit.crossings.append(crossed)
    return is_empty, crossed
