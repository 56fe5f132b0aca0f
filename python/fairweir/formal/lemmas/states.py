"""States of a flow on its path, and the transitions between states that a lemma claims (thesis section 4.1.2).

A lemma is about one window of time, such as 10 round trips. A trace lists the quantities of a flow and a link (cwnd,
queue, ...) at equally spaced points of the window; a snapshot has these quantities at one point. A state is a formula
over a snapshot, such as "queue <= 4 C R"; a transition is a formula over the snapshots of the window's first and last
point. A solver can therefore check that every trace satisfies a transition, and that transitions compose over any
number of windows (:mod:`fairweir.formal.lemmas.stitch`).

Symbols: C, link rate; R, round-trip propagation delay; C_L, lower bound on C that a sender computes from observations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

import z3

from fairweir.formal.lemmas.result import About

#: The quantities at one point by name: ``C_L``, ``queue``, ``cwnd``, ...; in units in which C = R = 1.
Snapshot = Mapping[str, z3.ArithRef]
Formula = Callable[[Snapshot], z3.BoolRef]


@dataclass(frozen=True)
class State:
    """A state, as a predicate of a snapshot.

    Attributes
    ----------
    name : str, such as "beliefs converged"
    holds : function from a snapshot to the formula that is true if and only if the snapshot is in this state
    """

    name: str
    holds: Formula

    def __and__(self, other: State) -> State:
        """Return the intersection of two states."""
        return State(f"{self.name}, {other.name}", lambda s: z3.And(self.holds(s), other.holds(s)))

    def __invert__(self) -> State:
        """Return the complement of the state."""
        return State(f"not ({self.name})", lambda s: z3.Not(self.holds(s)))


ANYWHERE = State("any", lambda _: z3.BoolVal(True))


class Better(Enum):
    """Direction in which a measure improves."""

    UP = "up"
    DOWN = "down"


@dataclass(frozen=True)
class Factor:
    """Minimum improvement of a measure: the value is multiplied or divided by at least `by`, which is above 1."""

    by: Fraction


@dataclass(frozen=True)
class Amount:
    """Minimum improvement of a measure: at least `by` is added to, or subtracted from, the value.

    Attributes
    ----------
    by : function from the snapshot at the window's start to the amount
    name : str, description of the amount
    """

    by: Callable[[Snapshot], z3.ArithRef]
    name: str


@dataclass(frozen=True)
class Measure:
    """A quantity that shows how far a flow is from leaving a state, such as cwnd in the state "cwnd is too large".

    Attributes
    ----------
    name : str, name of the quantity
    value : function from a snapshot to the quantity
    better : Better, the direction of improvement
    step : minimum improvement in a window that makes progress
    limit : function from a snapshot to the best value that is possible in the state; positive if `step` is a factor
    strict : True: an improvement must exceed `step`; False: an improvement may equal `step`
    """

    name: str
    value: Callable[[Snapshot], z3.ArithRef]
    better: Better
    step: Factor | Amount
    limit: Callable[[Snapshot], z3.ArithRef]
    strict: bool = False

    def improves(self, before: Snapshot, after: Snapshot) -> z3.BoolRef:
        """Return the constraint that the measure improves at least by `step` (by more than `step` if `strict`).

        Parameters
        ----------
        before, after : quantities by name at the first and the last point of a window
        """
        old, new = self.value(before), self.value(after)
        if isinstance(self.step, Factor):
            by = z3.Q(self.step.by.numerator, self.step.by.denominator)
            low, high = (old * by, new) if self.better is Better.UP else (new * by, old)
        else:
            by = self.step.by(before)
            low, high = (old + by, new) if self.better is Better.UP else (new + by, old)
        return low < high if self.strict else low <= high

    def is_no_worse(self, before: Snapshot, after: Snapshot) -> z3.BoolRef:
        """Return the constraint that the measure does not worsen.

        Parameters
        ----------
        before, after : as in :meth:`improves`
        """
        old, new = self.value(before), self.value(after)
        return new >= old if self.better is Better.UP else new <= old

    def is_within(self, now: Snapshot) -> z3.BoolRef:
        """Return the constraint that the measure is not better than its limit."""
        value, limit = self.value(now), self.limit(now)
        return value <= limit if self.better is Better.UP else value >= limit


@dataclass(frozen=True)
class Progress:
    """Progress in a window: at least one measure improves by its step, and no measure worsens (thesis, Lemma B.4.2).

    Because no measure worsens, progress accumulates over windows.
    """

    measures: tuple[Measure, ...]

    def made(self, before: Snapshot, after: Snapshot) -> z3.BoolRef:
        """Return the constraint that a window makes progress.

        Parameters
        ----------
        before, after : quantities by name at the first and the last point of a window
        """
        return z3.And(z3.Or(*(m.improves(before, after) for m in self.measures)), self.kept(before, after))

    def kept(self, before: Snapshot, after: Snapshot) -> z3.BoolRef:
        """Return the constraint that no measure worsens in a window.

        Parameters
        ----------
        before, after : as in :meth:`made`
        """
        return z3.And(*(m.is_no_worse(before, after) for m in self.measures))


@dataclass(frozen=True)
class Transition:
    """A claim about every window that begins in `start`.

    The window ends in one of `ends`, or makes `progress`, or (if `or_met`) meets the objectives and worsens no measure
    of `progress`. In each of these cases, all of `keeps` hold at the window's end. The objectives are bounds on
    utilization, queue and losses that the author of the lemma sets.

    Attributes
    ----------
    name, source : str, name of the lemma and its publication
    start : State at the first point
    ends : States of which at least one holds at the last point
    keeps : States that all hold at the last point
    progress : Progress; None if only `ends` count
    or_met : whether a window that meets the objectives need not make progress
    loses_none : whether a window that meets the objectives must not worsen a measure; false in the published lemmas
    meets : whether every window that begins in `start` must meet the objectives
    about : About, the subject; if the subject is the network, the solvers check the claim for an arbitrary sender
    """

    name: str
    source: str
    start: State
    ends: tuple[State, ...]
    keeps: tuple[State, ...] = ()
    progress: Progress | None = None
    or_met: bool = False
    loses_none: bool = True
    meets: bool = False
    about: About = About.CCA

    def claim(self, before: Snapshot, after: Snapshot, met: z3.BoolRef) -> z3.BoolRef:
        """Return the claim about a window that begins in `start`.

        Parameters
        ----------
        before, after : the window's first and last point
        met : formula that is true if the window meets the objectives
        """
        ways = [state.holds(after) for state in self.ends]
        if self.progress is not None:
            ways.append(self.progress.made(before, after))
        if self.or_met:
            ways.append(z3.And(met, self.progress.kept(before, after)) if self.progress and self.loses_none else met)
        always = [state.holds(after) for state in self.keeps] + ([met] if self.meets else [])
        return z3.And(*always, z3.Or(*ways))
