"""The order of service of several flows in one first-in, first-out queue (starvation paper, appendix C).

The exact relation is S_i(t) = A_i(t') for the t' with S(t) = A(t'), a product of unknowns. The encoding relaxes it: if
the last byte served had arrived by t - k, no flow has been served more than it had sent by t - k; otherwise, each flow
has been served at least that. The relaxation admits every first-in, first-out order and some other orders.
"""

from __future__ import annotations

from collections.abc import Sequence

import z3

from fairweir.formal.encoding.system import Curve, System, less, rising


def in_order(system: System, output: Curve, shares: Sequence[Curve]) -> list[z3.BoolRef]:
    """Return the constraints by which a queue's output is the flows' bytes in order of arrival.

    Parameters
    ----------
    output : cumulative bytes out of the queue, all flows
    shares : cumulative bytes out of the queue, for each flow
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
