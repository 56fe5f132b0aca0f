"""The lemmas that bound every run; proved by hand in ``crates/reach/src/bounds.rs`` and checked by solvers.

Each lemma concerns one flow and its share, so the lemmas hold for any number of flows. Units: theta = 1, C = 1.
"""

from __future__ import annotations

from typing import Any, Final

from fairweir.formal.frcc.claim import Claim
from fairweir.formal.frcc.main.rule import THESIS, Assumed
from fairweir.formal.lemmas.result import About
from fairweir.formal.solving.solve import Question

#: Margin of a probe's signal reserved for persistence, as in the compiled part.
MARGIN: Final = (1, 64)


def lemmas(assumed: Assumed = THESIS) -> list[Claim]:
    """Return all of them."""
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
    """A flow's estimates: R, N_T, share, N^_T, its estimate of N_T / N_C, and their constraints."""
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
    """Some factor of cwnd that an estimate of N_C of 1 or more gives; its definition without a division."""
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
    # N^_C = N^_T / inverse >= N^_T / (1 - margin), or unbounded
    claim = z3.Or(inverse <= 0, inverse <= 1 - _exact_margin())
    return Question("persistence", [*assumptions, small], claim, unknowns, "QF_NRA")


def _cwnd_of_others(assumed: Assumed) -> Question:
    r, n_t, share, _, _, unknowns, assumptions = _flow(assumed)
    large = _exact(assumed.rate_over) * share * (n_t + _exact(assumed.nt_over)) > _signal(assumed)
    cwnd = share * (r + n_t)
    claim = _exact(assumed.rate_over) * cwnd >= _signal(assumed)
    return Question("cwnd of others", [*assumptions, large, r >= _exact(assumed.nt_over)], claim, unknowns, "QF_NRA")


def _ceiling(assumed: Assumed) -> Question:
    """Return the question for the minimum estimate P and a target s of at least the lower clamp."""
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
    # R + N^_C <= s (R + N^_T) for N^_C = max(1, N^_T / inverse)
    reached = target * (r + seen) - r
    claim = z3.And(inverse > 0, reached >= 1, reached * inverse >= seen)
    return Question("ceiling", [*assumptions, *given], claim, (*unknowns, least, target), "QF_NRA")
