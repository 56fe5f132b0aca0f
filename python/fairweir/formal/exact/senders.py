"""Check in exact fractions that a sender sends as its rate, its window and its rule permit.

A rule is a congestion control algorithm whose rate is a function of beliefs; a belief is a bound on the network that a
flow infers from what it observes. Symbols: C, link rate; R, round-trip propagation delay; D, maximum jitter; units are
such that C = R = 1. A: cumulative bytes sent, at sample point t. alpha: one MSS. qdel_L: the flow's lower bound on its
queueing delay.

A trace is the value of each curve at each sample point; a step is the time between two points.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction

from fairweir.formal.encoding.system import Sender
from fairweir.formal.encoding.trace import FlowTrace, Trace
from fairweir.formal.exact.report import Report, Violation

#: A rule as a function: it takes the values of beliefs, alpha and R by name, and returns a rate, in C.
Decider = Callable[[Mapping[str, Fraction]], Fraction]


def arrivals(trace: Trace, index: int) -> Iterator[Violation]:
    """Check that A is what the flow's rate and cwnd permit.

    Parameters
    ----------
    trace : Trace
    index : int, index of the flow
    """
    flow, report, grid = trace.flows[index], Report(index), trace.grid
    for name, column in (("rate", flow.rate), ("cwnd", flow.cwnd)):
        for t, value in enumerate(column):
            yield from report.unless(value > 0, name, t, f"{value} is not positive")
    if flow.sender is Sender.RATE:
        for t in range(1, grid.points):
            yield from report.unless(flow.rate[t] >= trace.alpha, "rate", t, f"{flow.rate[t]} is below alpha")
            sent = flow.A[t - 1] + grid.step * flow.rate[t]
            yield from report.equal("A", flow.A[t], sent, "arrivals", t)
        return
    for t in range(grid.r_steps, grid.points):
        yield from report.equal("A", flow.A[t], _allowed(trace, flow, t), "arrivals", t)


def _allowed(trace: Trace, flow: FlowTrace, t: int) -> Fraction:
    back = trace.grid.r_steps
    allowed = flow.S[t - back] + flow.Ld[t] + flow.cwnd[t]
    if flow.sender is Sender.PACED_WINDOW:
        allowed = min(allowed, flow.A[t - 1] + trace.grid.step * flow.rate[t])
    return max(flow.A[t - 1], allowed)


def decisions(trace: Trace, index: int, decide: Decider) -> Iterator[Violation]:
    """Check that at each point from t = R on, the flow's rate is what the rule computes from the beliefs of one R
    earlier.

    Parameters
    ----------
    trace : Trace
    index : int, index of the flow
    decide : the rule as a function, from beliefs to a rate in C
    """
    flow, report, back = trace.flows[index], Report(index), trace.grid.r_steps
    for t in range(back, trace.grid.points):
        seen = {name: column[t - back] for name, column in flow.beliefs.items()}
        seen |= {"alpha": trace.alpha, "R": Fraction(1), "qdel_L": min_qdelay(trace, flow, t - back)}
        yield from report.equal("rate", flow.rate[t], decide(seen), "rule", t)


def min_qdelay(trace: Trace, flow: FlowTrace, t: int) -> Fraction:
    """Return qdel_L at t, in R: the observed delay minus D, at least 0.

    Parameters
    ----------
    trace : Trace
    flow : FlowTrace, one of its flows
    t : int, the sample point
    """
    return max(0, flow.delay[t] - trace.grid.d_steps) * trace.grid.step
