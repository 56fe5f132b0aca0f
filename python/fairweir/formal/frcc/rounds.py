"""The last part of theorem 7.5.2 about the CCA FRCC, for a solver: its lemmas imply that every run ends in a region.

The region is the set of states in which N_C of both flows, and N_T, are in their ranges. In a round, each of two flows
updates its cwnd once. Lemmas C.6 to C.8 of the FRCC paper are about one round; the published argument from the lemmas
to the theorem is in prose. Here a round is described by two numbers before and after the round, N_T and the N_C of the
flow that is out of range, and the conclusions of the lemmas are the only constraints on these numbers. They must imply:

- if N_T is out of its range, N_T moves by the factor sigma towards the range, or into it; if N_T is in its range, N_T
  stays there;
- if N_T is in its range and N_C is not, N_C never grows, and in each round N_C decreases by the factor sigma, or N_C
  enters its range, or N_T moves by the factor sigma towards the band; if N_T is in the band, N_C decreases by sigma or
  enters its range.

N_C therefore decreases by sigma at least once in `rounds_to_band` + 1 rounds; :func:`max_rounds` counts the rounds. The
published lemmas do not state that N_C cannot jump across its range, which would put the other flow out of range;
``no_jump`` is the lemma that N_C cannot.

Symbols: N_C, link rate divided by a flow's throughput; N_T, queueing delay divided by the queueing delay per flow;
sigma, minimum factor of progress per round; band, the part of N_T's range in which an N_C out of range decreases.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from fairweir.formal.frcc.claim import Claim
from fairweir.formal.frcc.jittery import Jitter
from fairweir.formal.frcc.lemmas import Lemma, Range
from fairweir.formal.lemmas.result import About, ProofOutcome
from fairweir.formal.solving.solve import Question

if TYPE_CHECKING:
    import z3


def no_jump(name: str, jitter: Jitter, within: Range) -> Lemma:
    """Return the lemma that N_C does not change from above its range to below it in one round.

    Parameters
    ----------
    name : str, start of the lemma's name
    jitter : Jitter, maximum errors
    within : Range, the lemma's constants
    """
    return Lemma(
        f"{name}: no jump",
        f"N_C above {float(within.n_c_high):g} is at least {float(within.n_c_low):.4g} after a round",
        lambda at: (at.shares[0] * within.n_c_high < 1) | (at.shares[1] * within.n_c_high < 1),
        lambda at: (
            (at.n_c_at_most(0, within.n_c_high) | at.n_c_after_at_least(0, within.n_c_low))
            & (at.n_c_at_most(1, within.n_c_high) | at.n_c_after_at_least(1, within.n_c_low))
        ),
        jitter,
    )


def seams(name: str, within: Range) -> list[Claim]:
    """Return the claims that lead from the lemmas to the theorem, and one false claim that does not use C.8.

    Parameters
    ----------
    name : str, start of the claims' names
    within : Range, the lemmas' constants
    """
    return [
        Claim(
            f"{name}: N_T comes in",
            "N_T out of range comes nearer by sigma or into it, and does not cross it",
            lambda: _n_t_comes_in(within),
            About.LOGIC,
        ),
        Claim(
            f"{name}: N_C moves on",
            "N_T in range: it stays, N_C out of range never grows, and falls by sigma or comes in, "
            "or N_T moves by sigma towards the band",
            lambda: _n_c_moves_on(within),
            About.LOGIC,
        ),
        Claim(
            f"{name}: in the band N_C falls",
            "N_T in the band: N_C out of range falls by sigma or comes in",
            lambda: _n_c_falls_in_band(within),
            About.LOGIC,
        ),
        Claim(
            f"{name}: without C.8",
            "N_T in the band: N_C out of range falls by sigma or comes in, from C.6 and C.7 alone",
            lambda: _n_c_falls_in_band(within, with_c8=False),
            About.LOGIC,
            expects=ProofOutcome.REFUTED,
            note="a control: the seams rest on the lemmas",
        ),
    ]


@dataclass(frozen=True)
class _Abstract:
    """The state before and after a round that is constrained only by the lemmas; `n_c` is of the flow out of range."""

    n_c: Any
    n_t: Any
    n_c_after: Any
    n_t_after: Any
    within: Range

    @property
    def is_n_t_in(self) -> Any:
        return (self.n_t >= self.within.n_t_low) & (self.n_t <= self.within.n_t_high)

    @property
    def stays_n_t_in(self) -> Any:
        return (self.n_t_after >= self.within.n_t_low) & (self.n_t_after <= self.within.n_t_high)

    @property
    def n_c_falls(self) -> Any:
        return (self.n_c_after * self.within.sigma <= self.n_c) | (self.n_c_after <= self.within.n_c_high)

    def nears(self, low: Any, high: Any) -> Any:
        """Return the constraint that N_T is outside [low, high] and moves by sigma towards or into it, not across."""
        sigma = self.within.sigma
        falls = (self.n_t_after * sigma <= self.n_t) | (self.n_t_after <= high)
        rises = (self.n_t_after >= self.n_t * sigma) | (self.n_t_after >= low)
        return ((self.n_t > high) & falls & (self.n_t_after >= low)) | (
            (self.n_t < low) & rises & (self.n_t_after <= high)
        )

    def lemmas(self, *, with_c8: bool = True) -> list[z3.BoolRef]:
        """Return the conclusions of C.6 about N_T and of C.7; with `with_c8`, also those of C.8 and `no_jump`."""
        w = self.within
        known = [~self.is_n_t_in | self.stays_n_t_in, self.is_n_t_in | self.nears(w.n_t_low, w.n_t_high)]
        if with_c8:
            comes_in = (self.n_c_after >= w.n_c_low) & (self.n_c_after <= w.n_c_high) & self.stays_n_t_in
            improves = ((self.n_c_after >= w.n_c_low) & self.n_c_falls) | self.nears(w.band_low, w.band_high)
            known += [comes_in | (improves & (self.n_c_after <= self.n_c)), self.n_c_after >= w.n_c_low]
        return known


def _abstract(within: Range) -> tuple[_Abstract, list[Any]]:
    import z3

    n_c, n_t, n_c_after, n_t_after = z3.Reals("N_C N_T N_C_after N_T_after")
    at = _Abstract(n_c, n_t, n_c_after, n_t_after, within)
    return at, [at.n_t > 0, at.n_c > within.n_c_high, at.n_c_after > 1]


def _n_t_comes_in(within: Range) -> Question:
    at, now = _abstract(within)
    return Question("N_T", [*now, ~at.is_n_t_in, *at.lemmas()], at.nears(within.n_t_low, within.n_t_high))


def _n_c_moves_on(within: Range) -> Question:
    at, now = _abstract(within)
    moves = at.n_c_falls | at.nears(within.band_low, within.band_high)
    claim = at.stays_n_t_in & (at.n_c_after <= at.n_c) & (at.n_c_after >= within.n_c_low) & moves
    return Question("N_C", [*now, at.is_n_t_in, *at.lemmas()], claim)


def _n_c_falls_in_band(within: Range, *, with_c8: bool = True) -> Question:
    at, now = _abstract(within)
    is_in_band = (at.n_t >= within.band_low) & (at.n_t <= within.band_high)
    return Question("band", [*now, is_in_band, *at.lemmas(with_c8=with_c8)], at.n_c_falls)


def steps_of(sigma: Fraction, ratio: Fraction) -> int:
    """Return the number of multiplications by `sigma` after which the product is at least `ratio`.

    Parameters
    ----------
    sigma : factor, above 1
    ratio : the larger of initial and final value divided by the smaller; at least 1
    """
    count = max(0, math.ceil(math.log(ratio) / math.log(sigma)) - 2)
    while sigma**count < ratio:
        count += 1
    return count


def rounds_to_band(within: Range) -> int:
    """Return the maximum number of consecutive rounds in which N_T moves towards the band and N_C does not decrease."""
    farthest = max(within.band_low / within.n_t_low, within.n_t_high / within.band_high)
    return steps_of(within.sigma, farthest)


def max_rounds(within: Range, n_c: Fraction, n_t: Fraction) -> int:
    """Return the maximum number of rounds until N_C of both flows and N_T are in range.

    Parameters
    ----------
    within : Range, the lemmas' constants
    n_c : initial N_C of the flow with the smaller window
    n_t : initial N_T
    """
    apart = max(within.n_t_low / n_t, n_t / within.n_t_high, Fraction(1))
    falls = steps_of(within.sigma, max(n_c / within.n_c_high, Fraction(1)))
    return steps_of(within.sigma, apart) + falls * (rounds_to_band(within) + 1)
