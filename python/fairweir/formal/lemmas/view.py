"""The quantities of a system at one point, as lemmas use them."""

from __future__ import annotations

import z3

from fairweir.formal.encoding.system import System
from fairweir.formal.lemmas.states import Snapshot

#: Quantities of the path that do not change between windows.
FIXED = frozenset({"alpha", "beta"})


def snapshot(system: System, t: int, flow: int = 0) -> Snapshot:
    """Return the quantities at a point by name; data in C R, rates in C.

    ``queue``: all waiting bytes; ``bq``: bytes that wait for the link's capacity; ``inflight``: bytes neither
    acknowledged nor known to be lost; ``undetected``: lost bytes that the sender does not know to be lost; ``cwnd``,
    ``rate``: the flow's; ``shows``: 1 if the flow's delay shows the queue (:func:`delay_shows_queue`), else 0;
    ``alpha``, ``beta``: MSS and buffer; and the flow's beliefs under their names.

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

    If the delay of the bytes served last was less than k + 1 steps, the queued bytes were sent during the last k + 1
    steps and the steps of D in which service may have paused: queue <= 2 C (k + 1 + D). Values of k near the length of
    the trace are left out, because they imply nothing.

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
