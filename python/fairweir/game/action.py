"""The action of a leaf after the shield, as constraints for a solver.

A leaf of the decision tree determines an *action*: what the sender sends in the next step, and the size of the next
frames. The *shield* is a list of rules, each of which may limit or replace the action. Each rule has its own unknowns
in the constraints, so the solvers' text has the same order as the controller file. M is the minimum link rate of the
sender's belief set, and the unit of all amounts; R0 is the largest rate at which no link of this set loses packets.

A *batch* is the output of the encoder in one step; a *step* is the time between two *points* at which the sender
decides.

If the sides of a comparison differ by less than a tolerance, the constraints allow either result. A proof therefore
also holds for a controller that compares doubles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from fairweir.ccas.controller_file import Cap, Condition, Controller, Form, Guard, Instead, Leaf, Send
from fairweir.game.model import number
from fairweir.game.state import State

if TYPE_CHECKING:
    import z3


@dataclass(frozen=True)
class Action:
    """Packets that reach the queue between the next point and the point after it, in units of M.

    Attributes
    ----------
    message : packets of frames; the other packets of `rate` are repair packets
    rate : all packets
    encode : target size of the frames that the encoder produces during the step
    """

    message: z3.ArithRef
    rate: z3.ArithRef
    encode: z3.ArithRef

    @classmethod
    def named(cls, name: str) -> Action:
        """Return an action of unknowns."""
        import z3

        return cls(z3.Real(f"message{name}"), z3.Real(f"rate{name}"), z3.Real(f"encode{name}"))


def width(state: State, form: Form, tolerance: Fraction) -> z3.ArithRef:
    """Return the tolerance of a comparison of `form`: `tolerance` times the sum of the coefficients' absolute values,
    but at least `tolerance`.
    """
    factors = sum((abs(factor) for factor in form.values()), Fraction(0))
    return number(tolerance * max(Fraction(1), factors)) * state.m


def on_path(state: State, path: Sequence[Condition], tolerance: Fraction) -> list[z3.BoolRef]:
    """Return the constraints under which the conditions on `path` lead to a leaf."""
    held = []
    for one in path:
        value, limit = state.compared(one.feature), number(one.at_most) * state.m
        slack = width(state, one.feature, tolerance)
        if one.is_within:
            held.append(value <= limit + slack)
        else:
            held.append(value >= limit - slack if tolerance else value > limit)
    return held


def decided(state: State, leaf: Leaf, action: Action) -> list[z3.BoolRef]:
    """Return the constraints that `action` is the leaf's action before the shield."""
    import z3

    f = state.features
    sizes = {Send.NEWEST: f["newest"], Send.OLDEST: f["oldest"], Send.ALL: f["sum"], Send.EACH: f["sum"]}
    held: list[z3.BoolRef] = [is_maximum(action.encode, state.value(leaf.encode), z3.RealVal(0))]
    rate = state.value(leaf.rate)
    if leaf.send is Send.NONE:
        return [*held, action.message == 0, is_maximum(action.rate, rate, z3.RealVal(0))]
    # If no batch waits, the message has size 0 (State.waits), so the action has a rate and no message.
    held.append(action.message == sizes[leaf.send])
    if leaf.send is not Send.EACH:
        return [*held, is_maximum(action.rate, rate, action.message)]
    wanted, most = z3.Real(f"{action.rate}_wanted"), z3.Real(f"{action.rate}_max")
    capped = [is_maximum(most, f["r0"], action.message), *is_minimum_of(action.rate, wanted, most)]
    # If no batch waits, no frame needs to arrive without repair packets, and R0 does not limit the rate.
    caps = z3.If(f["waiting"] == 0, action.rate == wanted, z3.And(*capped))
    return [*held, is_maximum(wanted, rate, action.message), caps]


def shielded(
    state: State, controller: Controller, leaf: Leaf, name: str, tolerance: Fraction
) -> tuple[Action, list[z3.BoolRef]]:
    """Return the leaf's action after the shield, and the constraints that determine it.

    Parameters
    ----------
    name : str, prefix of the unknowns' names
    tolerance : Fraction, tolerance of comparisons in units of M; :func:`width` multiplies it
    """
    action = Action.named(f"{name}_0")
    held = decided(state, leaf, action)
    for index, rule in enumerate(controller.shield, 1):
        after = Action.named(f"{name}_{index}")
        held.append(_ruled(state, rule, action, after, tolerance))
        action = after
    return action, held


def _ruled(state: State, rule: Guard | Cap, before: Action, after: Action, tolerance: Fraction) -> z3.BoolRef:
    """Return the constraint that `after` is the action `before` after one rule of the shield."""
    import z3

    zero = z3.RealVal(0)
    limit, slack = state.value(rule.at), width(state, rule.at, tolerance)
    holds = [after.message == 0, after.rate == 0, after.encode == before.encode]
    same = [after.message == before.message, after.rate == before.rate, after.encode == before.encode]
    if isinstance(rule, Cap):
        most = z3.Real(f"{after.rate}_max")
        fits = z3.And(before.message <= most + slack, *is_minimum_of(after.rate, before.rate, most), same[0], same[2])
        too_low = most <= before.message + slack if tolerance else most < before.message
        return z3.And(is_maximum(most, limit, zero), z3.Or(fits, z3.And(too_low, *holds)))
    subject = before.message if rule.subject == "message" else before.rate
    outside = subject >= limit - slack if tolerance else subject > limit
    size = {Instead.NEWEST: state.features["newest"], Instead.OLDEST: state.features["oldest"]}.get(rule.instead, zero)
    instead = [after.message == size, after.rate == size]
    instead.append(after.encode == (zero if rule.instead is Instead.SKIP else before.encode))
    return z3.Or(z3.And(subject <= limit + slack, *same), z3.And(outside, *instead))


def is_maximum(value: z3.ArithRef, one: z3.ArithRef, other: z3.ArithRef) -> z3.BoolRef:
    """Return the constraint ``value = max(one, other)``."""
    import z3

    return z3.And(value >= one, value >= other, z3.Or(value <= one, value <= other))


def is_minimum_of(value: z3.ArithRef, one: z3.ArithRef, other: z3.ArithRef) -> list[z3.BoolRef]:
    """Return the constraints ``value = min(one, other)``."""
    import z3

    return [value <= one, value <= other, z3.Or(value >= one, value >= other)]
