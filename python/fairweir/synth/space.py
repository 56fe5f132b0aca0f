"""The candidates of a template: all ways to fill its holes (thesis section 4.1.1, listing 4.1).

A template is a tree with a condition at each inner node and a rate at each leaf. A candidate selects a condition or a
rate for each of them. The space is never enumerated. A candidate is a tuple of indices: first those of the conditions
(from the root, left branches before right branches), then those of the rates from left to right.
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

#: Indices of conditions, then of rates; see the module's docstring.
Candidate = tuple[int, ...]
#: The class of a candidate: an index for the coefficients of beliefs in each condition and rate.
ClassKey = tuple[int, ...]

#: Atoms that are not beliefs. Members of a class differ only in their coefficients (thesis section 4.2.1, "Templates
#: and solutions").
_CONSTANTS = ("alpha", "")


@dataclass(frozen=True)
class Node:
    """A condition with two branches; a branch of None is a leaf.

    Attributes
    ----------
    then : Node or None
    otherwise : Node or None
    """

    then: Node | None
    otherwise: Node | None


def conditions_in(node: Node | None) -> int:
    """Return the number of conditions in a tree."""
    return 0 if node is None else 1 + conditions_in(node.then) + conditions_in(node.otherwise)


class Shape(StrEnum):
    """Nesting of conditions."""

    CHAIN = "chain"
    """if, elif, ..., else."""
    TREE = "tree"
    """A second condition in each branch of the first condition: four rates."""
    UNBALANCED = "unbalanced"
    """A second condition in the first branch only: three rates."""

    def tree(self, rates: int) -> Node:
        """Return the tree with `rates` leaves.

        Raises
        ------
        ValueError : the shape has another number of leaves
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
    family : BeliefFamily
    tree : Node
    conditions : tuple of LinearForm; a condition holds if its form is above 0
    rates : tuple of LinearForm
    """

    family: BeliefFamily
    tree: Node
    conditions: tuple[LinearForm, ...]
    rates: tuple[LinearForm, ...]

    @cached_property
    def n_conditions(self) -> int:
        """Number of conditions of a candidate."""
        return conditions_in(self.tree)

    @property
    def size(self) -> int:
        """Number of candidates; equivalent candidates are counted separately."""
        return int(len(self.conditions) ** self.n_conditions * len(self.rates) ** (self.n_conditions + 1))

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of choices for each index of a candidate."""
        return (len(self.conditions),) * self.n_conditions + (len(self.rates),) * (self.n_conditions + 1)

    @cached_property
    def condition_classes(self) -> tuple[int, ...]:
        """A number for each condition; two numbers are equal if only coefficients of constants differ."""
        return _classes(self.conditions)

    @cached_property
    def rate_classes(self) -> tuple[int, ...]:
        """A number for each rate; two numbers are equal if only coefficients of constants differ."""
        return _classes(self.rates)

    def class_of(self, candidate: Candidate) -> ClassKey:
        """Return the class of a candidate; Table 4.1 counts a class as one solution."""
        conditions, rates = candidate[: self.n_conditions], candidate[self.n_conditions :]
        return (*(self.condition_classes[c] for c in conditions), *(self.rate_classes[r] for r in rates))

    def members(self, key: ClassKey) -> Iterator[Candidate]:
        """Yield the candidates of a class, those with the smallest constants first."""
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
        """Return a candidate as a rule: each path from the root to a leaf is a branch."""
        branches = tuple(self._branches(self.tree, candidate, 0, 0, ()))
        return Rule(name, self.family, branches, summary=summary, source=source)

    def _branches(
        self, node: Node | None, candidate: Candidate, at: int, leaf: int, path: tuple[Condition, ...]
    ) -> Iterator[Branch]:
        """Yield branches below a node whose first condition is number `at` and whose first leaf is number `leaf`.

        A rule tries its branches in order. The branches where a condition holds come first, so a path needs no negated
        conditions.
        """
        if node is None:
            yield Branch(path, self.rates[candidate[self.n_conditions + leaf]])
            return
        holds = condition_of(self.conditions[candidate[at]])
        inside = conditions_in(node.then)
        yield from self._branches(node.then, candidate, at + 1, leaf, (*path, holds))
        yield from self._branches(node.otherwise, candidate, at + 1 + inside, leaf + inside + 1, path)


def condition_of(form: LinearForm) -> Condition:
    """Return ``form > 0`` with the negative terms on the other side: ``2 C_L > C_U``."""
    larger = LinearForm(tuple((atom, factor) for atom, factor in form.terms if factor > 0))
    smaller = LinearForm(tuple((atom, -factor) for atom, factor in form.terms if factor < 0))
    return Condition(f"{larger} > {smaller}", form, Comparison.ABOVE)


def combinations(coefficients: Mapping[Atom, Sequence[Fraction]]) -> tuple[LinearForm, ...]:
    """Return every form with one of the coefficients for each atom."""
    return tuple(
        LinearForm(tuple((atom, factor) for atom, factor in zip(coefficients, chosen, strict=True) if factor))
        for chosen in itertools.product(*coefficients.values())
    )


def beliefs_part(form: LinearForm) -> tuple[tuple[Atom, Fraction], ...]:
    """Return the terms that read beliefs, without the terms in constants."""
    return tuple((atom, factor) for atom, factor in form.terms if atom.name not in _CONSTANTS)


def constants_size(form: LinearForm) -> Fraction:
    """Return the sum of the absolute values of the coefficients of constants."""
    return sum((abs(factor) for atom, factor in form.terms if atom.name in _CONSTANTS), Fraction(0))


def _classes(forms: Sequence[LinearForm]) -> tuple[int, ...]:
    numbers: dict[tuple[tuple[Atom, Fraction], ...], int] = {}
    return tuple(numbers.setdefault(beliefs_part(form), len(numbers)) for form in forms)
