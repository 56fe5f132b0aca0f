"""The lemmas of theorem 7.5.2 (thesis D.3.6 to D.3.8, FRCC paper C.6 to C.8). Each has a premise and a conclusion about
one round.

Conditions are written with ``&``, ``|`` and :func:`unless`, which z3's and Python's Booleans both support.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final

from fairweir.formal.frcc.encoding import Round, constraints, unknowns
from fairweir.formal.frcc.jittery import PROVED, Jitter
from fairweir.formal.lemmas.result import About, Constant
from fairweir.formal.solving.solve import ProofOutcome, Question

Condition = Callable[[Round], Any]
FLOWS: Final = (0, 1)


@dataclass(frozen=True)
class Range:
    """The final range of states, and the rate of convergence.

    Attributes
    ----------
    n_t_low, n_t_high : final bounds on N_T
    n_c_high : final upper bound on N_C of both flows; the throughput ratio is then at most ``n_c_high - 1``
    band_low, band_high : bounds on N_T between which an N_C above its range decreases
    sigma : factor of progress in each round
    """

    n_t_low: Fraction = Fraction(3, 20)
    n_t_high: Fraction = Fraction(33, 10)
    n_c_high: Fraction = Fraction(33, 5)
    band_low: Fraction = Fraction(9, 5)
    band_high: Fraction = Fraction(11, 5)
    sigma: Fraction = Fraction(101, 100)

    @property
    def n_c_low(self) -> Fraction:
        """N_C of a flow if the other flow's N_C is `n_c_high`."""
        return self.n_c_high / (self.n_c_high - 1)

    @property
    def ratio(self) -> Fraction:
        """The maximum throughput ratio."""
        return self.n_c_high - 1


PUBLISHED: Final = Range()
"""Thesis section D.3.4.3."""


@dataclass(frozen=True)
class Lemma:
    """A lemma: the premise implies the conclusion for any jitter.

    By symmetry, the questions only cover rounds in which the first flow does not have the larger share.

    Attributes
    ----------
    name, claim : str
    given, then : function from Round to a condition
    jitter : Jitter
    expects : ProofOutcome; refuted for controls and for printed errors
    constants : the lemma's constants, fairweir's and the published ones
    note : str
    """

    name: str
    claim: str
    given: Condition
    then: Condition
    jitter: Jitter = PROVED
    expects: ProofOutcome = ProofOutcome.PROVED
    constants: tuple[Constant, ...] = field(default=())
    note: str = ""

    @property
    def about(self) -> About:
        """The update's effect on a round; another sender may change its window by any factor."""
        return About.CCA

    def question(self) -> Question:
        """Return the question for the solvers."""
        of = unknowns()
        start = [of.shares[0] <= of.shares[1], self.given(of)]
        unknown = (of.shares[0], of.n_t, of.r, *of.factors)
        anyone = [*constraints(self.jitter, of, any_sender=True), *start]
        return Question(self.name, [*constraints(self.jitter, of), *start], self.then(of), unknown, "QF_NRA", anyone)


def unless(premise: Any, conclusion: Any) -> Any:
    """Return the implication premise -> conclusion, given the negated premise.

    Parameters
    ----------
    premise : condition of a lemma, negated
    conclusion : condition of a lemma
    """
    return premise | conclusion


def n_c_in(within: Range) -> Condition:
    """Return the constraint that N_C of both flows is in its range."""
    return lambda at: at.n_c_at_most(0, within.n_c_high) & at.n_c_at_most(1, within.n_c_high)


def n_c_after_in(within: Range) -> Condition:
    """Return the same after the round."""
    return lambda at: at.n_c_after_at_most(0, within.n_c_high) & at.n_c_after_at_most(1, within.n_c_high)


def n_t_in(within: Range) -> Condition:
    """Return the constraint that N_T is in its range."""
    return lambda at: (at.n_t >= within.n_t_low) & (at.n_t <= within.n_t_high)


