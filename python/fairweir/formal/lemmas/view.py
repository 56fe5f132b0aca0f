"""A lemma's view of a system at one point."""

from __future__ import annotations

import z3

from fairweir.formal.encoding.system import System
from fairweir.formal.lemmas.states import Snapshot

#: Quantities of the path that do not change between windows.
FIXED = frozenset({"alpha", "beta"})


def snapshot(system: System, t: int, flow: int = 0) -> Snapshot:
    """Return the quantities of a point by name, C R and C.

    ``queue``: all waiting bytes; ``bq``: those that wait for the link; ``inflight``: those neither acknowledged nor
    known to be lost; ``undetected``: losses not yet known; ``cwnd``, ``rate``: the flow's; its beliefs under their own
    names; ``shows``: 1 if its delay shows the queue (:func:`delay_shows_queue`), else 0; ``alpha``;
    ``beta``.

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
    """Return whether a flow that recently sent at most 2 C observes its queue in its delay.

    If the bytes served last waited less than k + 1 steps, then the queued data was sent in those steps, and in those of
    D in which service may have paused since: queue <= 2 C (k + 1 + D). Delays of almost the whole trace are not
    informative.

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
