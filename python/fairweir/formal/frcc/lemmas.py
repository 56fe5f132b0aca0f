"""The lemmas of theorem 7.5.2 about the CCA FRCC (thesis D.3.6 to D.3.8; FRCC paper C.6 to C.8).

The theorem bounds the throughput ratio of two flows on a link with jitter. In one round, each flow updates its cwnd
once. Each lemma has a premise about the state before a round and a conclusion about the state after the round: N_C and
N_T stay in their ranges (C.6), N_T enters its range (C.7), and N_C enters its range (C.8). Conditions are written with
``&``, ``|`` and :func:`unless`, which z3's and Python's Booleans both support.

Symbols: N_C, link rate divided by a flow's throughput; N_T, queueing delay divided by theta, the queueing delay per
flow; band, the part of N_T's range in which an N_C out of range decreases; sigma, minimum factor of progress per round;
N_T', N_T after the round.
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
    """The ranges in which N_C and N_T finally stay, and the rate of convergence.

    Attributes
    ----------
    n_t_low, n_t_high : bounds of N_T's range
    n_c_high : upper bound of N_C's range, for both flows; the throughput ratio is then at most ``n_c_high - 1``
    band_low, band_high : bounds of the band
    sigma : minimum factor of progress per round, above 1
    """

    n_t_low: Fraction = Fraction(3, 20)
    n_t_high: Fraction = Fraction(33, 10)
    n_c_high: Fraction = Fraction(33, 5)
    band_low: Fraction = Fraction(9, 5)
    band_high: Fraction = Fraction(11, 5)
    sigma: Fraction = Fraction(101, 100)

    @property
    def n_c_low(self) -> Fraction:
        """Lower bound of N_C's range: N_C of a flow if N_C of the other flow is `n_c_high`."""
        return self.n_c_high / (self.n_c_high - 1)

    @property
    def ratio(self) -> Fraction:
        """The maximum throughput ratio of the two flows in these ranges."""
        return self.n_c_high - 1


PUBLISHED: Final = Range()
"""Thesis section D.3.4.3."""


@dataclass(frozen=True)
class Lemma:
    """A lemma: in every round that jitter can cause, the premise implies the conclusion.

    Because the flows are interchangeable, the solvers only check rounds in which the first flow's share is at most the
    second flow's.

    Attributes
    ----------
    name, claim : str, name of the lemma; the lemma in words
    given, then : functions from a Round to the premise and to the conclusion
    jitter : Jitter, the maximum errors that jitter causes in the flows' estimates
    expects : ProofOutcome; refuted for deliberately false lemmas (controls) and for errors in print
    constants : the lemma's constants, with fairweir's values and the published values
    note : str, a comment for the table of results
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
        """The subject: FRCC's update of cwnd. An arbitrary sender, in contrast, may change cwnd by any factor."""
        return About.CCA

    def question(self) -> Question:
        """Return the question for the solvers."""
        of = unknowns()
        start = [of.shares[0] <= of.shares[1], self.given(of)]
        unknown = (of.shares[0], of.n_t, of.r, *of.factors)
        anyone = [*constraints(self.jitter, of, any_sender=True), *start]
        return Question(self.name, [*constraints(self.jitter, of), *start], self.then(of), unknown, "QF_NRA", anyone)


def unless(premise: Any, conclusion: Any) -> Any:
    """Return the condition that `conclusion` holds unless `premise` does: the implication (not premise) -> conclusion.

    Parameters
    ----------
    premise, conclusion : Booleans of Python or z3
    """
    return premise | conclusion


def n_c_in(within: Range) -> Condition:
    """Return the constraint that N_C of both flows is in its range before the round."""
    return lambda at: at.n_c_at_most(0, within.n_c_high) & at.n_c_at_most(1, within.n_c_high)


def n_c_after_in(within: Range) -> Condition:
    """Return the constraint that N_C of both flows is in its range after the round."""
    return lambda at: at.n_c_after_at_most(0, within.n_c_high) & at.n_c_after_at_most(1, within.n_c_high)


def n_t_in(within: Range) -> Condition:
    """Return the constraint that N_T is in its range before the round."""
    return lambda at: (at.n_t >= within.n_t_low) & (at.n_t <= within.n_t_high)


def n_t_after_in(within: Range) -> Condition:
    """Return the constraint that N_T is in its range after the round."""
    return lambda at: (at.n_t_after >= within.n_t_low) & (at.n_t_after <= within.n_t_high)


def falls_to_range(within: Range) -> Condition:
    """C.7, N_T above its range: N_T decreases by the factor sigma or enters its range; N_T does not end below it."""
    return lambda at: (
        ((at.n_t_after * within.sigma <= at.n_t) | (at.n_t_after <= within.n_t_high)) & (at.n_t_after >= within.n_t_low)
    )


def rises_to_range(within: Range) -> Condition:
    """C.7, N_T below its range: N_T rises by the factor sigma or enters its range; N_T does not end above it."""
    return lambda at: (
        ((at.n_t_after >= at.n_t * within.sigma) | (at.n_t_after >= within.n_t_low)) & (at.n_t_after <= within.n_t_high)
    )


def n_c_improves(within: Range) -> Condition:
    """C.8: N_C of a flow is above its range, and decreases by the factor sigma or enters the range, not below it."""

    def of(at: Round, flow: int) -> Any:
        return (
            (at.shares[flow] * within.n_c_high < 1)
            & at.n_c_after_at_least(flow, within.n_c_low)
            & (at.n_c_falls(flow, within.sigma) | at.n_c_after_at_most(flow, within.n_c_high))
        )

    return lambda at: of(at, 0) | of(at, 1)


def n_t_improves(within: Range) -> Condition:
    """C.8 of the thesis: N_T is outside the band, and moves by the factor sigma towards it or enters it, not beyond."""
    return lambda at: (
        _falls_to_band(within, at)
        | (
            (at.n_t < within.band_low)
            & (at.n_t_after <= within.band_high)
            & ((at.n_t_after >= at.n_t * within.sigma) | (at.n_t_after >= within.band_low))
        )
    )


def n_t_improves_as_the_paper_prints(within: Range) -> Condition:
    """C.8 of the paper, for N_T below the band: the paper prints N_T' >= band_low; N_T' <= band_high is needed."""
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
    """Return the constraint that N_C of both flows, and N_T, are in their ranges before the round."""
    return lambda at: n_c_in(within)(at) & n_t_in(within)(at)


def moves_on(within: Range, n_t_moves: Callable[[Range], Condition] = n_t_improves) -> Condition:
    """Return C.8's conclusion: N_C and N_T are in range after the round, or N_C or N_T improves and neither degrades.

    Parameters
    ----------
    within : Range, the lemma's constants
    n_t_moves : function from the constants to the condition that N_T is outside the band and improves
    """
    return lambda at: (
        (n_c_after_in(within)(at) & n_t_after_in(within)(at))
        | ((n_c_improves(within)(at) | n_t_moves(within)(at)) & none_degrades(within)(at))
    )


def outside(within: Range) -> Condition:
    """Return the constraint that N_C of a flow, or N_T, is out of its range before the round."""
    return lambda at: (
        (at.shares[0] * within.n_c_high < 1)
        | (at.shares[1] * within.n_c_high < 1)
        | (at.n_t < within.n_t_low)
        | (at.n_t > within.n_t_high)
    )