def n_t_after_in(within: Range) -> Condition:
    """Return the same after the round."""
    return lambda at: (at.n_t_after >= within.n_t_low) & (at.n_t_after <= within.n_t_high)


def falls_to_range(within: Range) -> Condition:
    """C.7 from above: N_T decreases by sigma or into its range, and not below it."""
    return lambda at: (
        ((at.n_t_after * within.sigma <= at.n_t) | (at.n_t_after <= within.n_t_high)) & (at.n_t_after >= within.n_t_low)
    )


def rises_to_range(within: Range) -> Condition:
    """C.7 from below: N_T rises by sigma or into its range, and not above it."""
    return lambda at: (
        ((at.n_t_after >= at.n_t * within.sigma) | (at.n_t_after >= within.n_t_low)) & (at.n_t_after <= within.n_t_high)
    )


def n_c_improves(within: Range) -> Condition:
    """C.8: N_C of a flow that is above its range decreases by sigma or into it, and not below it."""

    def of(at: Round, flow: int) -> Any:
        return (
            (at.shares[flow] * within.n_c_high < 1)
            & at.n_c_after_at_least(flow, within.n_c_low)
            & (at.n_c_falls(flow, within.sigma) | at.n_c_after_at_most(flow, within.n_c_high))
        )

    return lambda at: of(at, 0) | of(at, 1)


def n_t_improves(within: Range) -> Condition:
    """C.8: N_T outside its band moves towards it by sigma or into it, and not beyond (thesis; the paper's differs)."""
    return lambda at: (
        _falls_to_band(within, at)
        | (
            (at.n_t < within.band_low)
            & (at.n_t_after <= within.band_high)
            & ((at.n_t_after >= at.n_t * within.sigma) | (at.n_t_after >= within.band_low))
        )
    )


def n_t_improves_as_the_paper_prints(within: Range) -> Condition:
    """The same with the paper's second half: N_T' >= band_low where N_T' <= band_high is needed."""
    return lambda at: (
        _falls_to_band(within, at)
        | (
            (at.n_t < within.band_low)
            & (at.n_t_after >= within.band_low)
            & ((at.n_t_after >= at.n_t * within.sigma) | (at.n_t_after >= within.band_low))
        )
    )


def _falls_to_band(within: Range, at: Round) -> Any:
    return (
        (at.n_t > within.band_high)
        & (at.n_t_after >= within.band_low)
        & ((at.n_t_after * within.sigma <= at.n_t) | (at.n_t_after <= within.band_high))
    )


def none_degrades(within: Range) -> Condition:
    """C.8: neither N_C nor N_T moves away from its range."""

    def n_c(at: Round, flow: int) -> Any:
        return unless(at.n_c_at_most(flow, within.n_c_high), at.n_c_falls(flow, 1))

    return lambda at: (
        n_c(at, 0)
        & n_c(at, 1)
        & unless(at.n_t >= within.n_t_low, at.n_t_after >= at.n_t)
        & unless(at.n_t <= within.n_t_high, at.n_t_after <= at.n_t)
    )


def all_in(within: Range) -> Condition:
    """Return the constraint that N_C and N_T are in their ranges."""
    return lambda at: n_c_in(within)(at) & n_t_in(within)(at)


def moves_on(within: Range, n_t_moves: Callable[[Range], Condition] = n_t_improves) -> Condition:
    """C.8's conclusion: all is in range, or something outside improves and nothing degrades.

    Parameters
    ----------
    within : Range, the lemma's constants
    n_t_moves : from the constants to the condition that N_T, out of its range, improves
    """
    return lambda at: (
        (n_c_after_in(within)(at) & n_t_after_in(within)(at))
        | ((n_c_improves(within)(at) | n_t_moves(within)(at)) & none_degrades(within)(at))
    )


def outside(within: Range) -> Condition:
    """Return the constraint that N_C or N_T is out of its range."""
    return lambda at: (
        (at.shares[0] * within.n_c_high < 1)
        | (at.shares[1] * within.n_c_high < 1)
        | (at.n_t < within.n_t_low)
        | (at.n_t > within.n_t_high)
    )
