"""Constraints on the order of service: several flows in one first-in, first-out queue (starvation paper, appendix C).

Symbols: A_i and S_i, cumulative bytes sent by flow i and served to flow i, at a sample point; A and S, their sums over
all flows. The exact relation is S_i(t) = A_i(t') for the time t' with S(t) = A(t'), which is not linear in the unknown
curves. The constraints relax this relation: if the last byte served by t had arrived by t - k, each flow has been
served at most the bytes that it had sent by t - k; otherwise, at least these bytes. The relaxation allows every
first-in, first-out order and some other orders.

A trace is the value of each curve at each sample point; a step is the time between two points. A system is the
variables of a trace and the constraints on these variables, which form one question to a solver.
"""

from __future__ import annotations

from collections.abc import Sequence

import z3

from fairweir.formal.encoding.system import Curve, System, less, rising


def in_order(system: System, output: Curve, shares: Sequence[Curve]) -> list[z3.BoolRef]:
    """Return the constraints by which flows' bytes leave a queue in order of arrival.

    Parameters
    ----------
    system : System
    output : cumulative bytes of all flows that have left the queue
    shares : for each flow, its cumulative bytes that have left the queue
    """
    out: list[z3.BoolRef] = []
    for share in shares:
        out += rising(share)
    for t in range(system.grid.points):
        for k in range(t + 1):
            before = output[t] <= system.accepted(t - k)
            for flow, share in zip(system.flows, shares, strict=True):
                sent = less(flow.A[t - k], flow.L[t - k])
                out.append(z3.If(before, share[t] <= sent, share[t] >= sent))
    return out
