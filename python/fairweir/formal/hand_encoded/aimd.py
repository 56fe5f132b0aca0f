"""AIMD as in NewReno: cwnd grows by one MSS per acknowledged window, and is halved at most once per window of losses.

If a loss is detected, and all bytes that were in the queue at the last halving have been acknowledged, cwnd = cwnd / 2.
Otherwise, if cwnd bytes were acknowledged since cwnd last changed, cwnd = cwnd + MSS.

A trace is the value of each curve at each sample point t. A system is the variables and constraints of one question to
a solver. R: round-trip propagation delay. S: cumulative bytes served. alpha: one MSS.

Source: CCAC (SIGCOMM 2021), section 5, and its published encoding. Deviations: the network models report losses after
R, not after three duplicate ACKs, so there are no timeouts; cwnd never falls below one MSS; acknowledged bytes are
counted from the last change of cwnd, where the published encoding compares values of cwnd.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import z3

from fairweir.formal.encoding.system import Sender, System
from fairweir.formal.encoding.trace import Trace
from fairweir.formal.exact.report import Report, Violation
from fairweir.formal.hand_encoded.cca import ELSE, bind, choose, remember


@dataclass(frozen=True)
class Aimd:
    """AIMD for solvers and as a check of traces.

    Its state: ``mark``, S at the last change of cwnd; ``recover``, the cumulative bytes that the queue had accepted
    when cwnd was last halved.
    """

    name: str = "aimd"
    source: str = "CCAC section 5; RFC 6582"
    sender: Sender = Sender.WINDOW

    def encode(self, system: System, flow: int = 0) -> list[z3.BoolRef]:
        """Add the constraints on cwnd and on the state to the system, and return these constraints."""
        own, r = system.flows[flow], system.grid.r_steps
        mark, recover = remember(system, flow, "mark", "recover")
        out = [mark[r - 1] <= own.S[0], recover[r - 1] <= own.accepted(r - 1), own.cwnd[r - 1] >= system.alpha]
        for t in range(r, system.grid.points):
            seen, before, now = own.S[t - r], own.cwnd[t - 1], own.cwnd[t]
            lost = own.Ld[t] > own.Ld[t - 1] if system.buffer.is_finite else z3.BoolVal(False)
            halves = z3.And(lost, recover[t - 1] <= own.S[max(0, t - r - 1)])
            half = z3.And(now >= before / 2, now >= system.alpha, z3.Or(now <= before / 2, now <= system.alpha))
            out += choose(
                (halves, z3.And(half, mark[t] == seen, recover[t] == own.accepted(t))),
                (seen - mark[t - 1] >= before, z3.And(now == before + system.alpha, mark[t] == seen)),
                (ELSE, z3.And(now == before, mark[t] == mark[t - 1])),
            )
            out.append(z3.Or(halves, recover[t] == recover[t - 1]))
        return bind(system, flow, self, out)

    def violations(self, trace: Trace, flow: int = 0) -> Iterator[Violation]:
        """Yield a violation for each point from t = R on at which cwnd differs from AIMD's."""
        own, report, r = trace.flows[flow], Report(flow), trace.grid.r_steps
        mark, recover, cwnd = own.beliefs["mark"][r - 1], own.beliefs["recover"][r - 1], own.cwnd[r - 1]
        yield from report.unless(mark <= own.S[0], "aimd's start", r - 1, f"mark is {mark}, above what was served")
        bound = own.accepted(r - 1)
        yield from report.unless(recover <= bound, "aimd's start", r - 1, f"recover is {recover}, above {bound}")
        yield from report.unless(cwnd >= trace.alpha, "aimd's start", r - 1, f"cwnd is {cwnd}, below alpha")
        for t in range(r, trace.grid.points):
            seen = own.S[t - r]
            if own.Ld[t] > own.Ld[t - 1] and own.S[max(0, t - r - 1)] >= recover:
                cwnd, mark, recover = max(trace.alpha, cwnd / 2), seen, own.accepted(t)
            elif seen - mark >= cwnd:
                cwnd, mark = cwnd + trace.alpha, seen
            yield from report.equal("cwnd", own.cwnd[t], cwnd, "aimd", t)
