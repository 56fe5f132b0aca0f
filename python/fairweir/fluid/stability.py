"""Compute the stability of the fluid model's limit cycle: the published matrix, and exact multipliers.

Symbols: R*, the RTT when the buffer is full (the unit of time); q, the state of the queue, 0 when the buffer is full;
n, the number of flows; F, the right-hand side of the equations in :mod:`fairweir.fluid.model`; J_F, its Jacobian
matrix; I, the identity matrix; c, the row vector that selects q from a state. A *multiplier* is the factor by which a
perturbation changes in one period.

The matrix published in the WCC paper (theorem 1) treats delayed windows as constants. It also replaces the time-ordered
product of the Jacobians by the exponential of their integral, although the Jacobians do not commute. Neither
approximation is needed. The n windows at an upward crossing of q = 0 determine the windows at the next such crossing
(:func:`fairweir.fluid.cycle.next_return` computes this *return map*), so the multipliers are the eigenvalues of the n x
n derivative of the return map. :func:`history_multipliers` computes the multipliers by another method: it perturbs the
solution over an interval of one R*.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from scipy.integrate import quad_vec
from scipy.interpolate import BarycentricInterpolator
from scipy.linalg import expm
from scipy.optimize import brentq

from fairweir.fluid.cycle import Cycle, next_return
from fairweir.fluid.model import Fluid, Vector
from fairweir.fluid.orbit import Crossing, NoOrbitError, Past, integrate

#: Size of the perturbations: relative for windows; for a history, in the unit of the perturbed component.
_NUDGE: Final = 1e-4
_HISTORY_NUDGE: Final = 1e-5
#: Minimum distance of a solution from the cycle, packets. At smaller distances the cycle's numerical error dominates.
_VISIBLE: Final = 1e-6


def spectral_radius(matrix: Vector) -> float:
    """Return the largest absolute value of an eigenvalue."""
    return float(np.max(np.abs(np.linalg.eigvals(matrix))))


def published_matrix(cycle: Cycle) -> Vector:
    """Return the published matrix Z = (I - F c/(c F)) exp(integral of J_F over a period), at the downward crossing."""
    orbit, fluid = cycle.orbit, cycle.orbit.fluid

    def jacobian(t: float) -> Vector:
        return fluid.jacobian(orbit.at(t), orbit.past_of(t))

    integral: Vector
    integral, _ = quad_vec(jacobian, 0.0, cycle.period, epsrel=1e-7, points=orbit.starts[1:], limit=2000)
    flow = orbit.slope(cycle.downward)
    plane = np.zeros(len(flow))
    plane[-1] = 1.0
    return np.asarray((np.eye(len(flow)) - np.outer(flow, plane) / flow[-1]) @ expm(integral))


def return_matrix(cycle: Cycle) -> Vector:
    """Return the n x n derivative of the return map at the cycle's upward crossing of q = 0, by central differences."""
    windows = cycle.start[:-1]
    columns = []
    for i, window in enumerate(windows):
        nudge = np.zeros_like(windows)
        nudge[i] = _NUDGE * window
        after, before = (next_return(cycle.orbit.fluid, windows + side * nudge).state[:-1] for side in (1, -1))
        columns.append((after - before) / (2 * _NUDGE * window))
    return np.array(columns).T


def history_multipliers(cycle: Cycle, nodes: int = 10) -> Vector:
    """Return the largest multipliers of perturbations of the solution over an interval of one R* (a *history*).

    The history from 1 R* to 2 R* after the upward crossing is smooth. It is perturbed by polynomials through `nodes`
    Chebyshev points. The solution that follows is evaluated one period later.

    Parameters
    ----------
    cycle : Cycle
    nodes : int, number of Chebyshev points per component

    Returns
    -------
    array, absolute values: first the multiplier of a perturbation along the cycle (1), then the others, descending
    """
    orbit, fluid = cycle.orbit, cycle.orbit.fluid
    size = len(cycle.start)
    places = -0.5 - 0.5 * np.cos(np.pi * np.arange(nodes) / (nodes - 1))
    long = integrate(fluid, cycle.start, until=3.0)

    def read_after(component: int, node: int, nudge: float) -> Vector:
        hat = BarycentricInterpolator(places, np.eye(nodes)[node])

        def history(t: float) -> Vector:
            state = long.at(t + 2.0).copy()
            state[component] += nudge * float(hat(t))
            return state

        def q(t: float) -> float:
            return float(history(t)[-1])

        past = Past(history, [], was_full=True)
        if q(0.0) < 0 < q(-1.0):
            past.crossings.append(Crossing(float(brentq(q, -1.0, 0.0, xtol=1e-14)), is_upward=False))
        later = integrate(fluid, history(0.0), past, until=cycle.period)
        return np.concatenate([later.at(cycle.period + t) for t in places])

    if cycle.period < 3.0 or orbit.crossings[1].t <= 1.0:
        raise NoOrbitError("the history after the first losses is not smooth")
    columns = [
        (read_after(component, node, _HISTORY_NUDGE) - read_after(component, node, -_HISTORY_NUDGE))
        / (2 * _HISTORY_NUDGE)
        for node in range(nodes)
        for component in range(size)
    ]
    values = np.abs(np.linalg.eigvals(np.array(columns).T))
    trivial = int(np.argmin(np.abs(values - 1)))
    return np.append(values[trivial], np.sort(np.delete(values, trivial))[::-1])


