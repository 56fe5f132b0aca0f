"""Check in exact fractions, without a solver, that a trace satisfies the constraints of a system.

A system is the variables and constraints of one question to a solver. A trace is a value of each variable. The
constraints are translated to one Python function per system, in which a term that occurs several times is computed
once. Thousands of traces can therefore be checked quickly.

A belief is a bound on the network that a flow infers from what it observes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import z3

from fairweir.formal.encoding.system import Curve, System
from fairweir.formal.encoding.trace import FlowTrace, Trace

Values = Mapping[str, Fraction | bool]

_INFIX = {
    z3.Z3_OP_ADD: " + ",
    z3.Z3_OP_SUB: " - ",
    z3.Z3_OP_MUL: " * ",
    z3.Z3_OP_DIV: " / ",
    z3.Z3_OP_LE: " <= ",
    z3.Z3_OP_GE: " >= ",
    z3.Z3_OP_LT: " < ",
    z3.Z3_OP_GT: " > ",
    z3.Z3_OP_EQ: " == ",
    z3.Z3_OP_AND: " and ",
    z3.Z3_OP_OR: " or ",
}
_NEUTRAL = {z3.Z3_OP_AND: "True", z3.Z3_OP_OR: "False"}


class Evaluator:
    """The constraints of a system as one Python function.

    Parameters
    ----------
    groups : lists of constraints by name, as in :attr:`System.groups`
    """

    def __init__(self, groups: Mapping[str, Sequence[z3.BoolRef]]) -> None:
        self._lines: list[str] = []
        self._constants: dict[str, Fraction] = {}
        self._known: dict[int, str] = {}
        self.constraints = [(name, constraint) for name, group in groups.items() for constraint in group]
        results = [self._term(constraint) for _, constraint in self.constraints]
        body = "\n    ".join([*self._lines, f"return [{', '.join(results)}]"])
        scope: dict[str, object] = dict(self._constants)
        exec(f"def holds(v):\n    {body}\n", scope)  # noqa: S102 - the text is generated above, from terms only
        self._holds: Callable[[Values], list[bool]] = scope["holds"]  # type: ignore[assignment]

    def broken(self, values: Values) -> list[str]:
        """Return the text of each constraint that the values violate, with the name of its group.

        Raises
        ------
        KeyError : `values` lacks a variable
        """
        holds = self._holds(values)
        return [
            f"{name}: {constraint}"
            for (name, constraint), fine in zip(self.constraints, holds, strict=True)
            if not fine
        ]

    def _term(self, term: z3.ExprRef) -> str:
        key = term.get_id()
        if key not in self._known:
            name = f"x{len(self._known)}"
            self._known[key] = name
            self._lines.append(f"{name} = {self._text(term)}")
        return self._known[key]

    def _text(self, term: z3.ExprRef) -> str:
        if z3.is_rational_value(term):
            name = f"c{len(self._constants)}"
            self._constants[name] = Fraction(term.as_fraction())
            return name
        if z3.is_true(term) or z3.is_false(term):
            return str(z3.is_true(term))
        kind = term.decl().kind()
        if kind == z3.Z3_OP_UNINTERPRETED:
            return f"v[{term.decl().name()!r}]"
        parts = [self._term(child) for child in term.children()]
        match kind:
            case z3.Z3_OP_NOT:
                return f"not {parts[0]}"
            case z3.Z3_OP_UMINUS:
                return f"-{parts[0]}"
            case z3.Z3_OP_IMPLIES:
                return f"not {parts[0]} or {parts[1]}"
            case z3.Z3_OP_ITE:
                return f"{parts[1]} if {parts[0]} else {parts[2]}"
        return _INFIX[kind].join(parts) if parts else _NEUTRAL[kind]


def assignment(system: System, trace: Trace) -> dict[str, Fraction | bool]:
    """Return, for each variable of a system, its value in a trace.

    Parameters
    ----------
    system : System, with the same model, sample points, senders and beliefs as the trace
    trace : Trace

    Raises
    ------
    ValueError : the trace is of another network, or violates an equation that replaces a variable of the system:
        S(0) = 0 for bytes served, or Ld(t) = L(t-R) for bytes known to be lost
    """
    if not trace.is_of(system):
        raise ValueError("the trace is of another network, or has other senders or beliefs")
    values: dict[str, Fraction | bool] = {}

    def put(curve: Curve, column: Sequence[Fraction]) -> None:
        for term, value in zip(curve, column, strict=True):
            if z3.is_const(term) and term.decl().kind() == z3.Z3_OP_UNINTERPRETED:
                name = term.decl().name()
                if values.setdefault(name, value) != value:
                    raise ValueError(f"the trace has both {values[name]} and {value} for {name}")
            elif z3.is_rational_value(term) and Fraction(term.as_fraction()) != value:
                raise ValueError(f"the system has {term} where the trace has {value}")

    put([system.alpha], [trace.alpha])
    if system.beta is not None and trace.beta is not None:
        put([system.beta], [trace.beta])
    put(system.TA, trace.TA)
    for flow, left, own in zip(system.flows, system.left, trace.flows, strict=True):
        for curve, column in _columns(flow.__dict__, own):
            put(curve, column)
        put(left, own.left)
        for name, curve in flow.beliefs.items():
            put(curve, own.beliefs[name])
        for bits, steps in zip(flow.delay, own.delay, strict=True):
            values |= {bit.decl().name(): k <= steps for k, bit in enumerate(bits) if k > 0}
    return values


def _columns(flow: Mapping[str, Curve], own: FlowTrace) -> list[tuple[Curve, Sequence[Fraction]]]:
    return [(flow[name], getattr(own, name)) for name in ("A", "S", "L", "Ld", "past", "rate", "cwnd")]
