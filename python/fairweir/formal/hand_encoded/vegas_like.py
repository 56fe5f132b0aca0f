"""A Vegas-like algorithm: it aims at between two and four of its packets in the queue, from the observed delay.

It estimates its queued bytes as diff = cwnd qdel / (R + qdel). If diff is below 2 MSS, cwnd grows by one packet; if
diff is above 4 MSS, cwnd shrinks by one packet.

Source: Vegas (SIGCOMM 1994), one of the delay-convergent algorithms of the starvation paper (SIGCOMM 2022, section 5).
Observed delays are in whole steps, rounded down; R is known; losses are ignored.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import z3

from fairweir.formal.encoding.system import Sender, System
from fairweir.formal.encoding.trace import Trace
from fairweir.formal.exact.report import Report, Violation
from fairweir.formal.hand_encoded.cca import ELSE, bind, choose, need_whole_steps

FEWEST, MOST = 2, 4


@dataclass(frozen=True)
class VegasLike:
    """The algorithm, which remembers only its window."""

    name: str = "vegas_like"
    source: str = "Vegas (SIGCOMM 1994)"
    sender: Sender = Sender.WINDOW

    def encode(self, system: System, flow: int = 0) -> list[z3.BoolRef]:
        """Define cwnd."""
        need_whole_steps(system, self.name)
        own, alpha = system.flows[flow], system.alpha
        out = [own.cwnd[0] >= FEWEST * alpha]
        for t in range(1, system.grid.points):
            before, now, bits = own.cwnd[t - 1], own.cwnd[t], own.delay[t - 1]
            # cwnd k >= FEWEST alpha (1 + k) holds for larger k if it holds for k: the maximum delay reached decides.
            enough = z3.Or(*(z3.And(bit, before * k >= FEWEST * alpha * (1 + k)) for k, bit in enumerate(bits) if k))
            too_many = z3.Or(*(z3.And(bit, before * k > MOST * alpha * (1 + k)) for k, bit in enumerate(bits) if k))
            out += choose((too_many, now == before - alpha), (enough, now == before), (ELSE, now == before + alpha))
        return bind(system, flow, self, out)

    def violations(self, trace: Trace, flow: int = 0) -> Iterator[Violation]:
        """Check the trace step by step."""
        own, report, alpha = trace.flows[flow], Report(flow), trace.alpha
        yield from report.unless(own.cwnd[0] >= FEWEST * alpha, "vegas_like's start", 0, f"cwnd is {own.cwnd[0]}")
        for t in range(1, trace.grid.points):
            before, qdel = own.cwnd[t - 1], own.delay[t - 1]
            queued = before * qdel / (1 + qdel)
            expected = (
                before + alpha if queued < FEWEST * alpha else before - alpha if queued > MOST * alpha else before
            )
            yield from report.equal("cwnd", own.cwnd[t], expected, "vegas_like", t)
