"""One round of n flows of the CCA FRCC with the main cwnd update, in exact numbers: Algorithm 2 with wrong estimates.

In a round, each flow sends a probe (packets that lengthen the queue for a short time), estimates N_C and N_T, with
errors that jitter causes, and updates its cwnd once. In the kernel module, clamps (minimum and maximum) limit cwnd'
divided by cwnd; as printed in line 5 of the algorithm, they limit the estimate of N_C.

Symbols: C, link rate; R (in code: r), round-trip propagation delay; theta, queueing delay per flow; N_C, C divided by a
flow's rate; N_T, queueing delay divided by theta; cwnd', cwnd after the round; D, jitter that FRCC tolerates; Delta_R,
maximum error of a difference of RTTs; gamma_R, maximum factor by which a measured rate is wrong. The units are such
that theta = 1 and C = 1: cwnd is in C theta, R is R/theta, and the sum of all cwnd is R + N_T.
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
    """FRCC's constants (thesis section D.3.4.1), and the maximum errors of estimates (section D.3.2, assumption 7).

    Attributes
    ----------
    gamma : size of a probe, which adds gamma times N_T times the flow's rate times D to the bytes in flight
    slowest, fastest : minimum and maximum of cwnd' / cwnd per round: 1/delta_L and delta_H
    nt_under, nt_over : maximum by which N_T is under- and overestimated: 0 and Delta_R/(2 theta); estimates are >= 0
    rate_under, rate_over : minimum and maximum of measured divided by true throughput: 1/gamma_R and 1
    excess : maximum absolute error of the delay that a probe adds (the excess delay), in D: Delta_R/D
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
    n_t : estimate of N_T minus the true N_T
    rate : measured throughput divided by the true throughput
    excess : error of the excess delay, in units of D
    """

    n_t: Number
    rate: Number
    excess: Number


def wanted(assumed: Assumed, share: Number, n_t: Number, r: Number, errors: Errors) -> Number | None:
    """Return cwnd' / cwnd before any clamp; None if unbounded: the estimate of N_T is 0, or the excess delay is <= 0.

    Parameters
    ----------
    assumed : Assumed, FRCC's constants and maximum errors
    share : the flow's share of the link, in (0, 1)
    n_t : true N_T
    r : R/theta
    errors : Errors, the errors of the flow's estimates
    """
    seen = n_t + errors.n_t
    if seen <= 0:
        return None
    # A probe of size E = gamma N_T rate D adds the delay E / C, so the flow estimates N_T / N_C as the measured excess
    # delay divided by gamma D. `inverse` is this estimate, with both errors.
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
    """Return the cwnd of all flows, in C theta, after a round in which all flows measure before any flow updates.

    Parameters
    ----------
    assumed : Assumed, FRCC's constants and maximum errors
    cwnd : cwnd of all flows before the round, in C theta
    r : R/theta
    errors : Errors of each flow's estimates
    rule : function that returns cwnd' / cwnd of one flow, with the parameters of :func:`factor`
    """
    total = sum(cwnd)
    n_t = max(total - r, 0)
    return [w * rule(assumed, w / total, n_t, r, e) for w, e in zip(cwnd, errors, strict=True)]


def corners(assumed: Assumed, n_t: Number) -> list[Errors]:
    """Return all combinations of minimum and maximum errors.

    Parameters
    ----------
    assumed : Assumed, the maximum errors
    n_t : true N_T; errors that would make the estimate of N_T negative are reduced
    """
    lowest = -min(assumed.nt_under, n_t)
    return [
        Errors(delay, rate, excess)
        for delay in {lowest, assumed.nt_over}
        for rate in (assumed.rate_under, assumed.rate_over)
        for excess in (-assumed.excess, assumed.excess)
    ]
