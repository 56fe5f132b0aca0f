"""The CCAC link: a token bucket whose tokens may be wasted, and a delay of up to D (thesis listing A.1).

TA stands for the listing's tokens: TA(t) = C t - W(t) up to the origin, so 0 <= TA(t) - TA(t-1) <= C.
"""

from __future__ import annotations

from collections.abc import Sequence

import z3

from fairweir.documents.arguments import words_for_enums
from fairweir.formal.encoding.buffers import Buffer
from fairweir.formal.encoding.grid import Grid
from fairweir.formal.encoding.system import Acks, Sender, System, rising
from fairweir.formal.models.delay import delays
from fairweir.formal.models.fifo import in_order
from fairweir.formal.models.loss import tail_drop


@words_for_enums
def build(
    grid: Grid, buffer: Buffer, senders: Sequence[Sender] = (Sender.RATE,), acks: Acks = Acks.MAY_PAUSE
) -> System:
    """Build the model."""
    system = System("ccac", grid, buffer, senders, acks)
    system.TA = system.reals("TA")
    system.require("tokens", *tokens(system))
    system.require("service", *service(system))
    system.require("loss", *tail_drop(system))
    if len(system.flows) > 1:
        system.require("order", *in_order(system, system.S, [flow.S for flow in system.flows]))
    for i, flow in enumerate(system.flows):
        system.require("delay", *delays(system, flow, i if len(system.flows) > 1 else None))
    return system


def tokens(system: System) -> list[z3.BoolRef]:
    """Return the admission of tokens: C a step, and fewer only if no bytes wait for one (equations A.2.4, A.2.5)."""
    rate, out = system.grid.step, rising(system.TA)
    for t in range(1, system.grid.points):
        out.append(system.TA[t] <= system.TA[t - 1] + rate)
        out.append(z3.Or(system.TA[t] >= system.TA[t - 1] + rate, system.accepted(t) <= system.TA[t]))
    return out


def service(system: System) -> list[z3.BoolRef]:
    """Return the bounds of S: arrivals, tokens, and tokens of D ago (equations A.2.1 to A.2.3).

    The tokens of before the trace are bounded by C per step: TA(t - D) >= TA(0) - C (D - t).
    """
    jitter, rate, out = system.grid.d_steps, system.grid.step, []
    for t in range(system.grid.points):
        out.append(system.S[t] <= system.accepted(t))
        out.append(system.S[t] <= system.TA[t])
        oldest = system.TA[t - jitter] if t >= jitter else system.TA[0] - (jitter - t) * rate
        out.append(system.S[t] >= oldest)
    return out
