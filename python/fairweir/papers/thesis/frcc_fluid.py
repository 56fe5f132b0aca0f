"""FRCC in a fluid model of any network of links: no packets, no noise, and no overlap of probes (thesis 7.5.5, D.4).

The module computes the throughputs and queueing delays at which FRCC's updates no longer change the windows. Windows
are fixed between updates, so the queues converge to values at which every link with a queue is fully used. These values
are the queueing delays q >= 0 that minimize the convex function

    sum over links of rate_l q_l  -  sum over flows of w_i log(R_i + queueing delay of i's path),

whose derivative with respect to q_l is the unused capacity of link l. A flow's probe changes only that flow's window.
The *excess delay* that the flow measures is the change of the queueing delay of its path. On some links of the path the
queueing delay may decrease during the probe.

Symbols: rate_l, rate of link l; w_i, window of flow i; R_i, its round-trip propagation delay; RTT_i, its RTT; q_l,
queueing delay of link l; theta, the queueing delay per flow at which FRCC aims; N_T, queueing delay of the flow's path
/ theta; gamma D, a constant time: a probe raises the window by N_T gamma D times the flow's rate; N_C = N_T gamma D /
excess delay, the flow's estimate of the number of flows; N_G, number of flows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

Vector = Any
"""An array of floats."""

#: FRCC's default theta and gamma D, ms (paper section 7).
THETA_MS: Final = 10.0
GAMMA_D_MS: Final = 40.0
_NEWTON_STEPS: Final = 200
_ROUNDS: Final = 20_000
#: If a full link's unused capacity, relative to its rate, is at most this value, it counts as rounding error.
_FULL: Final = 2e-13
#: A queueing delay below this many theta counts as an empty queue.
_EMPTY: Final = 1e-12
#: Newton's method starts from queueing delays of at least this many theta, because an empty queue would stay empty.
_RESTART: Final = 1e-3


class NoFixedPointError(ArithmeticError):
    """The windows did not converge."""


@dataclass(frozen=True)
class Network:
    """Links of rate 1, and the flows over them.

    Attributes
    ----------
    rtprops : array, round-trip propagation delay of each flow, in any unit of time
    routes : array of 0 and 1, flows x links; row i has a 1 for each link that flow i crosses
    theta, gamma_d : FRCC's theta and gamma D, in the unit of `rtprops`
    """

    rtprops: Vector
    routes: Vector
    theta: float = THETA_MS
    gamma_d: float = GAMMA_D_MS

    def settle(self, windows: Vector, start: Vector | None = None) -> Vector:
        """Return the queueing delay of each link, by Newton's method on the nonempty queues.

        Parameters
        ----------
        windows : array, one per flow, as a multiple of the links' rate times the unit of `rtprops`
        start : array, the initial guess of the queueing delays
        """
        q = np.full(self.routes.shape[1], self.theta) if start is None else start.copy()
        for _ in range(_NEWTON_STEPS):
            rtts = self.rtprops + self.routes @ q
            lack = 1 - self.routes.T @ (windows / rtts)
            free = (q > 0) | (lack < 0)
            if np.max(np.abs(lack[free]), initial=0.0) < _FULL:
                return q
            curvature = (self.routes.T * (windows / rtts**2)) @ self.routes
            move = np.zeros_like(q)
            move[free] = np.linalg.solve(curvature[np.ix_(free, free)], -lack[free])
            # A step reduces a delay at most to a tenth, because far from the solution Newton's steps are too long.
            q = np.maximum(q + move, 0.1 * q)
            q[q < _EMPTY * self.theta] = 0.0
        raise NoFixedPointError("queues do not settle")

    def rates(self, windows: Vector, q: Vector) -> Vector:
        """Return each flow's throughput, as a multiple of the links' rate."""
        return windows / (self.rtprops + self.routes @ q)

    def excess_delay(self, windows: Vector, q: Vector, flow: int) -> float:
        """Return the increase of a flow's path delay while it probes alone."""
        n_t = self.routes[flow] @ q / self.theta
        probing = windows.copy()
        probing[flow] += n_t * self.rates(windows, q)[flow] * self.gamma_d
        return float(self.routes[flow] @ (self.settle(probing, q) - q))

    def flow_counts(self, windows: Vector, q: Vector) -> tuple[Vector, Vector]:
        """Return every flow's N_C and N_T."""
        n_t = self.routes @ q / self.theta
        excess = np.array([self.excess_delay(windows, q, flow) for flow in range(len(windows))])
        return n_t * self.gamma_d / excess, n_t

    def fixed_point(self, weight: float = 0.5) -> tuple[Vector, Vector]:
        """Run rounds of FRCC until the windows converge, and return the throughputs and queueing delays.

        A round replaces a window w_i by (1 - `weight`) w_i + `weight` w_i (R_i + theta N_C)/(R_i + theta N_T).

        Raises
        ------
        NoFixedPointError : the windows do not converge
        """
        windows = (self.rtprops + self.theta * len(self.rtprops)) / len(self.rtprops)
        q = self.settle(windows)
        for _ in range(_ROUNDS):
            n_c, n_t = self.flow_counts(windows, q)
            target = windows * (self.rtprops + self.theta * n_c) / (self.rtprops + self.theta * n_t)
            updated = (1 - weight) * windows + weight * target
            q = self.settle(updated, np.maximum(q, _RESTART * self.theta))
            if np.max(np.abs(updated / windows - 1)) < 1e-12:
                return self.rates(updated, q), q
            windows = updated
        raise NoFixedPointError(f"windows do not converge in {_ROUNDS} rounds")


def one_link(rtprops: list[float], theta: float = THETA_MS, gamma_d: float = GAMMA_D_MS) -> Network:
    """Return the network of flows with these propagation delays on one link."""
    return Network(np.array(rtprops, float), np.ones((len(rtprops), 1)), theta, gamma_d)


def parking_lot(
    hops: int, long_rtprop: float, short_rtprop: float, theta: float = THETA_MS, gamma_d: float = GAMMA_D_MS
) -> Network:
    """Return a parking lot: the first flow crosses all `hops` links, and one more flow crosses each link."""
    routes = np.vstack([np.ones((1, hops)), np.eye(hops)])
    return Network(np.array([long_rtprop, *[short_rtprop] * hops]), routes, theta, gamma_d)


def shares_of_one_link(rtprops: list[float], theta: float = THETA_MS, gamma_d: float = GAMMA_D_MS) -> Vector:
    """Return the throughputs at the fixed point on one link: they are proportional to RTT_i + gamma D.

    At the fixed point N_C = N_T for every flow, so every flow measures the excess delay gamma D. The equation for the
    delay during flow i's probe then implies that the throughput of flow i is proportional to RTT_i + gamma D. The sum
    of these equations over all flows implies N_T = N_G, so RTT_i = R_i + N_G theta. ``algebra.py`` derives both
    results.
    """
    weights = np.array(rtprops, float) + len(rtprops) * theta + gamma_d
    return weights / weights.sum()
