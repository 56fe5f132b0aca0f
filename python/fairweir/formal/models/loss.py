"""Losses at a full buffer, and the initial state of the bottleneck's queue."""

from __future__ import annotations

import z3

from fairweir.formal.encoding.system import System


def tail_drop(system: System) -> list[z3.BoolRef]:
    """Return the constraints on losses: exactly the overflow of the buffer is lost.

    If A(t) - L(t-1) > TA(t) + beta, then A(t) - L(t) = TA(t) + beta; otherwise L(t) = L(t-1). Losses that are not yet
    detected at t = 0 happened in the last R. With one step per R, the buffer is therefore full at t = 0; with several
    steps, it was full at some point of the last R.
    """
    if system.beta is None:
        return []
    out = [system.bottleneck_queue(0) <= system.beta]
    if system.grid.r_steps == 1:
        out.append(z3.Implies(system.L[0] > system.Ld[0], system.bottleneck_queue(0) == system.beta))
    for t in range(1, system.grid.points):
        would_be = system.A[t] - system.L[t - 1] - system.TA[t]
        overflows = would_be > system.beta
        out.append(z3.Implies(overflows, system.bottleneck_queue(t) == system.beta))
        out.append(z3.Implies(z3.Not(overflows), system.L[t] == system.L[t - 1]))
    return out
