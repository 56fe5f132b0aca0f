"""The candidates of a template (thesis section 4.1.1, listing 4.1).

A template is a decision tree with a hole for a condition at each inner node and a hole for a rate at each leaf.
Conditions and rates are linear forms: sums of quantities with rational coefficients. A quantity is a belief (a bound on
a network parameter that a sender computes from what it observed) or a constant: the propagation delay R, the packet
size MSS, or alpha = MSS / R. A candidate selects a linear form for each hole.

A candidate is represented by a tuple of indices: first those of the conditions (from the root, left branches before
right branches), then those of the rates from left to right. The candidates are never listed, because there can be 10^11
of them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cached_property

from fairweir.ccas.beliefs import BeliefFamily
from fairweir.ccas.linear import Atom, LinearForm
from fairweir.ccas.rule import Branch, Comparison, Condition, Rule

#: Indices of a candidate's conditions, then of its rates, as the module docstring describes.
Candidate = tuple[int, ...]
#: Identifies a class: the candidates that differ only in the coefficients of constants. There is one number for each
#: condition and rate; forms with equal coefficients of beliefs have the same number.
ClassKey = tuple[int, ...]

#: Names of the quantities that are constants, not beliefs. Members of a class differ only in the coefficients of
#: constants (thesis section 4.2.1, "Templates and solutions").
_CONSTANTS = ("alpha", "")


@dataclass(frozen=True)
class Node:
    """An inner node of a template: a condition with two branches.

    Attributes
    ----------
    then : the branch if the condition holds; None: a leaf
    otherwise : the branch if the condition does not hold; None: a leaf
    """

    then: Node | None
    otherwise: Node | None


def conditions_in(node: Node | None) -> int:
    """Return the number of conditions in a tree; it is 0 for a leaf."""
    return 0 if node is None else 1 + conditions_in(node.then) + conditions_in(node.otherwise)


class Shape(StrEnum):
    """The shape of a template: how its conditions are nested."""

    CHAIN = "chain"
    """The form if, elif, ..., else."""
    TREE = "tree"
    """Each branch of the first condition has a second condition, which makes four rates."""
    UNBALANCED = "unbalanced"
    """Only the first branch of the first condition has a second condition, which makes three rates."""

    def tree(self, rates: int) -> Node:
        """Return the tree with `rates` leaves.

        Raises
        ------
        ValueError : no tree of this shape has `rates` leaves
        """
        one = Node(None, None)
        if self is Shape.CHAIN and rates >= 2:
            tree = one
            for _ in range(rates - 2):
                tree = Node(None, tree)
            return tree
        fixed = {Shape.TREE: Node(one, one), Shape.UNBALANCED: Node(one, None)}
        if self not in fixed or conditions_in(fixed[self]) + 1 != rates:
            raise ValueError(f"a {self.value} does not have {rates} rates")
        return fixed[self]


@dataclass(frozen=True)
class Space:
    """All candidates of a template.

    Attributes
    ----------
    family : BeliefFamily, the beliefs that candidates can read
    tree : Node, the root of the template
    conditions : tuple of LinearForm, the choices for a condition, which holds if the form's value is above 0
    rates : tuple of LinearForm, the choices for a rate
    """

    family: BeliefFamily
    tree: Node
    conditions: tuple[LinearForm, ...]
    rates: tuple[LinearForm, ...]

    @cached_property
    def n_conditions(self) -> int:
        """Number of conditions of each candidate."""
        return conditions_in(self.tree)

    @property
    def size(self) -> int:
        """Number of candidates. Two different candidates are counted twice even if they always decide the same rate."""
        return int(len(self.conditions) ** self.n_conditions * len(self.rates) ** (self.n_conditions + 1))

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of choices at each position of a candidate's tuple."""
        return (len(self.conditions),) * self.n_conditions + (len(self.rates),) * (self.n_conditions + 1)

    @cached_property
    def condition_classes(self) -> tuple[int, ...]:
        """A number for each condition. Conditions that differ only in the coefficients of constants have the same
        number.
        """
        return _classes(self.conditions)

    @cached_property
    def rate_classes(self) -> tuple[int, ...]:
        """A number for each rate. Rates that differ only in the coefficients of constants have the same number."""
        return _classes(self.rates)

    def class_of(self, candidate: Candidate) -> ClassKey:
        """Return the class of a candidate. The thesis' Table 4.1 counts each class as one solution."""
        conditions, rates = candidate[: self.n_conditions], candidate[self.n_conditions :]
        return (*(self.condition_classes[c] for c in conditions), *(self.rate_classes[r] for r in rates))

    def members(self, key: ClassKey) -> Iterator[Candidate]:
        """Yield the candidates of a class, in ascending order of the size of their constants."""
        classes = [self.condition_classes] * self.n_conditions + [self.rate_classes] * (self.n_conditions + 1)
        forms = [self.conditions] * self.n_conditions + [self.rates] * (self.n_conditions + 1)
        choices = [
            [i for i, one in enumerate(known) if one == wanted] for known, wanted in zip(classes, key, strict=True)
        ]

        def weight(candidate: Candidate) -> tuple[Fraction, Candidate]:
            sizes = (constants_size(known[i]) for known, i in zip(forms, candidate, strict=True))
            return sum(sizes, Fraction(0)), candidate

        yield from sorted(itertools.product(*choices), key=weight)

    def class_size(self, key: ClassKey) -> int:
        """Return the number of candidates in a class."""
        conditions, rates = key[: self.n_conditions], key[self.n_conditions :]
        counts = [self.condition_classes.count(c) for c in conditions] + [self.rate_classes.count(r) for r in rates]
        return math.prod(counts)

    def rule(self, candidate: Candidate, name: str, *, summary: str = "", source: str = "") -> Rule:
        """Return a candidate as a rule, which is a CCA as data. Each path from the root to a leaf becomes a branch."""
        branches = tuple(self._branches(self.tree, candidate, 0, 0, ()))
        return Rule(name, self.family, branches, summary=summary, source=source)

    def _branches(
        self, node: Node | None, candidate: Candidate, at: int, leaf: int, path: tuple[Condition, ...]
    ) -> Iterator[Branch]:
        """Yield the rule's branches for the leaves below `node`, whose first condition is number `at` and first leaf
        number `leaf`.

        A rule uses the first branch whose conditions hold. The branches for which a node's condition holds come first,
        so the other branches need no negated condition.
        """
        if node is None:
            yield Branch(path, self.rates[candidate[self.n_conditions + leaf]])
            return
        holds = condition_of(self.conditions[candidate[at]])
        inside = conditions_in(node.then)
        yield from self._branches(node.then, candidate, at + 1, leaf, (*path, holds))
        yield from self._branches(node.otherwise, candidate, at + 1 + inside, leaf + inside + 1, path)


