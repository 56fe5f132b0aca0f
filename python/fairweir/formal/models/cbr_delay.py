"""The CBR-delay link for solvers: a queue served at a constant rate, then a delay of up to D (thesis section 2.3).

TA is the data that has left the queue (figure 2.3). Unlike CCAC's tokens, it is a function of the other curves:
TA(t) = min(TA(t-1) + C, A(t) - L(t)).
If there are several flows, each has a delay of its own (starvation paper, section 3). The bytes of all flows leave the
queue in order of arrival. S_i(t) is at least flow i's data that had left the queue by t - D, and at most its data that
have left by t.
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
        """Add the queue and each flow's jitter."""
        several = len(system.flows) > 1
        shares = [system.reals("TA", i if several else None) for i in range(len(system.flows))]
        system.left = list(shares)
        system.TA = [z3.Sum(column) for column in zip(*shares, strict=True)] if several else shares[0]
        system.require("queue", *queue(system))
        for flow, left in zip(system.flows, shares, strict=True):
            system.require("jitter", *jitter(system, left, flow.S))


def queue(system: System) -> list[z3.BoolRef]:
    """Return the constant-rate queue: its output is C per step while it has data."""
    out = [system.TA[0] <= system.accepted(0)]
    for t in range(1, system.grid.points):
        out += is_min(system.TA[t], [system.TA[t - 1] + system.grid.step, system.accepted(t)])
    return out


def jitter(system: System, left: Curve, served: Curve) -> list[z3.BoolRef]:
    """Return the constraints on jitter: data that left the queue are served at once or up to D later.

    Before the trace, a flow's bytes left the queue at no more than C per step.

    Parameters
    ----------
    system : System
    left : the flow's bytes that have left the queue, in C R
    served : S of the flow, in C R
    """
    steps, rate, out = system.grid.d_steps, system.grid.step, []
    for t in range(system.grid.points):
        out.append(served[t] <= left[t])
        out.append(served[t] >= (left[t - steps] if t >= steps else left[0] - (steps - t) * rate))
    return out
