"""Snapshots: the quantities of a flow and its link at one point of a trace, as the formulas of lemmas use them.

Symbols: C, link rate; R, round-trip propagation delay; D, maximum jitter; MSS, bytes of one packet. A system is the set
of constraints that all traces of a CCA on a network model satisfy. A flow's beliefs are bounds on the network's
parameters that the flow computes from what the flow observed. The units are such that C = R = 1.
"""

from __future__ import annotations

import z3

from fairweir.formal.encoding.system import System
from fairweir.formal.lemmas.states import Snapshot

#: Quantities of the path that do not change between windows.
FIXED = frozenset({"alpha", "beta"})


def snapshot(system: System, t: int, flow: int = 0) -> Snapshot:
    """Return the quantities at a point by name; data in C R, rates in C.

    ``queue``: bytes that wait for capacity or are delayed by jitter; ``bq``: bytes that wait for capacity;
    ``inflight``: bytes neither acknowledged nor known to be lost; ``undetected``: lost bytes that the sender does not
    know to be lost; ``cwnd``, ``rate``: limits of the sender; ``shows``: 1 if :func:`delay_shows_queue` holds, else 0;
    ``alpha``: MSS; ``beta``: buffer. Each belief of the flow is included under its own name.

    Parameters
    ----------
    system : System
    t : int, the point
    flow : int, index of the flow
    """
    own = system.flows[flow]
    seen = {
        "queue": system.queue(t),
        "bq": system.bottleneck_queue(t),
        "inflight": own.inflight(t),
        "undetected": system.L[t] - system.Ld[t],
        "alpha": system.alpha,
        "shows": z3.If(delay_shows_queue(system, t, flow), z3.RealVal(1), z3.RealVal(0)),
    }
    if system.beta is not None:
        seen["beta"] = system.beta
    if own.cwnd:
        seen["cwnd"] = own.cwnd[t]
    if own.rate:
        seen["rate"] = own.rate[t]
    return seen | {name: curve[t] for name, curve in own.beliefs.items()}


def delay_shows_queue(system: System, t: int, flow: int = 0) -> z3.BoolRef:
    """Return the constraint that the queue is no longer than the observed delay implies for a flow that sent at 2 C.

    Times are in steps between points. If the delay of the bytes served last was less than k + 1 steps, the queued bytes
    were sent during the last k + 1 steps or during the D steps in which service may have paused, so queue <= 2 C (k + 1
    + D). Values of k for which k + 1 + D exceeds the number of steps in the trace are left out.

    Parameters
    ----------
    system : System
    t : int, the point
    flow : int, index of the flow
    """
    grid = system.grid
    bits = system.flows[flow].delay[t]
    bounds = [
        z3.Or(bits[k + 1], system.queue(t) <= 2 * (k + 1 + grid.d_steps) * z3.Q(1, grid.per_r))
        for k in range(grid.points - 1 - grid.d_steps)
    ]
    return z3.And(*bounds)
