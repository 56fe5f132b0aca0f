"""The ideal link for solvers: a queue with rate C, without jitter (thesis section 2.3).

Symbols: C, link rate; A, S, L, cumulative bytes sent, served and lost, at sample point t. With steps of length 1, S(t)
= min(S(t-1) + C, A(t) - L(t-1)): bytes that arrive in a step can be served in the same step, before the buffer
overflows.
"""

from __future__ import annotations

import z3

from fairweir.formal.encoding.system import System, is_min, less
from fairweir.formal.models.model import PacketPath
from fairweir.formal.models.shipped import Shipped


class Ideal(Shipped):
    """The ideal link: a queue with rate C, without jitter (thesis section 2.3)."""

    name = "ideal"
    has_jitter = False
    knows_losses_at_once = True
    has_constant_rate = True
    packets = PacketPath(delays=False)

    def constrain(self, system: System) -> None:
        """Add the constraints on the queue's service."""
        system.require("service", *service(system))


def service(system: System) -> list[z3.BoolRef]:
    """Return the constraints on S: all bytes in the queue are served, up to C per step."""
    out = [system.S[0] <= system.accepted(0)]
    for t in range(1, system.grid.points):
        there = less(system.A[t], system.L[t - 1])
        out += is_min(system.S[t], [system.S[t - 1] + system.grid.step, there])
    return out
