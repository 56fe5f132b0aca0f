"""Beliefs from a flow's observations, by their definitions (thesis section 4.1.1, 4.2.2.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from itertools import pairwise

from fairweir.formal.beliefs.choices import Expiry, Family, Resolution, Start, Terms
from fairweir.formal.encoding.trace import FlowTrace, Trace
from fairweir.formal.exact.networks import definition_of
from fairweir.formal.exact.report import Report, Violation
from fairweir.formal.exact.senders import min_qdelay

ZERO = Fraction(0)
Columns = dict[str, list[Fraction]]


def belief_violations(trace: Trace, index: int) -> Iterator[Violation]:
    """Check every belief that was attached to a flow, recomputed from its first value."""
    flow, report = trace.flows[index], Report(index)
    for family, terms in flow.attached.items():
        first = {name: flow.beliefs[name][0] for name in NAMES[family]}
        yield from _valid_start(trace, family, terms, first, report)
        for name, column in FAMILIES[family](trace, flow, terms, first).items():
            for t, expected in enumerate(column):
                yield from report.equal(name, flow.beliefs[name][t], expected, "beliefs", t)
    for name, offset in (("qdel_L", None), ("qdel_U", trace.grid.step)):
        for t, found in enumerate(flow.beliefs.get(name, ())):
            expected = min_qdelay(trace, flow, t) if offset is None else flow.delay[t] * trace.grid.step + offset
            yield from report.equal(name, found, expected, "beliefs", t)


def is_consistent(trace: Trace, family: Family, terms: Terms, values: Mapping[str, Fraction], t: int) -> bool:
    """Return whether the trace's network is consistent with the values at t."""
    if family is Family.CCAC:
        return values["C_L"] <= 1 <= values["C_U"]
    if family is Family.BUFFER:
        return trace.beta is not None and values["beta_L"] <= trace.beta <= values["beta_U"]
    lower, room = values["C_L_lambda"], room_of(trace, terms)
    fits = lower <= 1 and (trace.beta is None or 1 + trace.beta >= room * lower)
    return fits and values["q_U"] >= trace.bottleneck_queue(t)


def room_of(trace: Trace, terms: Terms) -> Fraction:
    """Return T* + D, or a step more, in R."""
    return 1 + trace.grid.jitter + (trace.grid.step if terms.resolution is Resolution.STEP else 0)


def ccac(trace: Trace, flow: FlowTrace, terms: Terms, first: Mapping[str, Fraction]) -> Columns:
    """Return C_L and C_U from their first values on."""
    grid, served = trace.grid, flow.S
    busy = [False] + [_is_busy(trace, flow, t) for t in range(1, grid.points)]
    lower, upper = [first["C_L"]], [first["C_U"]]
    samples: list[Fraction] = []
    for t in range(1, grid.points):
        now = [(served[t] - served[s]) / ((t - s) * grid.step + grid.jitter) for s in range(t)]
        samples += now
        lower.append(max(lower[-1], *now))
        spans = [s for s in range(t) if t - s > grid.d_steps and all(busy[s + 1 : t + 1])]
        ratios = [(served[t] - served[s]) / ((t - s) * grid.step - grid.jitter) for s in spans]
        upper.append(min([upper[-1], *ratios]))
    if terms.expiry is Expiry.AT_END:
        lower[-1], upper[-1] = _time_out(lower, upper, max(samples))
    return {"C_L": lower, "C_U": upper}


def cbr_delay(trace: Trace, flow: FlowTrace, terms: Terms, first: Mapping[str, Fraction]) -> Columns:
    """Return C_L_lambda and q_U from their first values on."""
    grid, room, length = trace.grid, room_of(trace, terms), trace.grid.r_steps
    blur = 1 if terms.resolution is Resolution.STEP else 0
    quiet = [True] + [not _is_loaded(trace, flow, t, grid.d_steps + blur) for t in range(1, grid.points)]
    lower, most = [first["C_L_lambda"]], [first["q_U"]]
    samples: list[Fraction] = []
    for t in range(1, grid.points):
        ends = [e for e in range(length, t + 1) if _losses_are_known(e, t, length) and flow.accepted(e) <= flow.S[t]]
        ends = [e for e in ends if all(quiet[e - length + 1 : t + 1])]
        now = [(flow.A[e] - flow.A[e - length]) / room for e in ends]
        samples += now
        lower.append(max([lower[-1], *now]))
        grown = most[-1] + flow.A[t] - flow.A[t - 1] - lower[-1] * grid.step
        most.append(min(flow.inflight(t), max(ZERO, grown)))
    if terms.expiry is not Expiry.NEVER:
        by_contradiction = terms.expiry is Expiry.ON_CONTRADICTION
        if _contradicted(flow, lower, most, room) if by_contradiction else _must_expire(trace, flow, lower, room):
            lower[-1] = max([trace.alpha, lower[0] / 2, *samples])
        most[-1] = flow.inflight(grid.last)
    return {"C_L_lambda": lower, "q_U": most}


