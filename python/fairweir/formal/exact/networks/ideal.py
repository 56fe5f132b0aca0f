"""The definition of the ideal link."""

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
        """Check S(t) = min(S(t-1) + C, A(t) - L(t-1))."""
        served, step = trace.S, trace.grid.step
        yield from NETWORK.unless(trace.grid.jitter == 0, "jitter", 0, "an ideal link has no jitter")
        yield from NETWORK.unless(served[0] <= trace.accepted(0), "service", 0, "more was served than had arrived")
        for t in range(trace.grid.points):
            yield from NETWORK.equal("TA", trace.TA[t], served[t], "service", t)
        for t in range(1, trace.grid.points):
            there = trace.A[t] - trace.L[t - 1]
            yield from NETWORK.equal("S", served[t], min(served[t - 1] + step, there), "service", t)

    def admit(self, history: History, come: Fraction, ahead: Sequence[Sequence[Fraction]]) -> Fraction:
        """Return the cumulative arrivals that the link has had the capacity to serve."""
        return min(history.tokens[-1] + history.grid.step, come)

    def serve(self, history: History, accepted: Fraction) -> bool:
        """Serve the bytes that have left the queue."""
        return history.serve_within_jitter(accepted)
