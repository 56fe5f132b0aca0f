"""The CBR-delay link: a queue served at a constant rate, then a delay of up to D (thesis section 2.3, figure 2.3).

TA is the data that has left the queue. Unlike CCAC's tokens it is determined: TA(t) = min(TA(t-1) + C, A(t) - L(t)).
With several flows each has a delay of its own (starvation paper, section 3): its bytes leave the queue in order of
arrival, and its S_i is between the data that had left the queue D ago and that which has left now.
"""

from __future__ import annotations

from collections.abc import Sequence

import z3

from fairweir.documents.arguments import words_for_enums
from fairweir.formal.encoding.buffers import Buffer
from fairweir.formal.encoding.grid import Grid
from fairweir.formal.encoding.system import Acks, Curve, Sender, System, is_min
from fairweir.formal.models.delay import delays
from fairweir.formal.models.fifo import in_order
from fairweir.formal.models.loss import tail_drop


@words_for_enums
def build(
    grid: Grid, buffer: Buffer, senders: Sequence[Sender] = (Sender.RATE,), acks: Acks = Acks.MAY_PAUSE
) -> System:
    """Build the model."""
    system = System("cbr-delay", grid, buffer, senders, acks)
    shares = [system.reals("TA", i if len(senders) > 1 else None) for i in range(len(senders))]
    system.left = list(shares)
    system.TA = shares[0] if len(shares) == 1 else [z3.Sum(column) for column in zip(*shares, strict=True)]
    system.require("queue", *queue(system))
    for flow, left in zip(system.flows, shares, strict=True):
        system.require("jitter", *jitter(system, left, flow.S))
    system.require("loss", *tail_drop(system))
    if len(shares) > 1:
        system.require("order", *in_order(system, system.TA, shares))
    for i, flow in enumerate(system.flows):
        system.require("delay", *delays(system, flow, i if len(shares) > 1 else None))
    return system


def queue(system: System) -> list[z3.BoolRef]:
    """Return the constant-rate queue: its output is C per step while it has data."""
    out = [system.TA[0] <= system.accepted(0)]
    for t in range(1, system.grid.points):
        out += is_min(system.TA[t], [system.TA[t - 1] + system.grid.step, system.accepted(t)])
    return out


def jitter(system: System, left: Curve, served: Curve) -> list[z3.BoolRef]:
    """Return the delay: data that left the queue is served at once or up to D later.

    The past of a flow's bytes before the trace is bounded by C per step.
    """
    steps, rate, out = system.grid.d_steps, system.grid.step, []
    for t in range(system.grid.points):
        out.append(served[t] <= left[t])
        out.append(served[t] >= (left[t - steps] if t >= steps else left[0] - (steps - t) * rate))
    return out
