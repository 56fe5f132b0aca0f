"""The CCAC link for solvers: a token bucket whose tokens may be wasted, and a delay of up to D (thesis listing A.1).

Each token lets one byte pass. Symbols: C, link rate; R, round-trip propagation delay; D, maximum jitter; units are such
that C = R = 1. A, S, L: cumulative bytes sent, served and lost, at sample point t. W: cumulative tokens wasted. TA:
cumulative tokens admitted, which is C t - W(t) plus a constant, so 0 <= TA(t) - TA(t-1) <= C for steps of length 1. TA
replaces the listing's variables for tokens.

A trace is the value of each curve at each sample point; a step is the time between two points.
"""

from __future__ import annotations

import z3

from fairweir.formal.encoding.system import System, rising
from fairweir.formal.models.model import PacketPath
from fairweir.formal.models.shipped import Shipped


class Ccac(Shipped):
    """The CCAC link: a token bucket whose tokens may be wasted, and a delay of up to D (thesis listing A.1)."""

    name = "ccac"
    packets = PacketPath(varies=True)

    def constrain(self, system: System) -> None:
        """Add the constraints on tokens and service."""
        system.TA = system.reals("TA")
        system.require("tokens", *tokens(system))
        system.require("service", *service(system))


def tokens(system: System) -> list[z3.BoolRef]:
    """Return the constraints on tokens: C per step; fewer only if no bytes wait (thesis equations A.2.4, A.2.5)."""
    rate, out = system.grid.step, rising(system.TA)
    for t in range(1, system.grid.points):
        out.append(system.TA[t] <= system.TA[t - 1] + rate)
        out.append(z3.Or(system.TA[t] >= system.TA[t - 1] + rate, system.accepted(t) <= system.TA[t]))
    return out


def service(system: System) -> list[z3.BoolRef]:
    """Return the bounds on S: at most the bytes that have arrived, at most TA(t), and at least TA(t - D).

    See thesis equations A.2.1 to A.2.3. Before the trace, at most C tokens per step were admitted, so TA(t - D) >=
    TA(0) - C (D - t).
    """
    jitter, rate, out = system.grid.d_steps, system.grid.step, []
    for t in range(system.grid.points):
        out.append(system.S[t] <= system.accepted(t))
        out.append(system.S[t] <= system.TA[t])
        oldest = system.TA[t - jitter] if t >= jitter else system.TA[0] - (jitter - t) * rate
        out.append(system.S[t] >= oldest)
    return out
