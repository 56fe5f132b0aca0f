"""Integration of the fluid model: steps of at most the delay, split where the right-hand side is discontinuous.

Losses begin and end one delay after q crosses 0, so every crossing is located and the next steps end where its delayed
effects arrive: within a step the right-hand side is smooth, and an adaptive Runge-Kutta method (DOP853) keeps its
order.
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

#: Of the integration; relative and absolute (windows in packets).
_RTOL: Final = 1e-10
_ATOL: Final = 1e-12
#: A jump in the first derivative becomes one in the second a delay later, and so on; later ones are negligible.
_ECHOES: Final = 3
#: Times closer than this are equal.
_INSTANT: Final = 1e-9


class NoOrbitError(ArithmeticError):
    """The integration went where the model has no meaning, or did not arrive."""


@dataclass(frozen=True)
class Crossing:
    """Where q crosses 0: losses begin (upward) or end, as their senders learn one delay later."""

    t: float
    is_upward: bool


@dataclass
class Past:
    """The state before time 0.

    Attributes
    ----------
    at : function of t in [-1, 0], returns windows and q; None if no packet was lost then, so that it has no effect
    crossings : list of Crossing within [-1, 0], in order
    was_full : bool, q > 0 at time -1
    """

    at: Callable[[float], Vector] | None = None
    crossings: list[Crossing] = field(default_factory=list)
    was_full: bool = False


@dataclass
class Orbit:
    """A solution from time 0 on."""

    fluid: Fluid
    past: Past
    starts: list[float] = field(default_factory=list)
    pieces: list[Callable[[float], Vector]] = field(default_factory=list)
    crossings: list[Crossing] = field(default_factory=list)
    end: float = 0.0
    state: Vector = None

    def at(self, t: float) -> Vector:
        """Return windows and q at a time of [-1, end]."""
        if t < 0 or not self.starts:
            if self.past.at is None:
                raise NoOrbitError(f"the history has no value at t = {t:g}")
            return self.past.at(t)
        return self.pieces[bisect_right(self.starts, t) - 1](t)

    def is_losing(self, t: float) -> bool:
        """Whether senders learn of losses just after `t`: whether q was above 0 one delay ago."""
        last = [crossing for crossing in self.crossings if crossing.t <= t - 1 + _INSTANT]
        return last[-1].is_upward if last else self.past.was_full

    def past_of(self, t: float) -> Vector | None:
        """Return the past for the right-hand side at `t`: None while nothing was lost."""
        return self.at(t - 1) if self.is_losing(t) else None

    def slope(self, t: float) -> Vector:
        """Return the right-hand side at `t` (just after it, where it jumps)."""
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
    state : array, windows and q at time 0; q may jump there
    past : Past; default: nothing was lost before
    until : float, in R*
    stops_forgetful : bool; end at the first upward crossing before which nothing was lost for a delay

    Raises
    ------
    NoOrbitError : the solver gave up
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
    """Whether the past has no effect at an upward crossing, because nothing was lost for a delay."""
    earlier = [crossing.t for crossing in orbit.crossings if crossing.t < last.t]
    return last.is_upward and (not earlier or last.t - earlier[-1] > 1.0)


def _step(orbit: Orbit, until: float, is_empty: bool) -> tuple[bool, Crossing | None]:
    """Take a step to the next jump; return whether the queue is then empty, and the crossing in between."""
    fluid, start = orbit.fluid, orbit.end
    echoes = (crossing.t + k for crossing in orbit.crossings for k in range(1, 1 + _ECHOES))
    stop = min([until, start + 1.0, *(t for t in echoes if t > start + _INSTANT)])
    is_losing = orbit.is_losing(start)

    def slope(t: float, state: Vector) -> Vector:
        # The solver's last stage may be a rounding error beyond the known solution.
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
