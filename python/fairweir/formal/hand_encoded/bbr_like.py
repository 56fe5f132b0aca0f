"""A BBR-like algorithm: it paces at a gain times the maximum delivery rate of the last four R.

The gain changes every R in the cycle 5/4, 4/5, 1, 1; a trace may start at any position of the cycle. cwnd is 2 R times
the maximum delivery rate.

A trace is the value of each curve at each sample point t. A system is the variables and constraints of one question to
a solver. Symbols: C, link rate; R, round-trip propagation delay; D, maximum jitter; units are such that C = R = 1.
alpha: one MSS.

Source: CCAC (SIGCOMM 2021), section 7. The cycle and the memory of the published encoding are also four R long. In BBR,
the cycle has eight R and the memory ten. Deviations: the maximum includes delivery rates from before the trace that are
at most four R old (the published encoding drops these rates); each of these rates is at most C (1 + D/R), the maximum
delivery rate over one R with jitter D; rate and cwnd never fall below one MSS.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import z3

from fairweir.formal.encoding.system import Curve, Sender, System, is_max
from fairweir.formal.encoding.trace import Trace
from fairweir.formal.exact.report import Report, Violation
from fairweir.formal.hand_encoded.cca import bind, need_whole_steps, remember

GAINS = (Fraction(5, 4), Fraction(4, 5), Fraction(1), Fraction(1))
#: Number of delivery rates, one per R, of which the algorithm takes the maximum.
MEMORY = 4
CWND_GAIN = 2
_AGES = tuple(f"rate_{age}_ago" for age in range(MEMORY))


@dataclass(frozen=True)
class BbrLike:
    """The algorithm for solvers and as a check of traces. Its state: the last delivery rates, newest first, and the
    position in the cycle.
    """

    name: str = "bbr_like"
    source: str = "CCAC section 7"
    sender: Sender = Sender.PACED_WINDOW

    def encode(self, system: System, flow: int = 0) -> list[z3.BoolRef]:
        """Add the constraints on cwnd, rate and state to the system, and return these constraints."""
        need_whole_steps(system, self.name)
        own, alpha = system.flows[flow], system.alpha
        *rates, peak, phase = remember(system, flow, *_AGES, "peak", "phase")
        most = z3.RealVal(1 + system.grid.jitter)
        out = [bound for rate in rates for bound in (rate[0] >= 0, rate[0] <= most)]
        out += [rates[0][1] >= 0, rates[0][1] <= most]
        out.append(z3.Or(*(self._turns(phase, first) for first in range(len(GAINS)))))
        for t in range(1, system.grid.points):
            if t >= 2:
                out.append(rates[0][t] == own.S[t - 1] - own.S[t - 2])
            out += [older[t] == newer[t - 1] for newer, older in pairwise(rates)]
            out += is_max(peak[t], [alpha, *(rate[t] for rate in rates)])
            out.append(own.cwnd[t] == CWND_GAIN * peak[t])
            for i, gain in enumerate(GAINS):
                paced = is_max(own.rate[t], [alpha, z3.Q(*gain.as_integer_ratio()) * peak[t]])
                out.append(z3.Implies(phase[t] == i, z3.And(*paced)))
        return bind(system, flow, self, out)

    def _turns(self, phase: Curve, first: int) -> z3.BoolRef:
        return z3.And(*(phase[t] == (first + t) % len(GAINS) for t in range(len(phase))))

    def violations(self, trace: Trace, flow: int = 0) -> Iterator[Violation]:
        """Yield a violation for each point at which cwnd, rate or state differs from the algorithm's."""
        own, report, most = trace.flows[flow], Report(flow), 1 + trace.grid.jitter
        memory = [own.beliefs[name][0] for name in _AGES]
        phase = own.beliefs["phase"][0]
        yield from report.unless(phase in range(len(GAINS)), "bbr_like's start", 0, f"phase is {phase}")
        for t in range(1, trace.grid.points):
            newest = own.S[t - 1] - own.S[t - 2] if t >= 2 else own.beliefs[_AGES[0]][1]
            memory = [newest, *memory[:-1]]
            for rate in memory:
                yield from report.within("delivery rate", Fraction(0), rate, most, "bbr_like's memory", t)
            peak = max(trace.alpha, *memory)
            gain = GAINS[int(phase + t) % len(GAINS)]
            yield from report.equal("cwnd", own.cwnd[t], CWND_GAIN * peak, "bbr_like", t)
            yield from report.equal("rate", own.rate[t], max(trace.alpha, gain * peak), "bbr_like", t)
