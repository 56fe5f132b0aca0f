"""The bounds C_L and C_U of a flow on the link rate, as constraints for solvers (thesis equation 4.1.2, section A.2.2).

Both are beliefs: bounds on the network that a flow infers from what it observes, here from acknowledgments. A belief is
stale if it was true of an earlier link only. A belief times out if it gives up its value for a weaker bound. Symbols:
C, link rate; R, round-trip propagation delay; D, maximum jitter; units are such that C = R = 1. S: cumulative bytes
served, at sample point t. C_L is the maximum of (S(t) - S(s)) / (t - s + D) over s < t. C_U is the minimum of (S(t) -
S(s)) / (t - s - D) over the intervals in which the link was certainly busy, as delays above D or losses show.

The bounds are true on every network model whose service lags a server of rate C by at most D.

A trace is the value of each curve at each sample point; a step is the time between two points. A system is the
variables of a trace and the constraints on these variables, which form one question to a solver.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import z3

from fairweir.documents.arguments import words_for_enums
from fairweir.errors import ConfigError
from fairweir.formal.beliefs.choices import Expiry, Start, Terms, needs_rate
from fairweir.formal.beliefs.family import USUAL, Family
from fairweir.formal.beliefs.samples import is_minimum
from fairweir.formal.encoding.buffers import Buffer
from fairweir.formal.encoding.system import Bit, Curve, System, is_max

if TYPE_CHECKING:
    from fairweir.formal.models.model import Model

#: Factor by which C_U grows at a timeout. Thesis: at most 2; published code: 1.5.
LARGEST_EXPANSION = z3.Q(3, 2)
#: If C_U / C_L exceeds this number, neither bound times out. Thesis: 1.1; published code: 2.
FAR_APART = 2
#: A bound that changes by less than this factor in the trace counts as unchanged.
MOVED = z3.Q(11, 10)


@words_for_enums
def attach(system: System, *, flow: int = 0, start: Start = Start.CONSISTENT, expiry: Expiry = Expiry.NEVER) -> None:
    """Add the beliefs ``C_L`` and ``C_U``, rates in C, to a flow.

    Parameters
    ----------
    system : System
    flow : int, index of the flow, which must send by rate
    start : Start, whether the bounds may be stale at t = 0
    expiry : Expiry, whether the bounds may time out at the last point (thesis section 4.1.1.2)
    """
    needs_rate(system.flows[flow].sender)
    stem = flow if len(system.flows) > 1 else None
    lower, upper = system.reals("C_L", stem), system.reals("C_U", stem)
    busy = busy_runs(system, flow)
    last = system.grid.last
    if expiry is Expiry.ON_CONTRADICTION:
        raise ConfigError("bounds from acknowledgements have no such time-outs", key="expiry", value=expiry)
    expires = expiry is Expiry.AT_END
    kept_lower = z3.Real(f"{lower[last]}_kept") if expires else lower[last]
    kept_upper = z3.Real(f"{upper[last]}_kept") if expires else upper[last]
    group = f"beliefs {flow}"
    system.require(group, system.alpha <= lower[0], lower[0] <= upper[0])
    if start is Start.CONSISTENT:
        system.require(group, consistent_rates(lower[0], upper[0]))
    for t in range(1, system.grid.points):
        new_lower, new_upper = (kept_lower, kept_upper) if t == last else (lower[t], upper[t])
        system.require(group, *is_max(new_lower, [lower[t - 1], *_min_rates(system, flow, t)]))
        system.require(group, *_is_upper(system, flow, new_upper, upper[t - 1], t, busy))
    system.flows[flow].beliefs |= {"C_L": lower, "C_U": upper}
    system.flows[flow].attached["ccac"] = Terms(start, expiry)
    if expires:
        system.require(f"time-outs {flow}", *_time_outs(system, flow, kept_lower, kept_upper))


def consistent_rates(lower: z3.ArithRef, upper: z3.ArithRef) -> Bit:
    """Return the condition lower <= C <= upper, where C = 1."""
    return z3.And(lower <= 1, upper >= 1)


def busy_steps(system: System, flow: int) -> list[Bit]:
    """Return, for each point, the condition that the flow observed a busy link in the step before the point.

    A loss shows that the link was busy, and so does a delay above D, because the flow always sends. On an ideal link,
    senders know of a loss at once.

    Parameters
    ----------
    system : System
    flow : int, index of the flow
    """
    own = system.flows[flow]
    known = own.L if system.network.knows_losses_at_once else own.Ld
    out: list[Bit] = [z3.BoolVal(False)]
    for t in range(1, system.grid.points):
        delayed = system.qdel_l_above(t, 0, flow)
        out.append(z3.Or(delayed, known[t] > known[t - 1]) if system.buffer.is_finite else delayed)
    return out


def busy_runs(system: System, flow: int) -> list[list[Bit]]:
    """Return, for each t and each s < t, the condition that all steps from s to t were busy.

    Parameters
    ----------
    system : System
    flow : int, index of the flow
    """
    steps = busy_steps(system, flow)
    return [[z3.And(*steps[s + 1 : t + 1]) for s in range(t)] for t in range(system.grid.points)]


def _min_rates(system: System, flow: int, t: int) -> list[z3.ArithRef]:
    """Return (S(t) - S(s)) / (t - s + D) for every s < t."""
    grid, served = system.grid, system.flows[flow].S
    return [(served[t] - served[s]) * (1 / ((t - s) * grid.step + grid.jitter)) for s in range(t)]


def _is_upper(
    system: System, flow: int, value: z3.ArithRef, before: z3.ArithRef, t: int, busy: list[list[Bit]]
) -> list[z3.BoolRef]:
    """Return the constraint that C_U(t) is the minimum of C_U(t-1) and of (S(t) - S(s)) / (t - s - D) over all s for
    which the interval from s to t is busy and longer than D.
    """
    grid, served = system.grid, system.flows[flow].S
    spans = [(s, (t - s) * grid.step - grid.jitter) for s in range(t - grid.d_steps)]
    return is_minimum(value, before, [(busy[t][s], (served[t] - served[s]) * (1 / length)) for s, length in spans])


def _time_outs(system: System, flow: int, kept_lower: z3.ArithRef, kept_upper: z3.ArithRef) -> list[z3.BoolRef]:
    """Return the constraints on C_L and C_U at the last point: a bound keeps its value or times out (published code).

    If C_L times out, it is computed from this trace only. If C_U times out, it grows by `LARGEST_EXPANSION`.
    """
    lower, upper = system.flows[flow].beliefs["C_L"], system.flows[flow].beliefs["C_U"]
    last = system.grid.last
    near = kept_upper <= FAR_APART * kept_lower
    crossed = kept_upper < kept_lower
    lower_still, upper_still = kept_lower <= lower[0], kept_upper >= upper[0]
    upper_rests, lower_rests = MOVED * kept_upper >= upper[0], kept_lower <= MOVED * lower[0]
    lower_ends = z3.And(lower_still, near, z3.Or(z3.And(z3.Not(upper_still), crossed), upper_rests))
    upper_ends = z3.And(upper_still, near, z3.Or(z3.And(z3.Not(lower_still), crossed), lower_rests))
    fresh = _fresh_lower(system, flow)
    expanded = LARGEST_EXPANSION * upper[last - 1]
    return [
        *(z3.Implies(lower_ends, bound) for bound in is_max(lower[last], fresh)),
        z3.Implies(z3.Not(lower_ends), lower[last] == kept_lower),
        *(z3.Implies(upper_ends, bound) for bound in is_max(upper[last], [lower[last], expanded])),
        z3.Implies(z3.Not(upper_ends), upper[last] == kept_upper),
    ]


def _fresh_lower(system: System, flow: int) -> list[z3.ArithRef]:
    return [rate for t in range(1, system.grid.points) for rate in _min_rates(system, flow, t)]


def consistent(system: System, t: int, flow: int = 0) -> Bit:
    """Return the condition that C_L and C_U of a flow are true bounds on C at t."""
    own: dict[str, Curve] = system.flows[flow].beliefs
    return consistent_rates(own["C_L"][t], own["C_U"][t])


class Ccac(Family):
    """The family of C_L and C_U, bounds on the link rate."""

    name = "ccac"
    names = ("C_L", "C_U")
    claims = {
        "C_L <= C": lambda system, t: system.flows[0].beliefs["C_L"][t] <= 1,
        "C <= C_U": lambda system, t: system.flows[0].beliefs["C_U"][t] >= 1,
    }

    def attach(self, system: System, *, flow: int = 0, terms: Terms = USUAL) -> None:
        """Add C_L and C_U to a flow."""
        attach(system, flow=flow, start=terms.start, expiry=terms.expiry)

    @words_for_enums
    def is_sound_on(self, model: Model, buffer: Buffer) -> bool:
        """Return true: on every model, service lags a server of rate C by at most D."""
        return True

    def consistent(self, system: System, t: int, flow: int = 0) -> list[Bit]:
        """Return the condition C_L <= C <= C_U at t."""
        return [consistent(system, t, flow)]

    def gains(self, system: System) -> Bit:
        """Return the condition that C_U - C_L is smaller at the last point than at the first."""
        return _width(system, system.grid.last) < _width(system, 0)

    def loses_nothing(self, system: System) -> Bit:
        """Return the condition that the last value of C_U - C_L is at most its first value."""
        return _width(system, system.grid.last) <= _width(system, 0)

    def unless_stale(self, system: System, claim: Bit, harmless: Bit, improves: Bit) -> Bit:
        """Return the synthesis invariant, which each trace of a candidate algorithm must satisfy, for bounds that may
        be stale.

        If the initial C_L is above C or the initial C_U is below C, one of four conditions suffices: the wrong bound
        moves towards C, C_L ends above C_U, the trace satisfies all objectives (`harmless`), or the bounds become
        tighter (`improves`). Otherwise the result is `claim`, the invariant for bounds that are not stale.
        """
        own, last = system.flows[0].beliefs, system.grid.last
        lower, upper = own["C_L"], own["C_U"]
        excuses = z3.Or(lower[last] > upper[last], harmless, improves)
        high = z3.Or(lower[last] < lower[0], excuses)
        low = z3.Or(upper[last] > upper[0], excuses)
        return z3.If(lower[0] > 1, high, z3.If(upper[0] < 1, low, claim))


def _width(system: System, t: int) -> z3.ArithRef:
    own = system.flows[0].beliefs
    return own["C_U"][t] - own["C_L"][t]
