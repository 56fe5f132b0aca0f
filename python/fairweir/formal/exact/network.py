"""Check a network's behavior by definition: the link, losses and the order of service."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from fairweir.formal.encoding.buffers import Buffer
from fairweir.formal.encoding.trace import FlowTrace, Trace
from fairweir.formal.exact.networks import definition_of
from fairweir.formal.exact.report import NETWORK, Report, Violation, rising

ZERO = Fraction(0)


def network_violations(trace: Trace) -> Iterator[Violation]:
    """Check alpha and beta, the link, losses, and the order of service."""
    yield from path(trace)
    yield from definition_of(trace).link(trace)
    if trace.beta is not None:
        yield from losses(trace, trace.beta)
    if len(trace.flows) > 1:
        yield from order(trace)


def path(trace: Trace) -> Iterator[Violation]:
    """Check alpha and beta: 0 < alpha < C R / 5, and beta against the buffer."""
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
    """Check that exactly the overflow of the buffer is lost.

    Parameters
    ----------
    trace : Trace
    beta : size of the buffer, in C R
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
    """Check that service is first in, first out, as far as sample points show it."""
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
    """Check a flow's curves: their origin, that they rise, and when losses are detected.

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
    """Check the observed delays: the age of the last byte served, or the previous delay if nothing was served."""
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
    """Return the age at t of the last byte served, in whole steps, at most `points`.

    Parameters
    ----------
    flow : FlowTrace
    t : int, the point
    points : int, T, the maximum of the result
    """
    return max(k for k in range(points + 1) if flow.S[t] <= flow.accepted(t - k) or k == 0)


def possible(trace: Trace, steps: int) -> bool:
    """Return whether a byte can wait for `steps`: at most beta / C + D, and one step more if its flow may pause.

    Parameters
    ----------
    trace : Trace
    steps : int, a delay
    """
    if trace.beta is None:
        return True
    pauses = len(trace.flows) > 1 or trace.flows[0].sender != "rate"
    return steps * trace.grid.step <= trace.beta + trace.grid.jitter + (trace.grid.step if pauses else 0)
