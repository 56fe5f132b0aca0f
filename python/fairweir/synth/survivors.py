"""The candidates left after the counterexamples so far: CEGIS' generator, by evaluation instead of a solver.

A counterexample eliminates each candidate that would have sent the trace's rate at every step (thesis equation B.1.4).
For each condition of the template, a bit pattern has the steps of the trace at which it holds; for each rate, the steps
at which it equals the rate sent. These patterns are computed once, exactly. Candidates are composed from them, one root
condition at a time. A branch "repeats" a trace if, at all steps that reach it, its rate equals the rate sent. A
candidate is eliminated if both of its branches repeat the same trace. Branches that repeat the same traces are merged,
so a few thousand bit patterns represent 10^11 candidates.
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

#: Maximum number of steps of a trace: the number of bits of a table's entry.
MAX_STEPS = 32
#: Maximum number of ways to fill one branch of the root; a table has one row for each way, and one column for each
#: counterexample.
MAX_BRANCH_OPTIONS = 200_000


@dataclass(frozen=True)
class Step:
    """A candidate's observations at one step of a counterexample, and the rate sent.

    Attributes
    ----------
    quantities : beliefs that the template reads, ``alpha`` and ``R``
    rate : Fraction, the rate sent
    """

    quantities: Mapping[str, Fraction]
    rate: Fraction


class _Table:
    """A template's forms with integer coefficients over a common denominator, for exact evaluation all at once."""

    def __init__(self, forms: Sequence[LinearForm]) -> None:
        self._atoms = tuple(dict.fromkeys(atom for form in forms for atom, _ in form.terms))
        self._scale: int = math.lcm(*(factor.denominator for form in forms for _, factor in form.terms))
        rows = [[int(dict(form.terms).get(atom, Fraction(0)) * self._scale) for atom in self._atoms] for form in forms]
        self._factors = np.array(rows, dtype=object).reshape(len(forms), len(self._atoms))

    def times(self, step: Step, unit: int) -> NDArray[np.object_]:
        """Return each form's value times `unit`, in integers; `unit` is a multiple of :meth:`unit`."""
        scaled = [int(value * (unit // self._scale)) for value in self._values(step)]
        values: NDArray[np.object_] = self._factors @ np.array(scaled, dtype=object)
        return values

    def unit(self, step: Step) -> int:
        """Return an integer that makes every form's value at this step an integer."""
        return math.lcm(self._scale, *(self._scale * q.denominator for q in self._values(step)))

    def _values(self, step: Step) -> list[Fraction]:
        return [atom_value(atom, step.quantities) for atom in self._atoms]


class Survivors:
    """The candidates that no counterexample has eliminated and that are not in a settled class.

    Parameters
    ----------
    space : Space
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
        """Number of counterexamples."""
        return len(self._steps)

    def kill(self, trace: Sequence[Step]) -> None:
        """Eliminate each candidate that sends the trace's rates.

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
        """Remove a class, because one of its candidates is a solution."""
        self._settled.add(key)

    def kills(self, candidate: Candidate) -> int | None:
        """Return the number of the first counterexample that eliminates a candidate; None if there is none."""
        n = self._space.n_conditions
        repeats = np.ones(self.traces, dtype=bool)
        for reached, leaf in _leaves(self._space.tree, self._holds, self._steps, candidate[:n]):
            repeats &= (reached & ~self._fits[candidate[n + leaf]]) == 0
        found = np.flatnonzero(repeats)
        return int(found[0]) if len(found) else None

    def at_most(self) -> int:
        """Return an upper bound on the number of candidates left, from the last count for each root condition."""
        return sum(self._at_most)

    def count(self) -> int:
        """Count the remaining candidates outside settled classes; slow in large spaces."""
        for root in range(len(self._at_most)):
            if self._at_most[root]:
                self._at_most[root] = _Halves(self, root).alive()
        return self.at_most()

    def pick(self, taken: frozenset[Candidate], dice: np.random.Generator) -> Candidate | None:
        """Return a remaining candidate that is not in `taken`; None if there is none.

        A root condition is drawn first, and then two branches that repeat no common trace.
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
    """The two branches below one root condition."""

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
        """Count the remaining candidates."""
        both = int(self._then.counts @ self._fit.astype(np.int64) @ self._otherwise.counts)
        return both - sum(self._alive_in(key) for key in self._settled_keys())

    def draw(self, taken: frozenset[Candidate], dice: np.random.Generator) -> Candidate | None:
        """Return a remaining candidate; the search starts at a random position."""
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
        """Return, for each way to fill a subtree and each trace, whether the subtree repeats the trace.

        Parameters
        ----------
        reached : array [..., traces] of bits over steps

        Returns
        -------
        array [..., options, traces]
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
    """All ways to fill one branch, grouped by the traces that they repeat.

    Attributes
    ----------
    patterns : array [groups, traces]
    group : array [options], the group of each option
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
        """Return the options of a group."""
        return np.flatnonzero(self.group == group)


class _Side:
    """Numbers the options of a branch: the digits of a number are indices of conditions and rates."""

    def __init__(self, space: Space, node: Node | None) -> None:
        self._space, self._node = space, node

    def indices(self, option: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the conditions and rates of an option."""
        return _unpack(option, self._node, self._space)

    def options_of(self, conditions: ClassKey, rates: ClassKey) -> NDArray[np.intp]:
        """Return the options whose conditions and rates have these classes."""
        return _in_classes(self._node, self._space, conditions, rates)


def _options(node: Node | None, space: Space) -> int:
    """Count the ways to fill a subtree."""
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
    """Yield the steps that reach each leaf of one candidate, and the leaf's number."""
    if node is None:
        yield reached, leaf
        return
    inside = conditions_in(node.then)
    true = holds[conditions[0]]
    yield from _leaves(node.then, holds, reached & true, conditions[1 : 1 + inside], leaf)
    yield from _leaves(node.otherwise, holds, reached & ~true, conditions[1 + inside :], leaf + inside + 1)
