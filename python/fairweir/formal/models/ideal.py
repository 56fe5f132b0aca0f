"""The ideal link: a queue with rate C, without jitter (thesis section 2.3).

S(t) = min(S(t-1) + C, A(t) - L(t-1)): bytes that arrive in a step can be served in it, before any is dropped.
"""

from __future__ import annotations

from collections.abc import Sequence

import z3

from fairweir.documents.arguments import words_for_enums
from fairweir.formal.encoding.buffers import Buffer
from fairweir.formal.encoding.grid import Grid
from fairweir.formal.encoding.system import Acks, Sender, System, is_min, less
from fairweir.formal.models.delay import delays
from fairweir.formal.models.fifo import in_order
from fairweir.formal.models.loss import tail_drop


@words_for_enums
def build(
    grid: Grid, buffer: Buffer, senders: Sequence[Sender] = (Sender.RATE,), acks: Acks = Acks.MAY_PAUSE
) -> System:
    """Build the model; D is 0, independent of the grid."""
    system = System("ideal", grid.without_jitter(), buffer, senders)
    system.require("service", *service(system))
    system.require("loss", *tail_drop(system))
    if len(system.flows) > 1:
        system.require("order", *in_order(system, system.S, [flow.S for flow in system.flows]))
    for i, flow in enumerate(system.flows):
        system.require("delay", *delays(system, flow, i if len(system.flows) > 1 else None))
    return system


def service(system: System) -> list[z3.BoolRef]:
    """Return the service: all queued data, up to C per step."""
    out = [system.S[0] <= system.accepted(0)]
    for t in range(1, system.grid.points):
        there = less(system.A[t], system.L[t - 1])
        out += is_min(system.S[t], [system.S[t - 1] + system.grid.step, there])
    return out
