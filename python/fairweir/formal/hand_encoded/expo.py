"""The algorithm with an exponential rate-delay curve: starvation paper (SIGCOMM 2022), Algorithm 1.

Every R, a rate below the curve grows by one packet per R, and any other rate is halved. The curve decreases by a factor
of 2 for each D of delay. At a delay of D, the minimum that keeps a link busy, the curve is above C. Without delay the
rate grows.

Deviations: delays are in whole steps, rounded down; the curve's value at a delay of D is any value above C, as in
CCAC's encoding of an earlier version; the rate never falls below one packet per R.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import z3

from fairweir.formal.encoding.system import Sender, System
from fairweir.formal.encoding.trace import Trace
from fairweir.formal.exact.report import Report, Violation
from fairweir.formal.hand_encoded.cca import bind, need_whole_steps, remember

#: s: the throughput ratio that corresponds to a difference of D in delay.
RATIO = 2
BACKOFF = Fraction(1, 2)


@dataclass(frozen=True)
class Expo:
    """The algorithm; ``top`` is the curve's height at a delay of D, common to all flows."""

    name: str = "expo"
    source: str = "starvation paper, Algorithm 1"
    sender: Sender = Sender.RATE

    def encode(self, system: System, flow: int = 0) -> list[z3.BoolRef]:
        """Define the rate."""
        need_whole_steps(system, self.name, jitter=1)
        own, alpha = system.flows[flow], system.alpha
        (top,) = remember(system, flow, "top")
        out = [top[0] >= 1, own.rate[0] >= alpha, *(value == top[0] for value in top[1:])]
        out += [] if flow == 0 else [top[0] == system.flows[0].beliefs["top"][0]]
        for t in range(1, system.grid.points):
            before, now, bits = own.rate[t - 1], own.rate[t], own.delay[t - 1]
            # The curve decreases with delay: the maximum delay reached decides.
            above = z3.Or(*(z3.And(bit, before * RATIO ** (k - 1) >= top[0]) for k, bit in enumerate(bits) if k))
            half = z3.Q(*BACKOFF.as_integer_ratio()) * before
            halves = z3.And(now >= half, z3.Or(now <= half, now <= alpha))
            out += [z3.Implies(above, halves), z3.Or(above, now == before + alpha)]
        return bind(system, flow, self, out)

    def violations(self, trace: Trace, flow: int = 0) -> Iterator[Violation]:
        """Check the trace step by step."""
        own, report = trace.flows[flow], Report(flow)
        top = own.beliefs["top"][0]
        yield from report.unless(top >= 1, "expo's start", 0, f"top is {top}, below C")
        for t in range(1, trace.grid.points):
            yield from report.equal("top", own.beliefs["top"][t], trace.flows[0].beliefs["top"][0], "expo's curve", t)
            before, qdel = own.rate[t - 1], own.delay[t - 1]
            is_above = qdel >= 1 and before >= top / RATIO ** (qdel - 1)
            expected = max(trace.alpha, BACKOFF * before) if is_above else before + trace.alpha
            yield from report.equal("rate", own.rate[t], expected, "expo", t)
