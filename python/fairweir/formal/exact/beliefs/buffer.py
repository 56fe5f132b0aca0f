"""The bounds beta_L and beta_U of a flow on the size of the buffer, computed by definition in exact fractions.

Both are beliefs: bounds on the network that a flow infers from what it observes. The derivation is in
:mod:`fairweir.formal.beliefs.buffer`. A belief is stale if the link has changed since it was inferred, so that the
bound may be wrong.

Symbols: beta, the size of the buffer; C_L and C_U, the flow's bounds on the link rate; S and L, cumulative bytes that
were served and lost, at sample point t; R, the round-trip propagation delay.
"""

from __future__ import annotations

from fractions import Fraction
from random import Random

from fairweir.formal.beliefs.choices import Start, Terms
from fairweir.formal.encoding.trace import FlowTrace, Trace
from fairweir.formal.exact.beliefs.definition import BeliefDefinition, Columns, Values
from fairweir.formal.exact.senders import min_qdelay


class BufferSize(BeliefDefinition):
    """beta_L and beta_U, computed from the queue one R earlier and from C_L and C_U. They have no timeouts."""

    name = "buffer"
    names = ("beta_L", "beta_U")

    def columns(self, trace: Trace, flow: FlowTrace, terms: Terms, first: Values) -> Columns:
        """Return beta_L and beta_U, computed from their initial values and the flow's C_L and C_U."""
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

    def may_start(self, trace: Trace, first: Values) -> bool:
        """Return whether 0 <= beta_L <= beta_U."""
        return 0 <= first["beta_L"] <= first["beta_U"]

    def is_consistent(self, trace: Trace, terms: Terms, values: Values, t: int) -> bool:
        """Return whether beta_L <= beta <= beta_U."""
        return trace.beta is not None and values["beta_L"] <= trace.beta <= values["beta_U"]

    def first_values(self, trace: Trace, terms: Terms, part: Fraction, random: Random) -> dict[str, Fraction]:
        """Draw initial bounds: beta lies between beta_L and beta_U, except if the bounds may be stale."""
        size = Fraction(0) if terms.start is Start.ANY else (trace.beta or Fraction(0))
        return {"beta_L": part * size, "beta_U": size + Fraction(random.randint(0, 16), 8)}
