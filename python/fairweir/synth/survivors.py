"""Find the candidates that no counterexample eliminates, without a solver.

Terms: a template is a decision tree with holes for conditions and rates; a candidate, which is a CCA, fills the holes.
The root is the first condition; it has two branches. An option is one way to fill a branch. A counterexample is a
trace: observations and the rate sent, at each step, with a result that violates the requirements. A class is the set of
candidates that differ only in their constants; the class is settled once one of its candidates is proved.

A counterexample eliminates every candidate that would have sent the same rate at every step (thesis equation B.1.4).
Two tables of bits, with one bit per step of each trace, are computed once and exactly: at which steps a condition
holds, and at which steps a rate equals the rate sent. Candidates are composed from these tables, one root condition at
a time. An option "repeats" a trace if its rate equals the rate sent at all steps of the trace that reach the branch. A
candidate is eliminated if the options in both of its branches repeat the same trace. Options that repeat the same
traces are merged, so a few thousand bit patterns represent 10^11 candidates.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from fairweir.ccas.linear import LinearForm, atom_value
from fairweir.synth.space import Candidate, ClassKey, Node, Space, conditions_in

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bits = NDArray[np.uint32]
    Flags = NDArray[np.bool_]

#: Maximum number of steps of a trace, because the steps of a trace are the bits of a 32-bit integer.
MAX_STEPS = 32
#: Maximum number of options for one branch of the root. A table has one row per option, and one column per
#: counterexample.
MAX_BRANCH_OPTIONS = 200_000


@dataclass(frozen=True)
class Step:
    """One step of a counterexample: the observations, and the rate sent.

    Attributes
    ----------
    quantities : the bounds that the sender computed from its observations, ``alpha`` (the rate of one packet per R) and
        ``R`` (the propagation delay), by name
    rate : Fraction, the rate sent, in link rates
    """

    quantities: Mapping[str, Fraction]
    rate: Fraction


class _Table:
    """The linear forms of a template, with integer coefficients for an exact evaluation of all forms at once."""

    def __init__(self, forms: Sequence[LinearForm]) -> None:
        self._atoms = tuple(dict.fromkeys(atom for form in forms for atom, _ in form.terms))
        self._scale: int = math.lcm(*(factor.denominator for form in forms for _, factor in form.terms))
        rows = [[int(dict(form.terms).get(atom, Fraction(0)) * self._scale) for atom in self._atoms] for form in forms]
        self._factors = np.array(rows, dtype=object).reshape(len(forms), len(self._atoms))

    def times(self, step: Step, unit: int) -> NDArray[np.object_]:
        """Return each form's value at a step times `unit`, as integers; `unit` must be a multiple of :meth:`unit`."""
        scaled = [int(value * (unit // self._scale)) for value in self._values(step)]
        values: NDArray[np.object_] = self._factors @ np.array(scaled, dtype=object)
        return values

    def unit(self, step: Step) -> int:
        """Return an integer which, multiplied by any form's value at a step, gives an integer."""
        return math.lcm(self._scale, *(self._scale * q.denominator for q in self._values(step)))

    def _values(self, step: Step) -> list[Fraction]:
        return [atom_value(atom, step.quantities) for atom in self._atoms]


class Survivors:
    """The remaining candidates: those that no counterexample has eliminated and whose class is not settled.

    Parameters
    ----------
    space : Space, all candidates of the template
    """

    def __init__(self, space: Space) -> None:
        self._space = space
        self._conditions, self._rates = _Table(space.conditions), _Table(space.rates)
        self._holds: Bits = np.zeros((len(space.conditions), 0), dtype=np.uint32)
        self._fits: Bits = np.zeros((len(space.rates), 0), dtype=np.uint32)
        self._steps: Bits = np.zeros(0, dtype=np.uint32)
        self._settled: set[ClassKey] = set()
        left, right = (_options(node, space) for node in (space.tree.then, space.tree.otherwise))
        self._at_most = [left * right] * len(space.conditions)

    @property
    def traces(self) -> int:
        """Number of counterexamples so far."""
        return len(self._steps)

    def kill(self, trace: Sequence[Step]) -> None:
        """Eliminate each candidate that would send the rates of a trace, which is a counterexample.

        Raises
        ------
        ValueError : the trace has more than :data:`MAX_STEPS` steps
        """
        if len(trace) > MAX_STEPS:
            raise ValueError(f"a trace of {len(trace)} steps does not fit into {MAX_STEPS} bits")
        holds, fits = np.zeros(len(self._holds), dtype=np.uint32), np.zeros(len(self._fits), dtype=np.uint32)
        for at, step in enumerate(trace):
            bit = np.uint32(1 << at)
            holds |= np.where(
                np.array(self._conditions.times(step, self._conditions.unit(step)) > 0, dtype=bool), bit, 0
            )
            alpha = step.quantities["alpha"]
            unit = math.lcm(self._rates.unit(step), alpha.denominator, step.rate.denominator)
            sent = np.maximum(self._rates.times(step, unit), int(alpha * unit))
            fits |= np.where(np.array(sent == int(step.rate * unit), dtype=bool), bit, 0)
        self._holds = np.concatenate([self._holds, holds[:, None]], axis=1)
        self._fits = np.concatenate([self._fits, fits[:, None]], axis=1)
        self._steps = np.append(self._steps, np.uint32((1 << len(trace)) - 1))

    def settle(self, key: ClassKey) -> None:
        """Remove all candidates of a class, because one of them is a solution."""
        self._settled.add(key)

    def kills(self, candidate: Candidate) -> int | None:
        """Return the index of the first counterexample that eliminates a candidate; None if there is none."""
        n = self._space.n_conditions
        repeats = np.ones(self.traces, dtype=bool)
        for reached, leaf in _leaves(self._space.tree, self._holds, self._steps, candidate[:n]):
            repeats &= (reached & ~self._fits[candidate[n + leaf]]) == 0
        found = np.flatnonzero(repeats)
        return int(found[0]) if len(found) else None

    def at_most(self) -> int:
        """Return an upper bound on the number of remaining candidates: the sum of the last counts for all root
        conditions.
        """
        return sum(self._at_most)

    def count(self) -> int:
        """Count the remaining candidates, which is slow for large templates."""
        for root in range(len(self._at_most)):
            if self._at_most[root]:
                self._at_most[root] = _Halves(self, root).alive()
        return self.at_most()

    def pick(self, taken: frozenset[Candidate], dice: np.random.Generator) -> Candidate | None:
        """Return a random remaining candidate that is not in `taken`; None if there is none.

        A root condition is drawn first, and then an option for each branch such that no trace is repeated by both
        options.
        """
        for root in dice.permutation(len(self._at_most)):
            if not self._at_most[root]:
                continue
            halves = _Halves(self, int(root))
            self._at_most[root] = halves.alive()
            found = halves.draw(taken, dice) if self._at_most[root] else None
            if found is not None:
                return found
        return None


class _Halves:
    """All options of the two branches below one root condition."""

    def __init__(self, survivors: Survivors, root: int) -> None:
        space = survivors._space
        self._space, self._root, self._settled = space, root, survivors._settled
        holds = survivors._holds[root] & survivors._steps
        self._survivors = survivors
        self._then = _Half(self._repeats(space.tree.then, holds))
        self._otherwise = _Half(self._repeats(space.tree.otherwise, survivors._steps & ~holds))
        common = self._then.patterns.astype(np.float32) @ self._otherwise.patterns.astype(np.float32).T
        self._fit: Flags = common == 0
        self._sides = (_Side(space, space.tree.then), _Side(space, space.tree.otherwise))

    def alive(self) -> int:
        """Count the remaining candidates with this root condition."""
        both = int(self._then.counts @ self._fit.astype(np.int64) @ self._otherwise.counts)
        return both - sum(self._alive_in(key) for key in self._settled_keys())

    def draw(self, taken: frozenset[Candidate], dice: np.random.Generator) -> Candidate | None:
        """Return a remaining candidate that is not in `taken`, or None. The search starts at a random pair."""
        pairs = np.argwhere(self._fit)
        for i in np.roll(np.arange(len(pairs)), -int(dice.integers(len(pairs)))) if len(pairs) else ():
            then, otherwise = pairs[i]
            for left in self._then.members(int(then)):
                for right in self._otherwise.members(int(otherwise)):
                    candidate = self._join(int(left), int(right))
                    if candidate not in taken and self._space.class_of(candidate) not in self._settled:
                        return candidate
        return None

    def _join(self, left: int, right: int) -> Candidate:
        (left_conditions, left_rates), (right_conditions, right_rates) = (
            side.indices(option) for side, option in zip(self._sides, (left, right), strict=True)
        )
        return (self._root, *left_conditions, *right_conditions, *left_rates, *right_rates)

    def _settled_keys(self) -> Iterator[ClassKey]:
        own = self._space.condition_classes[self._root]
        return (key for key in self._settled if key[0] == own)

    def _alive_in(self, key: ClassKey) -> int:
        n, inside = self._space.n_conditions, conditions_in(self._space.tree.then)
        conditions, rates = key[1:n], key[n:]
        left = self._sides[0].options_of(conditions[:inside], rates[: inside + 1])
        right = self._sides[1].options_of(conditions[inside:], rates[inside + 1 :])
        return int(self._fit[np.ix_(self._then.group[left], self._otherwise.group[right])].sum())

    def _repeats(self, node: Node | None, reached: Bits) -> Flags:
        """Return, for each option of a subtree and each trace, whether the option repeats the trace.

        Parameters
        ----------
        reached : array [..., traces] of integers, whose bits are the steps that reach the subtree

        Returns
        -------
        array [..., options, traces] of booleans
        """
        survivors = self._survivors
        here = reached[..., None, :]
        if node is None:
            flags: Flags = (here & ~survivors._fits) == 0
            return flags
        then = self._repeats(node.then, here & survivors._holds)
        otherwise = self._repeats(node.otherwise, here & ~survivors._holds)
        both = then[..., :, None, :] & otherwise[..., None, :, :]
        return both.reshape(*reached.shape[:-1], _options(node, self._space), reached.shape[-1])


class _Half:
    """All options of one branch, in groups of options that repeat the same traces.

    Attributes
    ----------
    patterns : array [groups, traces], whether the options of a group repeat a trace
    group : array [options], the index of each option's group
    counts : array [groups], number of options in each group
    """

    def __init__(self, repeats: Flags) -> None:
        if repeats.shape[1] == 0:
            self.patterns: Flags = repeats[:1]
            self.group = np.zeros(len(repeats), dtype=np.intp)
        else:
            packed = np.packbits(repeats, axis=1)
            rows = np.ascontiguousarray(packed).view(np.dtype((np.void, packed.shape[1]))).ravel()
            _, first, inverse = np.unique(rows, return_index=True, return_inverse=True)
            self.patterns = repeats[first]
            self.group = inverse.ravel()
        self.counts = np.bincount(self.group, minlength=len(self.patterns)).astype(np.int64)

    def members(self, group: int) -> NDArray[np.intp]:
        """Return the numbers of the options in a group."""
        return np.flatnonzero(self.group == group)


class _Side:
    """Numbers the options of one branch. The digits of an option's number are indices of conditions and rates."""

    def __init__(self, space: Space, node: Node | None) -> None:
        self._space, self._node = space, node

    def indices(self, option: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the indices of an option's conditions and rates."""
        return _unpack(option, self._node, self._space)

    def options_of(self, conditions: ClassKey, rates: ClassKey) -> NDArray[np.intp]:
        """Return the numbers of the options whose conditions and rates are in the given classes."""
        return _in_classes(self._node, self._space, conditions, rates)


def _options(node: Node | None, space: Space) -> int:
    """Return the number of options of a subtree."""
    n = conditions_in(node)
    return int(len(space.conditions) ** n * len(space.rates) ** (n + 1))


def _unpack(option: int, node: Node | None, space: Space) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if node is None:
        return (), (option,)
    rest, right = divmod(option, _options(node.otherwise, space))
    condition, left = divmod(rest, _options(node.then, space))
    left_conditions, left_rates = _unpack(left, node.then, space)
    right_conditions, right_rates = _unpack(right, node.otherwise, space)
    return (condition, *left_conditions, *right_conditions), (*left_rates, *right_rates)


def _in_classes(node: Node | None, space: Space, conditions: ClassKey, rates: ClassKey) -> NDArray[np.intp]:
    if node is None:
        return np.flatnonzero(np.array(space.rate_classes) == rates[0])
    inside = conditions_in(node.then)
    own = np.flatnonzero(np.array(space.condition_classes) == conditions[0])
    left = _in_classes(node.then, space, conditions[1 : 1 + inside], rates[: inside + 1])
    right = _in_classes(node.otherwise, space, conditions[1 + inside :], rates[inside + 1 :])
    n_left, n_right = _options(node.then, space), _options(node.otherwise, space)
    all_of = (own[:, None, None] * n_left + left[None, :, None]) * n_right + right[None, None, :]
    return all_of.ravel()


def _leaves(
    node: Node | None, holds: Bits, reached: Bits, conditions: tuple[int, ...], leaf: int = 0
) -> Iterator[tuple[Bits, int]]:
    """Yield, for each leaf of one candidate, the steps that reach the leaf, and the leaf's number."""
    if node is None:
        yield reached, leaf
        return
    inside = conditions_in(node.then)
    true = holds[conditions[0]]
    yield from _leaves(node.then, holds, reached & true, conditions[1 : 1 + inside], leaf)
    yield from _leaves(node.otherwise, holds, reached & ~true, conditions[1 + inside :], leaf + inside + 1)
