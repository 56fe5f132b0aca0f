"""Several flows in one first-in first-out queue: order of service (starvation paper, appendix C).

Exactly, S_i(t) = A_i(t') for the t' with S(t) = A(t'), a product of unknowns. Between two sample points the order of
arrivals is open instead: if the last byte served had arrived by t - k, then no flow has been served more than it had
sent by then, and if not, every flow has been served at least that. This admits every true order and some that are not.
"""

from __future__ import annotations

from collections.abc import Sequence

import z3

from fairweir.formal.encoding.system import Curve, System, less, rising


def in_order(system: System, output: Curve, shares: Sequence[Curve]) -> list[z3.BoolRef]:
    """Return the constraints that a queue's output is its flows' bytes in their order of arrival.

    Parameters
    ----------
    output : cumulative bytes out of the queue, all flows
    shares : the same per flow
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