def decay(cycle: Cycle, returns: int = 3, nudge: float = 0.01) -> float:
    """Return the factor by which a perturbation of the first window changes per return, as a geometric mean over
    `returns` returns. `nudge` is the perturbation's relative size.
    """
    windows = cycle.start[:-1].copy()
    rest = windows.copy()
    windows[0] *= 1 + nudge
    first = np.linalg.norm(windows - rest)
    for _ in range(returns):
        windows = next_return(cycle.orbit.fluid, windows).state[:-1]
    return float((np.linalg.norm(windows - rest) / first) ** (1 / returns))


def return_decay(cycle: Cycle, returns: int = 24, nudge: float = 1e-3) -> float:
    """Return the factor by which a perturbation changes per period, if packets are lost shortly before the cycle
    begins.

    The first window is perturbed at time 0. At the start of each later period the windows are compared with those of
    the cycle, until the difference is below :data:`_VISIBLE`. The factor is the geometric mean over the later half of
    the compared periods. In these periods only the most slowly decaying part of the perturbation remains.
    """
    fluid, start = cycle.orbit.fluid, cycle.start
    state = start.copy()
    state[0] *= 1 + nudge
    orbit = integrate(fluid, state, cycle.orbit.past, until=(returns + 0.5) * cycle.period)
    rises = [crossing.t for crossing in orbit.crossings if crossing.is_upward and crossing.t > 0]
    gaps = [float(np.linalg.norm(orbit.at(t)[:-1] - start[:-1])) for t in rises[cycle.rises - 1 :: cycle.rises]]
    seen = [gap for gap in gaps if gap > _VISIBLE]
    if len(seen) < 2:
        return float(gaps[0] / (nudge * start[0]))
    first = (len(seen) - 1) // 2
    return float((seen[-1] / seen[first]) ** (1 / (len(seen) - 1 - first)))


def rest_multiplier(fluid: Fluid, nodes: int = 16) -> float:
    """Return the factor by which a perturbation of the fixed point changes in one R*.

    The factor is exp of the real part of the rightmost characteristic root of the linearized equation
    x' = A x(t) + B x(t-1), where x is the perturbation, and A and B are the Jacobians for the present and the delayed
    state. The roots are computed by Chebyshev collocation over the delay, with `nodes` intervals.
    """
    rest = fluid.fixed_point
    size = len(rest)
    by_past = np.zeros((size, size))
    windows, rtt = rest[:-1], 1 + rest[-1]
    by_past[range(size - 1), range(size - 1)] = -fluid.decrease * windows / rtt
    by_past[:-1, -1] = fluid.decrease * windows**2 / rtt**2
    points = np.cos(np.pi * np.arange(nodes + 1) / nodes)
    ends = np.where(np.isin(np.arange(nodes + 1), (0, nodes)), 2.0, 1.0) * (-1.0) ** np.arange(nodes + 1)
    gaps = points[:, None] - points[None, :] + np.eye(nodes + 1)
    derivative = np.outer(ends, 1 / ends) / gaps
    derivative -= np.diag(derivative.sum(axis=1))
    generator = np.kron(2 * derivative, np.eye(size))
    generator[:size] = 0.0
    generator[:size, :size] = fluid.jacobian(rest, rest)
    generator[:size, -size:] += by_past
    return float(np.exp(np.max(np.linalg.eigvals(generator).real)))
