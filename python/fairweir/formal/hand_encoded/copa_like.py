"""A Copa-like algorithm: cwnd changes by one packet per R, towards MSS (R + qdel) / qdel.

A trace is the value of each curve at each sample point t. A system is the variables and constraints of one question to
a solver. Symbols: R, round-trip propagation delay; D, maximum jitter; qdel, queueing delay; alpha, one MSS; T, number
of sample points.

On acknowledgments, Copa compares cwnd with a target that depends on the minimum delay of the last D. The constraints do
not determine which delay this is. If the delay observed R ago, minus one step, allows growth, cwnd may grow. If the
delay observed R + D ago allows it, cwnd may shrink. If both hold, cwnd may do either.

Source: CCAC (SIGCOMM 2021), section 6, and its published encoding. Deviations: without acknowledgments cwnd is
constant, whereas the published encoding then has no trace at all; the decision at t = R is constrained as well, by any
delay before the trace.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import z3

from fairweir.formal.encoding.system import Sender, System
from fairweir.formal.encoding.trace import Trace
from fairweir.formal.exact.report import Report, Violation
from fairweir.formal.hand_encoded.cca import bind, need_whole_steps


@dataclass(frozen=True)
class CopaLike:
    """The algorithm for solvers and as a check of traces. It has no state but cwnd."""

    name: str = "copa_like"
    source: str = "CCAC section 6; Copa (NSDI 2018)"
    sender: Sender = Sender.PACED_WINDOW

    def encode(self, system: System, flow: int = 0) -> list[z3.BoolRef]:
        """Add the constraints on cwnd to the system, and return them. The pacing rate is cwnd per R."""
        need_whole_steps(system, self.name, jitter=1)
        own, alpha = system.flows[flow], system.alpha
        out = [own.cwnd[0] >= alpha, *(rate == cwnd for rate, cwnd in zip(own.rate, own.cwnd, strict=True))]
        for t in range(1, system.grid.points):
            before, now = own.cwnd[t - 1], own.cwnd[t]
            # The observed delay minus one step is k - 1, for the largest k whose bit is true.
            may_grow = z3.And(
                *(z3.Implies(bit, before * (k - 1) <= alpha * k) for k, bit in enumerate(own.delay[t - 1]) if k >= 2)
            )
            grows = z3.And(now == before + alpha, may_grow)
            less = z3.And(now >= alpha, now >= before - alpha, z3.Or(now <= alpha, now <= before - alpha))
            shrinks = less if t < 2 else z3.And(less, self._may_shrink(system, flow, t - 2, before))
            # Without acknowledgments cwnd does not change. Whether acknowledgments arrived by t = 1 is not known.
            acked = z3.BoolVal(True) if t < 2 else own.S[t - 1] > own.S[t - 2]
            rests = z3.And(now == before, z3.BoolVal(True) if t < 2 else z3.Not(acked))
            out.append(z3.Or(z3.And(acked, grows), z3.And(acked, shrinks), rests))
        return bind(system, flow, self, out)

    def _may_shrink(self, system: System, flow: int, seen: int, before: z3.ArithRef) -> z3.BoolRef:
        bits = system.flows[flow].delay[seen]
        last = len(bits) - 1
        # The last bit means a delay of T steps or more, which may be long enough for any cwnd.
        reached = [z3.And(bit, before * k >= system.alpha * (1 + k)) for k, bit in enumerate(bits[:-1]) if k >= 1]
        return z3.Or(*reached, bits[last])

    def violations(self, trace: Trace, flow: int = 0) -> Iterator[Violation]:
        """Yield a violation for each point at which the observed delays do not allow the change of cwnd."""
        own, report = trace.flows[flow], Report(flow)
        for t in range(trace.grid.points):
            yield from report.equal("rate", own.rate[t], own.cwnd[t], "copa_like's pacing", t)
        for t in range(1, trace.grid.points):
            allowed = self._allowed(trace, flow, t)
            text = f"cwnd is {own.cwnd[t]}, should be one of {', '.join(map(str, sorted(allowed))) or 'nothing'}"
            yield from report.unless(own.cwnd[t] in allowed, "copa_like", t, text)

    def _allowed(self, trace: Trace, flow: int, t: int) -> set[Fraction]:
        own, alpha = trace.flows[flow], trace.alpha
        before = own.cwnd[t - 1]
        if t >= 2 and own.S[t - 1] == own.S[t - 2]:
            return {before}
        allowed = {before} if t < 2 else set()
        least = max(0, own.delay[t - 1] - 1)
        if before * least <= alpha * (1 + least):
            allowed.add(before + alpha)
        most = own.delay[t - 2] if t >= 2 else trace.grid.points
        if most >= trace.grid.points or (most >= 1 and before * most >= alpha * (1 + most)):
            allowed.add(max(alpha, before - alpha))
        return allowed
