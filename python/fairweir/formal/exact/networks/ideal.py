"""The definition of the ideal link in exact fractions: a queue with rate C, without jitter (thesis section 2.3).

Symbols: C, link rate; A, S, L, cumulative bytes sent, served and lost, at sample point t. The functions check traces
and simulate the link; S and TA are equal.

A trace is the value of each curve at each sample point; a step is the time between two points.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from fairweir.formal.encoding.trace import Trace
from fairweir.formal.exact.definition import Definition
from fairweir.formal.exact.history import History
from fairweir.formal.exact.report import NETWORK, Violation


class Ideal(Definition):
    """A queue that is served at C."""

    name = "ideal"
    has_jitter = False
    knows_losses_at_once = True

    def link(self, trace: Trace) -> Iterator[Violation]:
        """Yield a violation for each step in which S(t) = min(S(t-1) + C, A(t) - L(t-1)) is false, for steps of 1."""
        served, step = trace.S, trace.grid.step
        yield from NETWORK.unless(trace.grid.jitter == 0, "jitter", 0, "an ideal link has no jitter")
        yield from NETWORK.unless(served[0] <= trace.accepted(0), "service", 0, "more was served than had arrived")
        for t in range(trace.grid.points):
            yield from NETWORK.equal("TA", trace.TA[t], served[t], "service", t)
        for t in range(1, trace.grid.points):
            there = trace.A[t] - trace.L[t - 1]
            yield from NETWORK.equal("S", served[t], min(served[t - 1] + step, there), "service", t)

    def admit(self, history: History, come: Fraction, ahead: Sequence[Sequence[Fraction]]) -> Fraction:
        """Return the cumulative bytes that have left the queue by the next point, in C R: at most C more per step."""
        return min(history.tokens[-1] + history.grid.step, come)

    def serve(self, history: History, accepted: Fraction) -> bool:
        """Serve the bytes that have left the queue."""
        return history.serve_within_jitter(accepted)
