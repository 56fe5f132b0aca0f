"""Lemmas about every run of the CCA FRCC; proved by hand in ``crates/reach/src/bounds.rs`` and checked by solvers here.

Each lemma concerns one flow and its share of the link in one round, so the lemmas hold for any number of flows. In a
round, each flow sends a probe, estimates N_C and N_T, with errors that jitter causes, and updates its cwnd once.

Symbols: C, link rate; R, round-trip propagation delay; theta, queueing delay per flow; N_C, C divided by a flow's rate;
N_T, queueing delay divided by theta; N^_C and N^_T, a flow's estimates of N_C and N_T; P, minimum of N^_T; s, cwnd
after the round divided by cwnd before; Delta_R, maximum error of a difference of RTTs; gamma_R, maximum factor by which
a measured rate is wrong; gamma, size of a probe. The units are such that theta = 1 and C = 1.
"""

from __future__ import annotations

from typing import Any, Final

from fairweir.formal.frcc.claim import Claim
from fairweir.formal.frcc.main.rule import THESIS, Assumed
from fairweir.formal.lemmas.result import About
from fairweir.formal.solving.solve import Question

#: Margin in the lemma "persistence", as numerator and denominator; ``crates/reach`` uses the same margin.
MARGIN: Final = (1, 64)


def lemmas(assumed: Assumed = THESIS) -> list[Claim]:
    """Return the claims for FRCC's constants and for the maximum errors in `assumed`."""
    return [
        Claim(
            "floor",
            "a flow takes at most its share of max(0, N_T - (1 - Delta_R/2 theta)) from N_T, so N_T keeps that floor",
            lambda: _floor(assumed),
            About.CCA,
        ),
        Claim(
            "floor is reached",
            "while N_T <= (1 - Delta_R/2 theta)/2, every cwnd grows by (R + 1)/(R + N_T + Delta_R/2 theta) or 1.3",
            lambda: _floor_is_reached(assumed),
            About.CCA,
        ),
        Claim(
            "persistence",
            "a flow with share (N_T + Delta_R/2 theta) <= 1 - 1/gamma - 1/64 takes N_C for N^_T / (1 - 1/64) or more",
            lambda: _persistence(assumed),
            About.LOGIC,
        ),
        Claim(
            "cwnd of others",
            "any other flow, if N_T is above its floor and theta <= 2 R, has cwnd of 47/64 C theta or more",
            lambda: _cwnd_of_others(assumed),
            About.LOGIC,
        ),
        Claim(
            "ceiling",
            "above N_T = P a flow with share >= gamma_R (1/(gamma P) + 1/(s (R + P) - R)) has cwnd' <= s cwnd, s < 1",
            lambda: _ceiling(assumed),
            About.LOGIC,
        ),
    ]


def _exact(value: Any) -> Any:
    import z3

    return z3.Q(value.numerator, value.denominator)


def _flow(assumed: Assumed) -> tuple[Any, ...]:
    """Return R, N_T, share, N^_T, the flow's estimate of N_T / N_C, all unknowns, and the constraints on them."""
    import z3

    r, n_t, share, seen, rate, excess = z3.Reals("R N_T share seen rate excess")
    inverse = rate * seen * share + excess / _exact(assumed.gamma)
    assumptions = [
        r > 0,
        n_t >= 0,
        share > 0,
        share < 1,
        seen > 0,
        seen >= n_t - _exact(assumed.nt_under),
        seen <= n_t + _exact(assumed.nt_over),
        rate >= _exact(assumed.rate_under),
        rate <= _exact(assumed.rate_over),
        excess >= -_exact(assumed.excess),
        excess <= _exact(assumed.excess),
    ]
    return r, n_t, share, seen, inverse, (r, n_t, share, seen, rate, excess), assumptions


