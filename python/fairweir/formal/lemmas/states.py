"""States of a flow on its path, and the transitions that a lemma claims between them (thesis section 4.1.2).

A lemma is about one window of time, from a snapshot at its first point to one at its last. States are formulas over a
snapshot, transitions over the two; so that a solver can check both that every trace of a model satisfies the
transition, and that transitions compose over any number of windows (:mod:`fairweir.formal.lemmas.stitch`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

import z3

from fairweir.formal.lemmas.result import About

#: The quantities of an instant by name: ``C_L``, ``queue``, ``cwnd``, ...; C = R = 1.
Snapshot = Mapping[str, z3.ArithRef]
Formula = Callable[[Snapshot], z3.BoolRef]


@dataclass(frozen=True)
class State:
    """A set of instants.

    Attributes
    ----------
    name : str, as "beliefs converged"
    holds : formula over a snapshot
    """

    name: str
    holds: Formula

    def __and__(self, other: State) -> State:
        """Return the instants in both."""
        return State(f"{self.name}, {other.name}", lambda s: z3.And(self.holds(s), other.holds(s)))

    def __invert__(self) -> State:
        """Return all other instants."""
        return State(f"not ({self.name})", lambda s: z3.Not(self.holds(s)))


ANYWHERE = State("any", lambda _: z3.BoolVal(True))


class Better(Enum):
    """Direction in which a measure improves."""

    UP = "up"
    DOWN = "down"


@dataclass(frozen=True)
class Factor:
    """A measure that improves is multiplied or divided by at least `by`, which is above 1."""

    by: Fraction


@dataclass(frozen=True)
class Amount:
    """A measure that improves moves by at least `by`, a form over the snapshot before; `name` describes it."""

    by: Callable[[Snapshot], z3.ArithRef]
    name: str


@dataclass(frozen=True)
class Measure:
    """Distance of a state from being left.

    Attributes
    ----------
    name : str
    value : form over a snapshot
    better : which way it moves towards the end
    step : minimum improvement
    limit : form over a snapshot: the value cannot be better than that as long as the state lasts; positive for a factor
    strict : an improvement moves by more than the step, not by it exactly
    """

    name: str
    value: Callable[[Snapshot], z3.ArithRef]
    better: Better
    step: Factor | Amount
    limit: Callable[[Snapshot], z3.ArithRef]
    strict: bool = False

    def improves(self, before: Snapshot, after: Snapshot) -> z3.BoolRef:
        """Return the constraint that it improves by its step.

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
        """Return the constraint that it does not worsen.

        Parameters
        ----------
        before, after : as in :meth:`improves`
        """
        old, new = self.value(before), self.value(after)
        return new >= old if self.better is Better.UP else new <= old

    def is_within(self, now: Snapshot) -> z3.BoolRef:
        """Return the constraint that it is within its limit."""
        value, limit = self.value(now), self.limit(now)
        return value <= limit if self.better is Better.UP else value >= limit


@dataclass(frozen=True)
class Progress:
    """At least one measure improves by its step, and none worsens, so that windows add up (thesis, Lemma B.4.2)."""

    measures: tuple[Measure, ...]

    def made(self, before: Snapshot, after: Snapshot) -> z3.BoolRef:
        """Return the constraint that there is progress.

        Parameters
        ----------
        before, after : quantities by name at the first and the last point of a window
        """
        return z3.And(z3.Or(*(m.improves(before, after) for m in self.measures)), self.kept(before, after))

    def kept(self, before: Snapshot, after: Snapshot) -> z3.BoolRef:
        """Return the constraint that no progress is lost.

        Parameters
        ----------
        before, after : as in :meth:`made`
        """
        return z3.And(*(m.is_no_worse(before, after) for m in self.measures))


@dataclass(frozen=True)
class Transition:
    """Results of a window that begins in `start`.

    The window ends in one of `ends`, or makes `progress`; or, if `or_met`, meets the objectives and loses no progress.
    In any case all of `keeps` hold at its end.

    Attributes
    ----------
    name, source : str
    start : State at the first point
    ends : States at the last point
    keeps : States at the last point, in any case
    progress : Progress, None if undefined
    or_met : a window in which the objectives hold need not progress
    loses_none : such a window does not lose progress either; the published lemmas leave this out
    meets : the objectives hold throughout every such window
    about : a transition of the network is asked of any sender
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
        met : do the objectives hold throughout it?
        """
        ways = [state.holds(after) for state in self.ends]
        if self.progress is not None:
            ways.append(self.progress.made(before, after))
        if self.or_met:
            ways.append(z3.And(met, self.progress.kept(before, after)) if self.progress and self.loses_none else met)
        always = [state.holds(after) for state in self.keeps] + ([met] if self.meets else [])
        return z3.And(*always, z3.Or(*ways))
