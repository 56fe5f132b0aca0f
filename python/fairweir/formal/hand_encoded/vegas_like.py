"""A Vegas-like algorithm: it aims at two to four packets of its flow in the queue, estimated from the observed delay.

A trace is the value of each curve at each sample point t. A system is the variables and constraints of one question to
a solver. Symbols: R, round-trip propagation delay; qdel, queueing delay; alpha, one MSS.

The estimate of the flow's queued bytes is diff = cwnd qdel / (R + qdel). If diff is below 2 MSS, cwnd grows by one
packet. If diff is above 4 MSS, cwnd shrinks by one packet.

Source: Vegas (SIGCOMM 1994), one of the delay-convergent algorithms of the starvation paper (SIGCOMM 2022, section 5).
Observed delays are in whole steps, rounded down; the algorithm knows R; losses are ignored.
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
    """The algorithm for solvers and as a check of traces. It has no state but cwnd."""

    name: str = "vegas_like"
    source: str = "Vegas (SIGCOMM 1994)"
    sender: Sender = Sender.WINDOW

    def encode(self, system: System, flow: int = 0) -> list[z3.BoolRef]:
        """Add the constraints on cwnd to the system, and return them."""
        need_whole_steps(system, self.name)
        own, alpha = system.flows[flow], system.alpha
        out = [own.cwnd[0] >= FEWEST * alpha]
        for t in range(1, system.grid.points):
            before, now, bits = own.cwnd[t - 1], own.cwnd[t], own.delay[t - 1]
            # If cwnd k >= FEWEST alpha (1 + k) holds for a delay of k steps, it holds for longer delays. It therefore
            # holds for the observed delay if it holds for any shorter delay.
            enough = z3.Or(*(z3.And(bit, before * k >= FEWEST * alpha * (1 + k)) for k, bit in enumerate(bits) if k))
            too_many = z3.Or(*(z3.And(bit, before * k > MOST * alpha * (1 + k)) for k, bit in enumerate(bits) if k))
            out += choose((too_many, now == before - alpha), (enough, now == before), (ELSE, now == before + alpha))
        return bind(system, flow, self, out)

    def violations(self, trace: Trace, flow: int = 0) -> Iterator[Violation]:
        """Yield a violation for each point at which cwnd differs from the algorithm's."""
        own, report, alpha = trace.flows[flow], Report(flow), trace.alpha
        yield from report.unless(own.cwnd[0] >= FEWEST * alpha, "vegas_like's start", 0, f"cwnd is {own.cwnd[0]}")
        for t in range(1, trace.grid.points):
            before, qdel = own.cwnd[t - 1], own.delay[t - 1]
            queued = before * qdel / (1 + qdel)
            expected = (
                before + alpha if queued < FEWEST * alpha else before - alpha if queued > MOST * alpha else before
            )
            yield from report.equal("cwnd", own.cwnd[t], expected, "vegas_like", t)
