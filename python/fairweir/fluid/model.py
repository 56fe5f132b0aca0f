"""The fluid model of weighted AIMD flows on one link (WCC paper, equations 3 and 4).

Units: time in R* = d + K/C, the RTT with a full buffer K; windows in packets. The queue is q = (queue - K)/(C R*), so
that q = 0 is a full buffer. Every packet that arrives at a full buffer is lost; its sender learns of the loss one R*
later:

    W_i'(t) = A_i/(1 + q(t)) - B_i W_i(t) W_i(t-1)/(1 + q(t-1)) [q(t-1) > 0]
    q'(t)   = (sum of W_i(t))/(wbar (1 + q(t))) - 1,     q >= -psi/(1 + psi)

wbar = C d + K is the number of packets in flight with a full buffer, psi = K/(C d) the buffer divided by the BDP, and
1 + q the RTT divided by R*.

Source: WCC paper section III.B; docs/ccas/waimd.md has the schemes.
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
    min_weight : float, exclusive lower bound on weights; at this weight a loss would reduce cwnd to 0
    """

    increase: Callable[[float], float]
    decrease: Callable[[float], float]
    min_weight: float = 0.0


#: The schemes by the controllers' names; wcc_ai is equation (3), wcc_md equation (4).
SCHEMES: Final = {
    "wcc_ai": Scheme(lambda weight: weight, lambda _: 0.5),
    "wcc_md": Scheme(lambda _: 1.0, lambda weight: 0.5 / weight, 0.5),
    "multcp": Scheme(lambda weight: weight, lambda weight: 0.5 / weight, 0.5),
    "ewtcp": Scheme(lambda weight: weight**2, lambda _: 0.5),
}


@dataclass(frozen=True)
class Fluid:
    """Flows of one scheme on one link.

    Attributes
    ----------
    increase, decrease : array of one number per flow, A_i and B_i
    wbar : float, packets
    psi : float, buffer / BDP; inf is a link without propagation delay, on which the queue never empties
    """

    increase: Vector
    decrease: Vector
    wbar: float
    psi: float = math.inf

    @property
    def floor(self) -> float:
        """The value of q for an empty queue."""
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
        """Whether the windows have a fixed point, which requires q >= 0 there, as packets must be lost."""
        return self.wbar <= self.threshold

    @property
    def fixed_point(self) -> Vector:
        """The fixed point: windows, then q."""
        return np.append(self.resting_windows, self.threshold / self.wbar - 1)

    def slope(self, state: Vector, past: Vector | None) -> Vector:
        """Return the right-hand side.

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
        """Return the derivative of :meth:`slope` with respect to `state`, for a given past."""
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
    """Return the model of flows with these weights.

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
