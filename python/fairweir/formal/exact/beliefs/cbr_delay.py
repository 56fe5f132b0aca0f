"""The definitions of C_L_lambda and q_U (thesis section 4.2.2.1)."""

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
    """A lower bound on a constant-rate link's rate, from data sent in one R without a queue, and an upper bound on its
    queue.
    """

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
        """Return whether the bounds admit the trace's C, beta and bottleneck queue."""
        lower, room = values["C_L_lambda"], room_of(trace, terms)
        fits = lower <= 1 and (trace.beta is None or 1 + trace.beta >= room * lower)
        return fits and values["q_U"] >= trace.bottleneck_queue(t)

    def first_values(self, trace: Trace, terms: Terms, part: Fraction, random: Random) -> dict[str, Fraction]:
        """Draw bounds that admit the network, or arbitrary ones if beliefs may be stale."""
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
        """Return whether C_L_lambda is at the last point at least its first value."""
        return own["C_L_lambda"][-1] >= own["C_L_lambda"][0]

    def unless_stale(self, trace: Trace, *, kept: bool, harmless: bool, shrinks: bool) -> bool:
        """Return whether C_L_lambda, if it is above C, falls, becomes invalid, or violates no objective."""
        sending = trace.flows[0].beliefs["C_L_lambda"]
        excused = sending[-1] < sending[0] or sending[-1] < trace.alpha or harmless
        return excused if sending[0] > 1 else kept


def room_of(trace: Trace, terms: Terms) -> Fraction:
    """Return T* + D, in R; one step more if the beliefs resolve times to a step."""
    return 1 + trace.grid.jitter + (trace.grid.step if terms.resolution is Resolution.STEP else 0)


def _losses_are_known(end: int, t: int, delay: int) -> bool:
    """Return whether losses up to `end` are known at t; an empty queue after a step of R excludes losses in that
    step.
    """
    return end + delay <= t or delay == 1


def _must_expire(trace: Trace, flow: FlowTrace, lower: list[Fraction], room: Fraction) -> bool:
    """Return whether C_L_lambda times out: after a large loss, if a queue does not drain, or if probes are too
    close.
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
    """Return whether inflight or losses exceed those of every link that the beliefs admit."""
    sent = [later - earlier for earlier, later in pairwise(flow.A)]
    if any(flow.inflight(t + 1) > amount + most[t] for t, amount in enumerate(sent)):
        return True
    lost = [later - earlier for earlier, later in pairwise(flow.Ld)][1:]
    fits = [most[t] + amount - room * lower[t] for t, amount in enumerate(sent)]
    return any(loss > max(ZERO, max_lost) for loss, max_lost in zip(lost, fits, strict=False))
