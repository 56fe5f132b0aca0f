"""The bounds C_L_lambda and q_U of a flow, computed by definition in exact fractions (thesis section 4.2.2.1).

Both are beliefs: bounds on the network that a flow infers from what it observes. C_L_lambda is a lower bound on the
link rate: the bytes sent in an interval of length T* = R, divided by T* + D, if all these bytes were served and if no
loss and no delay above D was observed since they were sent. With ``Resolution.STEP``, D + 1 step replaces D. q_U is an
upper bound on the bottleneck's queue, in bytes. A belief is stale if the link has changed since it was inferred, so
that the bound may be wrong.

Symbols: C, link rate; R, round-trip propagation delay; D, maximum jitter; units are such that C = R = 1. A, S, L, Ld:
cumulative bytes that a flow has sent, that were served, that were lost, and whose loss the flow knows, at sample point
t. alpha: one MSS. beta: the size of the buffer.

A trace is the value of each curve at each sample point; a step is the time between two points. The synthesis invariant
is the condition that each trace of a synthesized algorithm must satisfy (:mod:`fairweir.formal.exact.invariant`).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise
from random import Random

from fairweir.formal.beliefs.choices import Expiry, Resolution, Start, Terms
from fairweir.formal.encoding.trace import FlowTrace, Trace
from fairweir.formal.exact.beliefs.definition import BeliefDefinition, Columns, Values
from fairweir.formal.exact.beliefs.observed import is_loaded

ZERO = Fraction(0)


class CbrDelay(BeliefDefinition):
    """C_L_lambda, a lower bound on the rate of a constant-rate link, and q_U, an upper bound on the link's queue."""

    name = "cbr-delay"
    names = ("C_L_lambda", "q_U")

    def columns(self, trace: Trace, flow: FlowTrace, terms: Terms, first: Values) -> Columns:
        """Return C_L_lambda and q_U, computed from their initial values."""
        grid, room, length = trace.grid, room_of(trace, terms), trace.grid.r_steps
        blur = 1 if terms.resolution is Resolution.STEP else 0
        quiet = [True] + [not is_loaded(trace, flow, t, grid.d_steps + blur) for t in range(1, grid.points)]
        lower, most = [first["C_L_lambda"]], [first["q_U"]]
        samples: list[Fraction] = []
        for t in range(1, grid.points):
            ends = [e for e in range(length, t + 1) if _losses_are_known(e, t, length)]
            ends = [e for e in ends if flow.accepted(e) <= flow.S[t]]
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

    def may_start(self, trace: Trace, first: Values) -> bool:
        """Return whether C_L_lambda >= alpha and q_U >= 0."""
        return trace.alpha <= first["C_L_lambda"] and first["q_U"] >= 0

    def is_consistent(self, trace: Trace, terms: Terms, values: Values, t: int) -> bool:
        """Return whether C_L_lambda is at most C and at most (C T* + beta) / `room_of`, and q_U at least the queue."""
        lower, room = values["C_L_lambda"], room_of(trace, terms)
        fits = lower <= 1 and (trace.beta is None or 1 + trace.beta >= room * lower)
        return fits and values["q_U"] >= trace.bottleneck_queue(t)

    def first_values(self, trace: Trace, terms: Terms, part: Fraction, random: Random) -> dict[str, Fraction]:
        """Draw initial bounds: any bounds if the bounds may be stale, otherwise bounds that are true of the trace's
        network.
        """
        most = Fraction(1) if trace.beta is None else min(Fraction(1), (1 + trace.beta) / room_of(trace, terms))
        if terms.start is Start.ANY:
            most *= 4
        min_queue = Fraction(0) if terms.start is Start.ANY else max(Fraction(0), trace.bottleneck_queue(0))
        low = trace.alpha + part * max(Fraction(0), most - trace.alpha)
        return {"C_L_lambda": low, "q_U": min_queue + Fraction(random.randint(0, 8), 4)}

    def may_end(self, trace: Trace, values: Values) -> bool:
        """Return whether C_L_lambda >= alpha and q_U >= 0."""
        return values["C_L_lambda"] >= trace.alpha and values["q_U"] >= 0

    def gains(self, own: Mapping[str, tuple[Fraction, ...]]) -> bool:
        """Return whether C_L_lambda is higher at the last point than at the first."""
        return own["C_L_lambda"][-1] > own["C_L_lambda"][0]

    def loses_nothing(self, own: Mapping[str, tuple[Fraction, ...]]) -> bool:
        """Return whether the last value of C_L_lambda is at least the first value."""
        return own["C_L_lambda"][-1] >= own["C_L_lambda"][0]

    def unless_stale(self, trace: Trace, *, kept: bool, harmless: bool, shrinks: bool) -> bool:
        """Return whether the synthesis invariant holds if the initial C_L_lambda may be stale.

        If the initial C_L_lambda is above C, the invariant holds in three cases: C_L_lambda falls during the trace,
        C_L_lambda ends below alpha, or the trace satisfies all objectives. Otherwise the result is `kept`, the
        invariant for bounds that are not stale.
        """
        sending = trace.flows[0].beliefs["C_L_lambda"]
        excused = sending[-1] < sending[0] or sending[-1] < trace.alpha or harmless
        return excused if sending[0] > 1 else kept


def room_of(trace: Trace, terms: Terms) -> Fraction:
    """Return the divisor of C_L_lambda, in R: T* + D, plus one step if delays are known only to one step."""
    return 1 + trace.grid.jitter + (trace.grid.step if terms.resolution is Resolution.STEP else 0)


def _losses_are_known(end: int, t: int, delay: int) -> bool:
    """Return whether the flow knows at t all losses up to `end`. The flow knows of a loss after `delay` steps, which
    are one R.

    If `delay` is 1, the result is true. The caller then uses only intervals of which all bytes have been served, so
    that the queue is empty and no bytes were lost in the last step.
    """
    return end + delay <= t or delay == 1


def _must_expire(trace: Trace, flow: FlowTrace, lower: list[Fraction], room: Fraction) -> bool:
    """Return whether C_L_lambda times out, so that its last value is computed from this trace only.

    C_L_lambda times out in three cases: more than T - 1 MSS (T: number of points) are lost in one step; the
    last probe ends 2 R or more before the end of the trace, and more than two MSS are then still in flight; or two
    probes are less than 3 R apart.
    A probe is a step in which the rate exceeds `room` times C_L_lambda.
    """
    grid = trace.grid
    last, calm, spacing = grid.last, 2 * grid.r_steps, 3 * grid.r_steps
    if any(flow.L[t] - flow.L[t - 1] > last * trace.alpha for t in range(1, grid.points)):
        return True
    probes = [t for t in range(1, grid.points) if flow.rate[t] > room * lower[t - 1]]
    if any(later - earlier < spacing for earlier, later in pairwise(probes)):
        return True
    return bool(probes) and probes[-1] < grid.points - calm and flow.inflight(last) > 2 * trace.alpha


def _contradicted(flow: FlowTrace, lower: list[Fraction], most: list[Fraction], room: Fraction) -> bool:
    """Return whether no link within the bounds C_L_lambda and q_U explains the observed inflight or losses."""
    sent = [later - earlier for earlier, later in pairwise(flow.A)]
    if any(flow.inflight(t + 1) > amount + most[t] for t, amount in enumerate(sent)):
        return True
    lost = [later - earlier for earlier, later in pairwise(flow.Ld)][1:]
    fits = [most[t] + amount - room * lower[t] for t, amount in enumerate(sent)]
    return any(loss > max(ZERO, max_lost) for loss, max_lost in zip(lost, fits, strict=False))
