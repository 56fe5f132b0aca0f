"""Check a sender's behavior: arrivals against rate and window, and rates against a rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction

from fairweir.formal.encoding.system import Sender
from fairweir.formal.encoding.trace import FlowTrace, Trace
from fairweir.formal.exact.report import Report, Violation

#: A sender's decision: a function from its beliefs, alpha and R (by name) to a rate, in C.
Decider = Callable[[Mapping[str, Fraction]], Fraction]


def arrivals(trace: Trace, index: int) -> Iterator[Violation]:
    """Check A against rate and cwnd.

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
    """Check the rate at every point from t = R on against the rule, applied to the beliefs of one R earlier.

    Parameters
    ----------
    trace : Trace
    index : int, index of the flow
    decide : returns the rate, in C, for the beliefs of one R earlier
    """
    flow, report, back = trace.flows[index], Report(index), trace.grid.r_steps
    for t in range(back, trace.grid.points):
        seen = {name: column[t - back] for name, column in flow.beliefs.items()}
        seen |= {"alpha": trace.alpha, "R": Fraction(1), "qdel_L": min_qdelay(trace, flow, t - back)}
        yield from report.equal("rate", flow.rate[t], decide(seen), "rule", t)


def min_qdelay(trace: Trace, flow: FlowTrace, t: int) -> Fraction:
    """Return qdel_L, in R: the observed delay minus D, at least 0.

    Parameters
    ----------
    trace : Trace
    flow : FlowTrace, one of its flows
    t : int, the point
    """
    return max(0, flow.delay[t] - trace.grid.d_steps) * trace.grid.step
