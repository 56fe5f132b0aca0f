"""Find exact factors that prove that linear constraints contradict each other (Farkas 1902).

Each constraint is ``sign * vector <= bound`` or ``<``, where `vector` is a linear form. Each factor is 0 or more. In
the sum of the constraints, each times its factor, the left sides cancel, and the right side is below 0, or equals 0
while a constraint with a positive factor is strict.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction

from fairweir.formal.certificates.checker import Constraint


def factors(constraints: Sequence[Constraint]) -> list[Fraction] | None:
    """Return a factor for each constraint, 0 if the constraint is not needed; None if there is no contradiction."""
    import z3

    if pair := _opposite(constraints):
        return pair
    weights = [z3.Real(f"w{i}") for i in range(len(constraints))]
    solver = z3.SolverFor("QF_LRA")
    solver.add([weight >= 0 for weight in weights])
    columns: defaultdict[str, list[z3.ArithRef]] = defaultdict(list)
    for weight, constraint in zip(weights, constraints, strict=True):
        for variable, coefficient in constraint.vector:
            columns[variable].append(weight * _number(constraint.sign * coefficient))
    solver.add([z3.Sum(terms) == 0 for terms in columns.values()])
    pairs = list(zip(weights, constraints, strict=True))
    bound = z3.Sum([weight * _number(constraint.bound) for weight, constraint in pairs])
    strict = [weight for weight, constraint in pairs if constraint.is_strict]
    solver.add(z3.Or(bound == -1, z3.And(bound == 0, z3.Sum(strict) == 1) if strict else z3.BoolVal(False)))
    if solver.check() != z3.sat:
        return None
    model = solver.model()
    return [Fraction(str(model.eval(weight, model_completion=True).as_fraction())) for weight in weights]


def _opposite(constraints: Sequence[Constraint]) -> list[Fraction] | None:
    """Return two factors of 1 if there are two constraints, with opposite signs of one vector, that contradict each
    other.
    """
    if len(constraints) != 2:
        return None
    one, other = constraints
    total = one.bound + other.bound
    is_empty = total < 0 or (total == 0 and (one.is_strict or other.is_strict))
    is_opposite = one.vector == other.vector and one.sign == -other.sign
    return [Fraction(1), Fraction(1)] if is_opposite and is_empty else None


def _number(value: Fraction) -> object:
    import z3

    return z3.RealVal(str(value))