def condition_of(form: LinearForm) -> Condition:
    """Return the condition ``form > 0``, written without negative terms: ``2 C_L > C_U`` for ``2 C_L - C_U > 0``."""
    larger = LinearForm(tuple((atom, factor) for atom, factor in form.terms if factor > 0))
    smaller = LinearForm(tuple((atom, -factor) for atom, factor in form.terms if factor < 0))
    return Condition(f"{larger} > {smaller}", form, Comparison.ABOVE)


def combinations(coefficients: Mapping[Atom, Sequence[Fraction]]) -> tuple[LinearForm, ...]:
    """Return all linear forms that take, for each quantity, one of the given coefficients."""
    return tuple(
        LinearForm(tuple((atom, factor) for atom, factor in zip(coefficients, chosen, strict=True) if factor))
        for chosen in itertools.product(*coefficients.values())
    )


def beliefs_part(form: LinearForm) -> tuple[tuple[Atom, Fraction], ...]:
    """Return the terms of a form that contain beliefs, without the terms that contain constants."""
    return tuple((atom, factor) for atom, factor in form.terms if atom.name not in _CONSTANTS)


def constants_size(form: LinearForm) -> Fraction:
    """Return the sum of the absolute values of the coefficients of constants."""
    return sum((abs(factor) for atom, factor in form.terms if atom.name in _CONSTANTS), Fraction(0))


def _classes(forms: Sequence[LinearForm]) -> tuple[int, ...]:
    numbers: dict[tuple[tuple[Atom, Fraction], ...], int] = {}
    return tuple(numbers.setdefault(beliefs_part(form), len(numbers)) for form in forms)
