"""Check in exact fractions that a network may behave as a trace says: the link, the losses and the order of service.

Symbols: C, link rate; R, round-trip propagation delay; D, maximum jitter; units are such that C = R = 1. A, S, L, Ld:
cumulative bytes sent, served, lost, and known to be lost by their sender, at sample point t. TA: cumulative bytes that
have left the bottleneck's queue or, on a CCAC link (a token bucket with jitter), the tokens admitted. alpha: one MSS.
beta: size of the buffer. T: number of sample points.

Each function yields a violation for each condition that the trace violates.

A trace is the value of each curve at each sample point; a step is the time between two points.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from fairweir.formal.encoding.buffers import Buffer
from fairweir.formal.encoding.trace import FlowTrace, Trace
from fairweir.formal.exact.networks import definition_of
from fairweir.formal.exact.report import NETWORK, Report, Violation, rising

ZERO = Fraction(0)


def network_violations(trace: Trace) -> Iterator[Violation]:
    """Check alpha, beta, the link, the losses and the order of service."""
    yield from path(trace)
    yield from definition_of(trace).link(trace)
    if trace.beta is not None:
        yield from losses(trace, trace.beta)
    if len(trace.flows) > 1:
        yield from order(trace)


def path(trace: Trace) -> Iterator[Violation]:
    """Check that 0 < alpha < C R / 5, and that beta is a size which the trace's kind of buffer allows."""
    alpha, beta, room = trace.alpha, trace.beta, 1 + trace.grid.jitter
    yield from NETWORK.unless(0 < alpha < Fraction(1, 5), "alpha", 0, f"alpha is {alpha}")
    fits = {
        Buffer.INFINITE: beta is None,
        Buffer.SMALL: beta == room / 4,
        Buffer.ARBITRARY: beta is not None and beta > alpha,
        Buffer.LARGE: beta is not None and beta > alpha and beta >= 3 * room,
    }[trace.buffer]
    yield from NETWORK.unless(fits, "buffer", 0, f"beta is {beta} for the {trace.buffer} buffer")


def losses(trace: Trace, beta: Fraction) -> Iterator[Violation]:
    """Check that exactly the bytes that exceed the buffer are lost.

    Parameters
    ----------
    trace : Trace
    beta : in C R
    """
    yield from NETWORK.unless(trace.bottleneck_queue(0) <= beta, "buffer", 0, "the queue is longer than the buffer")
    if trace.grid.r_steps == 1:
        undetected = sum((flow.L[0] - flow.Ld[0] for flow in trace.flows), ZERO)
        is_full = trace.bottleneck_queue(0) == beta
        yield from NETWORK.unless(is_full or undetected == 0, "buffer", 0, "losses while the queue is not full")
    lost = trace.L
    for t in range(1, trace.grid.points):
        excess = trace.A[t] - lost[t - 1] - trace.TA[t] - beta
        yield from NETWORK.equal("L", lost[t], lost[t - 1] + max(ZERO, excess), "losses", t)


def order(trace: Trace) -> Iterator[Violation]:
    """Check that the bytes of several flows leave the queue in order of arrival, as far as sample points show the
    order.
    """
    definition = definition_of(trace)
    output = definition.out(trace)
    for t in range(trace.grid.points):
        for earlier in range(t + 1):
            has_all = output[t] > trace.accepted(earlier)
            for i, flow in enumerate(trace.flows):
                share, sent = definition.share(flow)[t], flow.accepted(earlier)
                fits = share >= sent if has_all else share <= sent
                yield from Report(i).unless(fits, "order", t, f"{share} served, {sent} sent by t = {earlier}")


def flow_violations(trace: Trace, index: int) -> Iterator[Violation]:
    """Check that a flow's curves never fall, that S(0) = Ld(0) = 0, and that a loss becomes known one R later.

    Parameters
    ----------
    trace : Trace
    index : int, index of the flow
    """
    flow, report = trace.flows[index], Report(index)
    accepted = tuple(flow.accepted(t) for t in range(-trace.grid.points, trace.grid.points))
    for name, curve in (("A", flow.A), ("S", flow.S), ("L", flow.L), ("Ld", flow.Ld), ("A - L", accepted)):
        yield from rising(curve, name, report)
    yield from report.equal("S", flow.S[0], ZERO, "origin", 0)
    yield from report.equal("Ld", flow.Ld[0], ZERO, "origin", 0)
    yield from report.unless(flow.L[0] >= 0, "origin", 0, f"L is {flow.L[0]}")
    for t in range(trace.grid.r_steps, trace.grid.points):
        yield from report.equal("Ld", flow.Ld[t], flow.L[t - trace.grid.r_steps], "detection", t)
    for t in range(1, min(trace.grid.r_steps, trace.grid.points)):
        yield from report.unless(flow.Ld[t] <= flow.L[0], "detection", t, f"{flow.Ld[t]} of {flow.L[0]} detected")
    if trace.beta is None:
        for t in range(trace.grid.points):
            yield from report.equal("L", flow.L[t], ZERO, "losses", t)
    if not definition_of(trace).delays_each_flow:
        for t in range(trace.grid.points):
            yield from report.equal("left", flow.left[t], flow.S[t], "service", t)
    yield from delays(trace, flow, report)


def delays(trace: Trace, flow: FlowTrace, report: Report) -> Iterator[Violation]:
    """Check the observed delays: the age of the last byte served, or the previous delay if no byte was served."""
    points, jitter = trace.grid.points, trace.grid.d_steps
    yield from report.unless(
        flow.delay[0] <= age(flow, 0, points), "delay", 0, f"{flow.delay[0]} steps seen, {age(flow, 0, points)} waited"
    )
    for t in range(points):
        yield from report.unless(possible(trace, flow.delay[t]), "delay", t, f"{flow.delay[t]} steps in such a buffer")
    for t in range(1, points):
        is_served = flow.S[t] > flow.S[t - 1]
        expected = age(flow, t, points) if is_served else flow.delay[t - 1]
        yield from report.unless(flow.delay[t] == expected, "delay", t, f"{flow.delay[t]} steps seen, not {expected}")
        if trace.acks == "steady":
            grown = flow.delay[t] - flow.delay[t - 1]
            yield from report.unless(grown <= 1, "acks", t, f"the delay seen grows by {grown} steps")
        elif len(trace.flows) == 1 and is_served and flow.S[t - 1] == 0:
            least = flow.delay[t] - 1 - jitter
            yield from report.unless(
                flow.delay[0] >= least, "delay", 0, f"{flow.delay[0]} steps seen, then {flow.delay[t]}"
            )


def age(flow: FlowTrace, t: int, points: int) -> int:
    """Return the age at t of the last byte served: the time since the byte arrived, in steps, at most `points`.

    Parameters
    ----------
    flow : FlowTrace
    t : int, the sample point
    points : int, T, the maximum of the result
    """
    return max(k for k in range(points + 1) if flow.S[t] <= flow.accepted(t - k) or k == 0)


def possible(trace: Trace, steps: int) -> bool:
    """Return whether a byte can wait for `steps`: at most beta / C + D, or one step more if its flow may pause.

    A flow may pause if a window limits the flow, or if other flows fill the queue.

    Parameters
    ----------
    trace : Trace
    steps : int, a delay
    """
    if trace.beta is None:
        return True
    pauses = len(trace.flows) > 1 or trace.flows[0].sender != "rate"
    return steps * trace.grid.step <= trace.beta + trace.grid.jitter + (trace.grid.step if pauses else 0)
