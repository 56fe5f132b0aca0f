"""The bounds C_L and C_U of a flow on the link rate, computed by definition in exact fractions (thesis section 4.1.1).

Both are beliefs: bounds on the network that a flow infers from what it observes. C_L is the maximum over s < t of (S(t)
- S(s)) / (t - s + D). C_U is the minimum of (S(t) - S(s)) / (t - s - D) over the intervals in which the link was busy.
A belief is stale if the link has changed since it was inferred, so that the bound may be wrong. A belief times out if
it gives up its value for a weaker bound.

Symbols: C, link rate; R, round-trip propagation delay; D, maximum jitter; units are such that C = R = 1. S: cumulative
bytes that the link has served, at sample point t. alpha: the rate of one MSS per R.

A trace is the value of each curve at each sample point; a step is the time between two points. The synthesis invariant
is the condition that each trace of a synthesized algorithm must satisfy (:mod:`fairweir.formal.exact.invariant`).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from random import Random

from fairweir.formal.beliefs.choices import Expiry, Start, Terms
from fairweir.formal.encoding.trace import FlowTrace, Trace
from fairweir.formal.exact.beliefs.definition import BeliefDefinition, Columns, Values
from fairweir.formal.exact.beliefs.observed import is_busy


class Ccac(BeliefDefinition):
    """C_L and C_U, the lower and the upper bound on the link rate from acknowledgments."""

    name = "ccac"
    names = ("C_L", "C_U")

    def columns(self, trace: Trace, flow: FlowTrace, terms: Terms, first: Values) -> Columns:
        """Return C_L and C_U, computed from their initial values."""
        grid, served = trace.grid, flow.S
        busy = [False] + [is_busy(trace, flow, t) for t in range(1, grid.points)]
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

    def may_start(self, trace: Trace, first: Values) -> bool:
        """Return whether alpha <= C_L <= C_U."""
        return trace.alpha <= first["C_L"] <= first["C_U"]

    def is_consistent(self, trace: Trace, terms: Terms, values: Values, t: int) -> bool:
        """Return whether C_L <= C <= C_U."""
        return values["C_L"] <= 1 <= values["C_U"]

    def first_values(self, trace: Trace, terms: Terms, part: Fraction, random: Random) -> dict[str, Fraction]:
        """Draw initial bounds: C lies between C_L and C_U, except if the bounds may be stale."""
        if terms.start is Start.ANY:
            low = trace.alpha + part * random.randint(0, 4)
            return {"C_L": low, "C_U": low + Fraction(random.randint(0, 16), 8)}
        return {"C_L": trace.alpha + part * (1 - trace.alpha), "C_U": 1 + Fraction(random.randint(0, 16), 8)}

    def gains(self, own: Mapping[str, tuple[Fraction, ...]]) -> bool:
        """Return whether C_U - C_L is smaller at the last point than at the first."""
        return _width(own, -1) < _width(own, 0)

    def loses_nothing(self, own: Mapping[str, tuple[Fraction, ...]]) -> bool:
        """Return whether the last value of C_U - C_L is at most the first value."""
        return _width(own, -1) <= _width(own, 0)

    def unless_stale(self, trace: Trace, *, kept: bool, harmless: bool, shrinks: bool) -> bool:
        """Return whether the synthesis invariant holds if the initial C_L and C_U may be stale.

        If the initial C_L is above C or the initial C_U is below C, the invariant holds in four cases: the wrong bound
        moves towards C, C_L ends above C_U, the trace satisfies all objectives, or `shrinks` is true. Otherwise the
        result is `kept`.
        """
        lower, upper = trace.flows[0].beliefs["C_L"], trace.flows[0].beliefs["C_U"]
        excused = lower[-1] > upper[-1] or harmless or shrinks
        if lower[0] > 1:
            return excused or lower[-1] < lower[0]
        return excused or upper[-1] > upper[0] if upper[0] < 1 else kept


def _width(own: Mapping[str, tuple[Fraction, ...]], t: int) -> Fraction:
    return own["C_U"][t] - own["C_L"][t]


def _time_out(lower: list[Fraction], upper: list[Fraction], fresh: Fraction) -> tuple[Fraction, Fraction]:
    """Return C_L and C_U at the last point, after timeouts, as in the published code.

    Neither bound times out if C_U > 2 C_L. Otherwise a bound that did not move in the trace times out if the other
    bound moved by a factor of at most 1.1, or if the other bound moved and C_U is now below C_L.

    Parameters
    ----------
    lower, upper : C_L and C_U at each point, without timeouts
    fresh : C_L computed from this trace only, the value after a timeout
    """
    low, high = lower[-1], upper[-1]
    if high > 2 * low:
        return low, high
    crossed, low_moved, high_moved = high < low, low > lower[0], high < upper[0]
    low_grew, high_fell = low > Fraction(11, 10) * lower[0], Fraction(11, 10) * high < upper[0]
    low_ends = not low_moved and ((high_moved and crossed) or not high_fell)
    high_ends = not high_moved and ((low_moved and crossed) or not low_grew)
    new_low = fresh if low_ends else low
    return new_low, max(new_low, Fraction(3, 2) * upper[-2]) if high_ends else high
