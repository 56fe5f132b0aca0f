"""An exact round of n FRCC flows with the main cwnd update: Algorithm 2 with errors of the estimates.

In the kernel module, clamps limit the change of cwnd; as printed in line 5 of the algorithm, they limit the estimate of
N_C. In units with theta = 1 and C = 1, a cwnd is in C theta, R is R/theta, and the sum of all cwnd is R + N_T.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

Number = Any
"""A Fraction, or a float if rounding does not matter."""


@dataclass(frozen=True)
class Assumed:
    """FRCC's constants, and maximum errors of estimates (thesis section D.3.4.1; the errors are those of D.3.2, 7).

    Attributes
    ----------
    gamma : size of a probe
    slowest, fastest : minimum and maximum of cwnd' / cwnd per round: 1/delta_L and delta_H
    nt_under, nt_over : maximum under- and over-estimate of N_T (never below 0): Delta_R/(2 theta)
    rate_under, rate_over : minimum and maximum of measured divided by true throughput: 1/gamma_R and 1
    excess : Delta_R/D; the error of a probe's excess delay is at most this times D, in either direction
    """

    gamma: Fraction = Fraction(4)
    slowest: Fraction = Fraction(4, 5)
    fastest: Fraction = Fraction(13, 10)
    nt_under: Fraction = Fraction(0)
    nt_over: Fraction = Fraction(1, 2)
    rate_under: Fraction = Fraction(1, 2)
    rate_over: Fraction = Fraction(1)
    excess: Fraction = Fraction(1)


THESIS: Final = Assumed()
"""Thesis section 7.5.3, with gamma_R in the direction that assumption 7 states and theta >= Delta_R."""


@dataclass(frozen=True)
class Errors:
    """The errors that the network causes in one flow's estimates.

    Attributes
    ----------
    n_t : error of N_T
    rate : measured throughput divided by the true throughput
    excess : error of the excess delay, in units of D
    """

    n_t: Number
    rate: Number
    excess: Number


def wanted(assumed: Assumed, share: Number, n_t: Number, r: Number, errors: Errors) -> Number | None:
    """Return target cwnd / cwnd before any clamp; None if unbounded (N_T = 0, excess delay <= 0).

    Parameters
    ----------
    assumed : Assumed, FRCC's constants and maximum errors
    share : of the link, in (0, 1)
    n_t : true N_T
    r : R/theta
    errors : Errors, of the flow's estimates
    """
    seen = n_t + errors.n_t
    if seen <= 0:
        return None
    # the probe's share of a second, by the true rate: E / C = gamma N_T rate D / C, so N_T / N_C = excess / (gamma D)
    inverse = errors.rate * seen * share + errors.excess / assumed.gamma
    if inverse <= 0:
        return None
    seen_n_c = max(seen / inverse, 1)
    return (r + seen_n_c) / (r + seen)


def factor(assumed: Assumed, share: Number, n_t: Number, r: Number, errors: Errors) -> Number:
    """Return cwnd' / cwnd: Algorithm 2 with the main update (line 7) and the kernel's clamps.

    Parameters
    ----------
    assumed, share, n_t, r, errors : as in :func:`wanted`
    """
    target = wanted(assumed, share, n_t, r, errors)
    return assumed.fastest if target is None else min(max(target, assumed.slowest), assumed.fastest)


def printed_factor(assumed: Assumed, share: Number, n_t: Number, r: Number, errors: Errors) -> Number:
    """Return cwnd' / cwnd as Algorithm 2 is printed: line 5 clamps the estimate of N_C, then line 7 applies.

    Parameters
    ----------
    assumed, share, n_t, r, errors : as in :func:`wanted`
    """
    seen = n_t + errors.n_t
    if seen <= 0:
        return assumed.fastest
    inverse = errors.rate * seen * share + errors.excess / assumed.gamma
    seen_n_c = max(seen / inverse, 1) if inverse > 0 else seen * assumed.fastest
    return (r + min(max(seen_n_c, seen * assumed.slowest), seen * assumed.fastest)) / (r + seen)


def after_round(
    assumed: Assumed, cwnd: Sequence[Number], r: Number, errors: Sequence[Errors], rule: Any = factor
) -> list[Number]:
    """Return all flows' cwnd after a round in which first all flows measure and then all update.

    Parameters
    ----------
    assumed : Assumed, FRCC's constants and maximum errors
    cwnd : of all flows, C theta
    r : R/theta
    errors : of each flow's estimates
    rule : returns a flow's cwnd' / cwnd, as :func:`factor`
    """
    total = sum(cwnd)
    n_t = max(total - r, 0)
    return [w * rule(assumed, w / total, n_t, r, e) for w, e in zip(cwnd, errors, strict=True)]


def corners(assumed: Assumed, n_t: Number) -> list[Errors]:
    """Return the errors at the ends of their ranges: bounds are tight there, or where N_C starts to leave 1.

    Parameters
    ----------
    assumed : Assumed, the maximum errors
    n_t : true N_T, below which no error takes it under 0
    """
    lowest = -min(assumed.nt_under, n_t)
    return [
        Errors(delay, rate, excess)
        for delay in {lowest, assumed.nt_over}
        for rate in (assumed.rate_under, assumed.rate_over)
        for excess in (-assumed.excess, assumed.excess)
    ]
