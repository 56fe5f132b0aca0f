"""The algorithm with an exponential rate-delay curve: starvation paper (SIGCOMM 2022), Algorithm 1.

A trace is the value of each curve at each sample point t. A system is the variables and constraints of one question to
a solver. Symbols: C, link rate; R, round-trip propagation delay; D, maximum jitter; alpha, the rate of one packet per
R.

The curve gives a rate for each delay, and falls by a factor of 2 for each D of delay. At a delay of D, which is the
minimum that keeps a link busy, the curve is at C or above. Every R, a rate below the curve grows by one packet per R,
and any other rate is halved. If the delay is 0, the rate grows.

Deviations: delays are in whole steps, rounded down; the curve's value at a delay of D is any value of at least C, as in
CCAC's encoding of an earlier version of the algorithm; the rate never falls below one packet per R.
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

#: Ratio of the curve's rates at two delays that differ by D (s in the paper).
RATIO = 2
BACKOFF = Fraction(1, 2)


@dataclass(frozen=True)
class Expo:
    """The algorithm in two forms: constraints for a solver, and a check of traces. ``top``, equal for all flows, is the
    curve's rate at a delay of D.
    """

    name: str = "expo"
    source: str = "starvation paper, Algorithm 1"
    sender: Sender = Sender.RATE

    def encode(self, system: System, flow: int = 0) -> list[z3.BoolRef]:
        """Add the constraints on the rate to the system, and return them."""
        need_whole_steps(system, self.name, jitter=1)
        own, alpha = system.flows[flow], system.alpha
        (top,) = remember(system, flow, "top")
        out = [top[0] >= 1, own.rate[0] >= alpha, *(value == top[0] for value in top[1:])]
        out += [] if flow == 0 else [top[0] == system.flows[0].beliefs["top"][0]]
        for t in range(1, system.grid.points):
            before, now, bits = own.rate[t - 1], own.rate[t], own.delay[t - 1]
            # The curve falls with delay. If the rate is above the curve at any delay up to the observed delay, it is
            # above the curve at the observed delay.
            above = z3.Or(*(z3.And(bit, before * RATIO ** (k - 1) >= top[0]) for k, bit in enumerate(bits) if k))
            half = z3.Q(*BACKOFF.as_integer_ratio()) * before
            halves = z3.And(now >= half, z3.Or(now <= half, now <= alpha))
            out += [z3.Implies(above, halves), z3.Or(above, now == before + alpha)]
        return bind(system, flow, self, out)

    def violations(self, trace: Trace, flow: int = 0) -> Iterator[Violation]:
        """Yield a violation for each point at which the rate or ``top`` differs from the algorithm's."""
        own, report = trace.flows[flow], Report(flow)
        top = own.beliefs["top"][0]
        yield from report.unless(top >= 1, "expo's start", 0, f"top is {top}, below C")
        for t in range(1, trace.grid.points):
            yield from report.equal("top", own.beliefs["top"][t], trace.flows[0].beliefs["top"][0], "expo's curve", t)
            before, qdel = own.rate[t - 1], own.delay[t - 1]
            is_above = qdel >= 1 and before >= top / RATIO ** (qdel - 1)
            expected = max(trace.alpha, BACKOFF * before) if is_above else before + trace.alpha
            yield from report.equal("rate", own.rate[t], expected, "expo", t)
