"""The CBR-delay link for solvers: a queue served at a constant rate, then a delay of up to D (thesis section 2.3).

Symbols: C, link rate; R, round-trip propagation delay; D, maximum jitter; units are such that C = R = 1. A, S, L:
cumulative bytes sent, served and lost, at sample point t. TA: cumulative bytes that have left the queue (thesis figure
2.3). In the formula, steps have the length 1: TA(t) = min(TA(t-1) + C, A(t) - L(t)). On a CCAC link, TA is a number of
tokens that the link may choose; here, TA follows from A and L.

If there are several flows, each flow's bytes are delayed separately after the queue (starvation paper, section 3). The
bytes of all flows leave the queue in order of arrival. S(t) of a flow is at least the flow's bytes that had left the
queue by t - D, and at most the flow's bytes that have left the queue by t.

A trace is the value of each curve at each sample point; a step is the time between two points. A system is the
variables of a trace and the constraints on these variables, which form one question to a solver.
"""

from __future__ import annotations

import z3

from fairweir.formal.encoding.system import Curve, System, is_min
from fairweir.formal.models.model import PacketPath
from fairweir.formal.models.shipped import Shipped


class CbrDelay(Shipped):
    """The CBR-delay link: a queue served at a constant rate, then a delay of up to D (thesis figure 2.3)."""

    name = "cbr-delay"
    delays_each_flow = True
    has_constant_rate = True
    beliefs = "cbr-delay"
    packets = PacketPath()

    def constrain(self, system: System) -> None:
        """Add the constraints on the queue and on each flow's jitter."""
        several = len(system.flows) > 1
        shares = [system.reals("TA", i if several else None) for i in range(len(system.flows))]
        system.left = list(shares)
        system.TA = [z3.Sum(column) for column in zip(*shares, strict=True)] if several else shares[0]
        system.require("queue", *queue(system))
        for flow, left in zip(system.flows, shares, strict=True):
            system.require("jitter", *jitter(system, left, flow.S))


def queue(system: System) -> list[z3.BoolRef]:
    """Return the constraints on the queue: its output is C per step while it has bytes."""
    out = [system.TA[0] <= system.accepted(0)]
    for t in range(1, system.grid.points):
        out += is_min(system.TA[t], [system.TA[t - 1] + system.grid.step, system.accepted(t)])
    return out


def jitter(system: System, left: Curve, served: Curve) -> list[z3.BoolRef]:
    """Return the constraints on jitter: bytes that have left the queue are served at once or at most D later.

    Before the trace, bytes of the flow left the queue at C or less.

    Parameters
    ----------
    system : System
    left : cumulative bytes of one flow that have left the queue, in C R
    served : S of this flow, in C R
    """
    steps, rate, out = system.grid.d_steps, system.grid.step, []
    for t in range(system.grid.points):
        out.append(served[t] <= left[t])
        out.append(served[t] >= (left[t - steps] if t >= steps else left[0] - (steps - t) * rate))
    return out