def _factor(assumed: Assumed, r: Any, seen: Any) -> tuple[Any, list[Any], tuple[Any, ...]]:
    """Return the factor s for an arbitrary N^_C >= 1, the constraints that define s, and the unknowns."""
    import z3

    n_c, target, factor = z3.Reals("n_c target factor")
    low, high = _exact(assumed.slowest), _exact(assumed.fastest)
    clamped = z3.If(target < low, low, z3.If(target > high, high, target))
    return factor, [n_c >= 1, target * (r + seen) == r + n_c, factor == clamped], (n_c, target, factor)


def _floor(assumed: Assumed) -> Question:
    import z3

    r, n_t, _, seen, _, unknowns, assumptions = _flow(assumed)
    factor, rule, more = _factor(assumed, r, seen)
    above = n_t - (1 - _exact(assumed.nt_over))
    claim = (r + n_t) * (factor - 1) >= z3.If(above > 0, -above, z3.RealVal(0))
    anyone = [*assumptions, factor > 0]
    return Question("floor", [*assumptions, *rule], claim, (*unknowns, *more), "QF_NRA", anyone)


def _floor_is_reached(assumed: Assumed) -> Question:
    import z3

    r, n_t, _, seen, _, unknowns, assumptions = _flow(assumed)
    factor, rule, more = _factor(assumed, r, seen)
    low = n_t <= (1 - _exact(assumed.nt_over)) / 2
    growth = factor * (r + n_t + _exact(assumed.nt_over)) >= r + 1
    claim = z3.Or(growth, factor == _exact(assumed.fastest))
    anyone = [*assumptions, factor > 0, low]
    return Question("floor is reached", [*assumptions, *rule, low], claim, (*unknowns, *more), "QF_NRA", anyone)


def _signal(assumed: Assumed) -> Any:
    return 1 - _exact(assumed.excess / assumed.gamma) - _exact_margin()


def _exact_margin() -> Any:
    import z3

    return z3.Q(*MARGIN)


def _persistence(assumed: Assumed) -> Question:
    import z3

    _, n_t, share, _, inverse, unknowns, assumptions = _flow(assumed)
    small = _exact(assumed.rate_over) * share * (n_t + _exact(assumed.nt_over)) <= _signal(assumed)
    # N^_C = N^_T / inverse is at least N^_T / (1 - margin); if inverse <= 0, N^_C is unbounded.
    claim = z3.Or(inverse <= 0, inverse <= 1 - _exact_margin())
    return Question("persistence", [*assumptions, small], claim, unknowns, "QF_NRA")


def _cwnd_of_others(assumed: Assumed) -> Question:
    r, n_t, share, _, _, unknowns, assumptions = _flow(assumed)
    large = _exact(assumed.rate_over) * share * (n_t + _exact(assumed.nt_over)) > _signal(assumed)
    cwnd = share * (r + n_t)
    claim = _exact(assumed.rate_over) * cwnd >= _signal(assumed)
    return Question("cwnd of others", [*assumptions, large, r >= _exact(assumed.nt_over)], claim, unknowns, "QF_NRA")


def _ceiling(assumed: Assumed) -> Question:
    """Return the question of the lemma "ceiling", for any P and for any s between the lower clamp and 1."""
    import z3

    r, n_t, share, seen, inverse, unknowns, assumptions = _flow(assumed)
    least, target = z3.Reals("P s")
    highest = target * (r + least) - r
    given = [
        target >= _exact(assumed.slowest),
        target < 1,
        least > 0,
        n_t - _exact(assumed.nt_under) >= least,
        highest >= 1,
        _exact(assumed.rate_under) * share * least * highest
        >= _exact(assumed.excess / assumed.gamma) * highest + least,
    ]
    # The claim is R + N^_C <= s (R + N^_T), where N^_C = max(1, N^_T / inverse).
    reached = target * (r + seen) - r
    claim = z3.And(inverse > 0, reached >= 1, reached * inverse >= seen)
    return Question("ceiling", [*assumptions, *given], claim, (*unknowns, least, target), "QF_NRA")
