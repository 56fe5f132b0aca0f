"""Constraints on losses at a full buffer, and on the bottleneck's queue at the start of a trace.

Symbols: A, L, Ld: cumulative bytes sent, lost, and known to be lost by their sender, at sample point t. TA: cumulative
bytes that have left the bottleneck's queue or, on a CCAC link (a token bucket with jitter), the tokens admitted. beta:
size of the buffer. R: round-trip propagation delay, after which a sender knows of a loss.

A trace is the value of each curve at each sample point; a step is the time between two points.
"""

from __future__ import annotations

import z3

from fairweir.formal.encoding.system import System


def tail_drop(system: System) -> list[z3.BoolRef]:
    """Return the constraints on losses: exactly the bytes that exceed the buffer are lost.

    If A(t) - L(t-1) > TA(t) + beta, then A(t) - L(t) = TA(t) + beta. Otherwise L(t) = L(t-1). If the sender does not
    know of some losses at t = 0, these losses happened in the last R before t = 0. If a step is one R long, the buffer
    is then full at t = 0. If a step is shorter, the buffer was full at some point of the last R, which the
    constraints do not express.
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
