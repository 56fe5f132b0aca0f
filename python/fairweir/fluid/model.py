"""The fluid model of weighted AIMD flows on one link (WCC paper, equations 3 and 4).

Symbols: C, link rate; d, round-trip propagation delay; K, buffer in packets; R* = d + K/C, the RTT when the buffer is
full; W_i, flow i's window in packets; A_i, its increase per RTT in packets; B_i, the fraction of the window by which a
loss reduces it; wbar = C d + K, the number of packets in flight when the buffer is full; psi = K/(C d), the buffer
divided by the BDP.

The unit of time is R*. The queue enters as q = (queue - K)/(C R*), so q = 0 is a full buffer, and 1 + q is the RTT
divided by R*. While q > 0, every packet that arrives is lost; its sender learns of the loss one R* later:

    W_i'(t) = A_i/(1 + q(t)) - B_i W_i(t) W_i(t-1)/(1 + q(t-1)) [q(t-1) > 0]
    q'(t)   = (sum of W_i(t))/(wbar (1 + q(t))) - 1,     q >= -psi/(1 + psi)

The bracket is 1 if its condition is true, otherwise 0. Source: WCC paper, section III.B; docs/ccas/waimd.md describes
the schemes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from fairweir.errors import ConfigError

Vector = Any
"""An array of floats."""


@dataclass(frozen=True)
class Scheme:
    """A way to implement weights in AIMD.

    Attributes
    ----------
    increase : function from a weight to A, the increase of cwnd per RTT, packets
    decrease : function from a weight to B, the fraction of cwnd by which a loss reduces it
    min_weight : float; weights must be larger. At exactly this weight a loss would reduce cwnd to 0
    """

    increase: Callable[[float], float]
    decrease: Callable[[float], float]
    min_weight: float = 0.0


#: The schemes by the names of their controllers; wcc_ai is equation (3), wcc_md is equation (4).
SCHEMES: Final = {
    "wcc_ai": Scheme(lambda weight: weight, lambda _: 0.5),
    "wcc_md": Scheme(lambda _: 1.0, lambda weight: 0.5 / weight, 0.5),
    "multcp": Scheme(lambda weight: weight, lambda weight: 0.5 / weight, 0.5),
    "ewtcp": Scheme(lambda weight: weight**2, lambda _: 0.5),
}


@dataclass(frozen=True)
class Fluid:
    """The fluid model of flows of one scheme on one link.

    Attributes
    ----------
    increase, decrease : array of one number per flow, A_i and B_i
    wbar : float, packets
    psi : float, buffer / BDP; inf stands for a link without propagation delay, on which the queue never empties
    """

    increase: Vector
    decrease: Vector
    wbar: float
    psi: float = math.inf

    @property
    def floor(self) -> float:
        """The value of q at which the queue is empty."""
        return -1.0 if math.isinf(self.psi) else -self.psi / (1 + self.psi)

    @property
    def threshold(self) -> float:
        """The largest wbar for which the windows have a fixed point, packets: the sum of sqrt(A_i/B_i)."""
        return float(self.resting_windows.sum())

    @property
    def resting_windows(self) -> Vector:
        """The windows at the fixed point, packets: sqrt(A_i/B_i)."""
        return np.sqrt(self.increase / self.decrease)

    @property
    def has_fixed_point(self) -> bool:
        """Whether the windows have a fixed point. At a fixed point packets must be lost, so q must be at least 0."""
        return self.wbar <= self.threshold

    @property
    def fixed_point(self) -> Vector:
        """The state at the fixed point: the windows in packets, followed by q."""
        return np.append(self.resting_windows, self.threshold / self.wbar - 1)

    def slope(self, state: Vector, past: Vector | None) -> Vector:
        """Return the derivative of the state with respect to time: the right-hand sides of the module's equations.

        Parameters
        ----------
        state : array of n windows and q
        past : the state one R* ago if packets were lost then, otherwise None
        """
        windows, rtt = state[:-1], 1 + state[-1]
        slope = np.empty_like(state)
        slope[:-1] = self.increase / rtt
        if past is not None:
            slope[:-1] -= self.decrease * windows * past[:-1] / (1 + past[-1])
        slope[-1] = windows.sum() / (self.wbar * rtt) - 1
        return slope

    def jacobian(self, state: Vector, past: Vector | None) -> Vector:
        """Return the Jacobian matrix of :meth:`slope` with respect to `state`; `past` is held constant."""
        windows, rtt = state[:-1], 1 + state[-1]
        size = len(state)
        matrix = np.zeros((size, size))
        matrix[:-1, -1] = -self.increase / rtt**2
        if past is not None:
            matrix[range(size - 1), range(size - 1)] = -self.decrease * past[:-1] / (1 + past[-1])
        matrix[-1, :-1] = 1 / (self.wbar * rtt)
        matrix[-1, -1] = -windows.sum() / (self.wbar * rtt**2)
        return matrix


def weighted(scheme: str, weights: Sequence[float], wbar: float, psi: float = math.inf) -> Fluid:
    """Return the fluid model of flows with the given weights.

    Parameters
    ----------
    scheme : str, a name in :data:`SCHEMES`
    weights : list of float, one per flow
    wbar : float, packets
    psi : float, buffer / BDP

    Raises
    ------
    ConfigError : unknown scheme, or an invalid number
    """
    if scheme not in SCHEMES:
        raise ConfigError(f"no fluid model for `{scheme}`", hint=f"models exist for {', '.join(SCHEMES)}")
    ways = SCHEMES[scheme]
    for weight in weights:
        if not (ways.min_weight < weight < math.inf):
            raise ConfigError(
                f"{scheme} needs weights above {ways.min_weight:g}: `{weight:g}`",
                hint="with smaller weights a loss would reduce cwnd to 0" if ways.min_weight else "",
            )
    if len(weights) < 1:
        raise ConfigError("weights are missing", hint="write one weight per flow: --weights 2,1")
    if not 0 < wbar < math.inf:
        raise ConfigError(
            f"wbar must be positive: `{wbar:g}`", hint="wbar is the number of packets in flight when the buffer is full"
        )
    if not psi > 0:
        raise ConfigError(
            f"psi must be positive: `{psi:g}`", hint="psi is buffer / BDP; leave it out for a deep buffer"
        )
    increase = np.array([ways.increase(weight) for weight in weights], float)
    decrease = np.array([ways.decrease(weight) for weight in weights], float)
    return Fluid(increase, decrease, wbar, psi)
