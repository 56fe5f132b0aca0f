"""Encode a rule as constraints for solvers: the sender's rate is what the rule computes from beliefs of one R earlier.

A rule is a congestion control algorithm: a list of branches, each with conditions and a rate, both linear in the flow's
beliefs. A belief is a bound on the network that a flow infers from what it observes, such as qdel_L, the lower bound on
the queueing delay. A system is the variables and constraints of one question to a solver.

Symbols: C, link rate; R, round-trip propagation delay; units are such that C = R = 1. alpha: the rate of one MSS per R.
t: a sample point.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import z3

from fairweir.ccas.linear import Atom, LinearForm
from fairweir.ccas.rule import Comparison, Condition, Rule
from fairweir.formal.encoding.system import System
from fairweir.formal.exact.senders import decisions

_ALPHA = Atom("alpha", 0)
_QDEL_L = Atom("qdel_L", 0)
_R = Atom("", 1)

#: A function that returns the solver's variable for a belief or for alpha, by name.
Lookup = Callable[[str], z3.ArithRef]


def attach(rule: Rule, system: System, flow: int = 0) -> list[z3.BoolRef]:
    """Add the constraints to `system` by which `flow` sends as `rule` decides, and return these constraints.

    In the system, the constraints form a group with the name ``rule FLOW``. The beliefs that the rule reads must be
    attached to the flow before.

    Parameters
    ----------
    rule : Rule
    system : System, in which the flow has the beliefs that the rule reads
    flow : int, index of the flow
    """
    constraints = encode(rule, system, flow)
    system.decide(f"rule {flow}", lambda trace: decisions(trace, flow, rule.decide), *constraints)
    return constraints


def encode(rule: Rule, system: System, flow: int = 0) -> list[z3.BoolRef]:
    """Return the constraints by which `flow` sends as `rule` decides, at every point from t = R on.

    The beliefs that the rule reads must be attached to the flow before. A rule's rate is max(alpha, expression). The
    system already has the constraint rate >= alpha, so the result needs only the other constraints of the maximum.

    Parameters
    ----------
    rule : Rule
    system : System, in which the flow has the beliefs that the rule reads
    flow : int, index of the flow

    Returns
    -------
    list of z3 Bool, which the caller adds to the system
    """
    delay = system.grid.r_steps
    return [
        constraint
        for t in range(delay, system.grid.points)
        for constraint in _decision(rule, system, flow, seen=t - delay, acts=t)
    ]


def _decision(rule: Rule, system: System, flow: int, *, seen: int, acts: int) -> list[z3.BoolRef]:
    def lookup(name: str) -> z3.ArithRef:
        return system.alpha if name == "alpha" else system.flows[flow].beliefs[name][seen]

    rate, constraints = system.flows[flow].rate[acts], []
    earlier: list[z3.BoolRef] = []
    for branch in rule.branches:
        holds = [_condition(condition, system, flow, seen, lookup) for condition in branch.conditions]
        guard = [*(z3.Not(other) for other in earlier), *holds]
        constraints += [_under(guard, claim) for claim in _is_rate(rate, branch.rate, system, lookup)]
        earlier.append(z3.And(holds) if len(holds) > 1 else (holds or [z3.BoolVal(True)])[0])
    return constraints


def _under(guard: Sequence[z3.BoolRef], claim: z3.BoolRef) -> z3.BoolRef:
    return z3.Or(*(z3.Not(part) for part in guard), claim) if guard else claim


def _is_rate(rate: z3.ArithRef, form: LinearForm, system: System, lookup: Lookup) -> list[z3.BoolRef]:
    """Return the constraints that, together with rate >= alpha, imply rate = max(alpha, the linear form)."""
    if all(atom == _ALPHA for atom, _ in form.terms):
        factor = sum((factor for _, factor in form.terms), Fraction(0))
        return [rate == z3.Q(*max(factor, Fraction(1)).as_integer_ratio()) * system.alpha]
    expression = linear(form, lookup)
    return [rate >= expression, z3.Or(rate <= system.alpha, rate <= expression)]


def _condition(condition: Condition, system: System, flow: int, seen: int, lookup: Lookup) -> z3.BoolRef:
    terms = dict(condition.difference.terms)
    is_strict = condition.comparison is Comparison.ABOVE
    if _QDEL_L not in terms:
        difference = linear(condition.difference, lookup)
        return difference > 0 if is_strict else difference >= 0
    # Write a qdel_L + b R > 0 (with factors a and b) as qdel_L > -b/a if a > 0, else as qdel_L < -b/a. The encoding has
    # one Boolean for each such comparison.
    factor, bound = terms[_QDEL_L], -terms.get(_R, Fraction(0)) / terms[_QDEL_L]
    if factor > 0:
        return (system.qdel_l_above if is_strict else system.qdel_l_at_least)(seen, bound, flow)
    return z3.Not((system.qdel_l_at_least if is_strict else system.qdel_l_above)(seen, bound, flow))


def linear(form: LinearForm, lookup: Lookup) -> z3.ArithRef:
    """Return a linear form as a z3 term. Because R = 1, a rate and the data sent at that rate within R are the same
    number.

    Parameters
    ----------
    form : LinearForm, over beliefs and alpha
    lookup : returns the solver's variable for a belief or for alpha, by name
    """
    if not form.terms:
        return z3.RealVal(0)
    return z3.Sum([_scaled(lookup(atom.name) if atom.name else z3.RealVal(1), factor) for atom, factor in form.terms])


def _scaled(value: z3.ArithRef, factor: Fraction) -> z3.ArithRef:
    return value if factor == 1 else z3.Q(*factor.as_integer_ratio()) * value
