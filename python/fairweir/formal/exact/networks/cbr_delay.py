"""The definition of the CBR-delay link in exact fractions: a queue at a constant rate, then jitter (thesis section
2.3).

Symbols: C, link rate; R, round-trip propagation delay; D, maximum jitter; units are such that C = R = 1. S: cumulative
bytes served, at sample point t. TA: cumulative bytes that have left the queue. The functions check traces and simulate
the link.

A trace is the value of each curve at each sample point; a step is the time between two points.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from fairweir.formal.encoding.trace import Trace
from fairweir.formal.exact.definition import Definition
from fairweir.formal.exact.history import History
from fairweir.formal.exact.report import NETWORK, Report, Violation, rising

ZERO = Fraction(0)


class CbrDelay(Definition):
    """A queue that is served at C while it has bytes, followed by a delay of at most D for each flow."""

    name = "cbr-delay"
    delays_each_flow = True

    def link(self, trace: Trace) -> Iterator[Violation]:
        """Yield a violation if the queue is not served at C while it has bytes, or if a flow's bytes are delayed by
        more than D.
        """
        left, step, jitter = trace.TA, trace.grid.step, trace.grid.d_steps
        yield from NETWORK.unless(left[0] <= trace.accepted(0), "queue", 0, "more has left than had arrived")
        for t in range(1, trace.grid.points):
            yield from NETWORK.equal("TA", left[t], min(left[t - 1] + step, trace.accepted(t)), "queue", t)
        for i, flow in enumerate(trace.flows):
            for t in range(trace.grid.points):
                oldest = flow.left[t - jitter] if t >= jitter else flow.left[0] - step * (jitter - t)
                yield from Report(i).within("S", oldest, flow.S[t], flow.left[t], "jitter", t)
            yield from rising(flow.left, "left", Report(i))
        for t in range(trace.grid.points):
            total = sum((flow.left[t] for flow in trace.flows), ZERO)
            yield from NETWORK.equal("TA", left[t], total, "queue", t)

    def admit(self, history: History, come: Fraction, ahead: Sequence[Sequence[Fraction]]) -> Fraction:
        """Return the cumulative bytes that have left the queue by the next point: C per step while bytes wait."""
        return min(history.tokens[-1] + history.grid.step, come)

    def serve(self, history: History, accepted: Fraction) -> bool:
        """Remove bytes from the queue, and serve each flow's bytes at once or at most D later."""
        t, jitter = len(history.tokens) - 1, history.grid.d_steps
        history.leave(history.tokens[t] - history.tokens[t - 1])
        for flow in history.flows:
            oldest = flow.left[t - jitter] if t >= jitter else ZERO
            flow.served.append(history.between(max(oldest, flow.served[-1]), flow.left[t]))
        return True