def buffer_size(trace: Trace, flow: FlowTrace, terms: Terms, first: Mapping[str, Fraction]) -> Columns:
    """Return beta_L and beta_U from their first values and the flow's C_L and C_U; they have no time-outs."""
    grid, back = trace.grid, trace.grid.r_steps
    lower, upper = [first["beta_L"]], [first["beta_U"]]
    for t in range(1, grid.points):
        held = [flow.beliefs["C_L"][t] * min_qdelay(trace, flow, t)]
        if t >= back:
            queue = flow.accepted(t - back) - flow.S[t - back]
            held.append(queue - flow.beliefs["C_U"][t] * grid.jitter)
        is_full = t > back and flow.L[t - back] > flow.L[t - back - 1]
        lower.append(max(lower[-1], *held))
        upper.append(min(upper[-1], queue) if is_full else upper[-1])
    return {"beta_L": lower, "beta_U": upper}


#: Computation of each family.
FAMILIES: Mapping[Family, Callable[[Trace, FlowTrace, Terms, Mapping[str, Fraction]], Columns]] = {
    Family.CCAC: ccac,
    Family.CBR_DELAY: cbr_delay,
    Family.BUFFER: buffer_size,
}
#: Beliefs of each family.
NAMES: Mapping[Family, tuple[str, str]] = {
    Family.CCAC: ("C_L", "C_U"),
    Family.CBR_DELAY: ("C_L_lambda", "q_U"),
    Family.BUFFER: ("beta_L", "beta_U"),
}


def _valid_start(
    trace: Trace, family: Family, terms: Terms, first: Mapping[str, Fraction], report: Report
) -> Iterator[Violation]:
    if family is Family.CCAC:
        is_valid = trace.alpha <= first["C_L"] <= first["C_U"]
    elif family is Family.BUFFER:
        is_valid = 0 <= first["beta_L"] <= first["beta_U"]
    else:
        is_valid = trace.alpha <= first["C_L_lambda"] and first["q_U"] >= 0
    yield from report.unless(is_valid, "beliefs", 0, f"{family} starts with impossible values")
    if terms.start is Start.CONSISTENT:
        fits = is_consistent(trace, family, terms, first, 0)
        yield from report.unless(fits, "beliefs", 0, f"{family} starts inconsistent with the network")


def _knows_loss(trace: Trace, flow: FlowTrace, t: int) -> bool:
    known = flow.L if definition_of(trace).knows_losses_at_once else flow.Ld
    return known[t] > known[t - 1]


def _losses_are_known(end: int, t: int, delay: int) -> bool:
    """Return whether losses up to `end` are known at t; an empty queue after a step of R excludes losses in it."""
    return end + delay <= t or delay == 1


def _is_busy(trace: Trace, flow: FlowTrace, t: int) -> bool:
    """Did the flow see, in the step up to t, that the link had more to do than it could?"""
    sends = flow.A[t] > flow.A[t - 1]
    return (min_qdelay(trace, flow, t) > 0 and sends) or _knows_loss(trace, flow, t)


def _is_loaded(trace: Trace, flow: FlowTrace, t: int, steps: int) -> bool:
    """Return whether the first byte served in the step up to t had waited longer than that, or there was a loss."""
    is_served, sends = flow.S[t] > flow.S[t - 1], flow.A[t] > flow.A[t - 1]
    # The byte after S(t-1) is older than that if it had arrived by t - steps - 1.
    is_old = steps < trace.grid.points and flow.accepted(t - steps - 1) > flow.S[t - 1]
    return (is_served and sends and is_old) or _knows_loss(trace, flow, t)


def _time_out(lower: list[Fraction], upper: list[Fraction], fresh: Fraction) -> tuple[Fraction, Fraction]:
    """Return C_L and C_U at the end, timed out where they did not move and are near each other (published code)."""
    low, high = lower[-1], upper[-1]
    if high > 2 * low:
        return low, high
    crossed, low_moved, high_moved = high < low, low > lower[0], high < upper[0]
    low_grew, high_fell = low > Fraction(11, 10) * lower[0], Fraction(11, 10) * high < upper[0]
    low_ends = not low_moved and ((high_moved and crossed) or not high_fell)
    high_ends = not high_moved and ((low_moved and crossed) or not low_grew)
    new_low = fresh if low_ends else low
    return new_low, max(new_low, Fraction(3, 2) * upper[-2]) if high_ends else high


def _must_expire(trace: Trace, flow: FlowTrace, lower: list[Fraction], room: Fraction) -> bool:
    """Return whether a large loss, a queue that does not drain, or probes too close end C_L_lambda."""
    grid = trace.grid
    last, calm, spacing = grid.last, 2 * grid.r_steps, 3 * grid.r_steps
    if any(flow.L[t] - flow.L[t - 1] > last * trace.alpha for t in range(1, grid.points)):
        return True
    probes = [t for t in range(1, grid.points) if flow.rate[t] > room * lower[t - 1]]
    if any(later - earlier < spacing for earlier, later in pairwise(probes)):
        return True
    return bool(probes) and probes[-1] < grid.points - calm and flow.inflight(last) > 2 * trace.alpha


def _contradicted(flow: FlowTrace, lower: list[Fraction], most: list[Fraction], room: Fraction) -> bool:
    """Return whether more stays in flight, or is lost, than any link that the beliefs admit would leave or lose."""
    sent = [later - earlier for earlier, later in pairwise(flow.A)]
    if any(flow.inflight(t + 1) > amount + most[t] for t, amount in enumerate(sent)):
        return True
    lost = [later - earlier for earlier, later in pairwise(flow.Ld)][1:]
    fits = [most[t] + amount - room * lower[t] for t, amount in enumerate(sent)]
    return any(loss > max(ZERO, max_lost) for loss, max_lost in zip(lost, fits, strict=False))
