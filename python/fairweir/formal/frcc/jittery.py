"""One round of two flows of the CCA FRCC on a link with jitter, in exact fractions: Algorithm 1 with wrong estimates.

In a round, each flow sends a probe (packets that lengthen the queue for a short time), estimates N_C and N_T, and
updates its cwnd once. This module computes the outcome of a round for given errors of the estimates, without a solver.
``encoding.py`` defines for solvers which outcomes are possible, so the two modules can be compared.

Symbols: N_C, link rate C divided by a flow's throughput; share, 1/N_C; N_T, queueing delay divided by theta; N_G,
number of flows; theta, queueing delay per flow; R, round-trip propagation delay; D, jitter that FRCC tolerates;
Delta_R, maximum error of a difference of RTTs; gamma_R, maximum factor by which a throughput is wrong; 1/delta_L and
delta_H, limits (clamps) of new cwnd divided by old cwnd. The paper has R, theta and Delta_R separately; only R/theta
and Delta_R/theta matter, so theta = 1 here, and C = 1.
"""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final


@dataclass(frozen=True)
class Jitter:
    """Maximum errors of the estimates, and the constants of FRCC (thesis section D.3.4).

    Attributes
    ----------
    gamma : size of a probe, which adds gamma times N_T times throughput times D to the bytes in flight
    decrease, increase : minimum and maximum of new cwnd divided by old cwnd in one round: 1/delta_L and delta_H
    rate_low, rate_high : minimum and maximum of measured throughput divided by true throughput
    delay_error : maximum error of N_T, Delta_R/(2 theta)
    excess_error : maximum error of the delay that a probe adds (the excess delay), in D: Delta_R/D
    r_below : upper bound on R/theta; 2 follows from the published condition theta N_G > R with N_G = 2
    """

    gamma: Fraction = Fraction(4)
    decrease: Fraction = Fraction(4, 5)
    increase: Fraction = Fraction(13, 10)
    rate_low: Fraction = Fraction(1)
    rate_high: Fraction = Fraction(2)
    delay_error: Fraction = Fraction(1, 2)
    excess_error: Fraction = Fraction(1)
    r_below: Fraction = Fraction(2)


PROVED: Final = Jitter()
"""Assumptions of the published proof: theta at least Delta_R, and throughputs over-estimated (C.10)."""
STATED: Final = Jitter(rate_low=Fraction(1, 2), rate_high=Fraction(1))
"""Assumption 7 as written: jitter makes RTTs longer, so throughputs are under-estimated."""
EITHER: Final = Jitter(rate_low=Fraction(1, 2), rate_high=Fraction(2))
"""Throughputs may be over- and under-estimated."""
AS_THE_TEXT_HAS_IT: Final = Jitter(delay_error=Fraction(1))
"""The condition theta > Delta_R/2 of the theorem's text, under which N_T may be wrong by up to 1."""
KERNEL: Final = Jitter(decrease=Fraction(196, 256), increase=Fraction(332, 256))
"""The clamps of the published kernel module."""


@dataclass(frozen=True)
class State:
    """The state between two rounds.

    Attributes
    ----------
    share : the first flow's share of the link, in (0, 1)
    n_t : N_T, queueing delay divided by theta
    r : R/theta
    """

    share: Fraction
    n_t: Fraction
    r: Fraction

    @property
    def shares(self) -> tuple[Fraction, Fraction]:
        """The shares of the first and of the second flow, which add up to 1."""
        return self.share, 1 - self.share


@dataclass(frozen=True)
class Bend:
    """The errors that the network causes in one flow's estimates.

    Attributes
    ----------
    rate : measured throughput divided by the true throughput
    delay : estimate of N_T minus the true N_T
    excess : measured minus true excess delay of the probe, in units of D
    """

    rate: Fraction
    delay: Fraction
    excess: Fraction


def factor(jitter: Jitter, share: Fraction, n_t: Fraction, bend: Bend) -> Fraction:
    """Return new cwnd divided by old cwnd, according to Algorithm 1 with the alternate update.

    Parameters
    ----------
    jitter : Jitter, FRCC's constants
    share : the flow's share of the link, in (0, 1)
    n_t : true N_T
    bend : Bend, errors of the flow's estimates
    """
    throughput = share * bend.rate
    seen_n_t = n_t + bend.delay
    probe_by_d = jitter.gamma * seen_n_t * throughput
    excess_by_d = probe_by_d + bend.excess
    # Line 4. If the measured excess delay is not positive, the estimate of N_C is unbounded, and the clamp limits it.
    seen_n_c = max(probe_by_d / excess_by_d / throughput, Fraction(1)) if excess_by_d > 0 else None
    highest = seen_n_t * jitter.increase
    clamped = highest if seen_n_c is None else min(max(seen_n_c, seen_n_t * jitter.decrease), highest)
    return clamped / seen_n_t


def step(jitter: Jitter, state: State, bends: tuple[Bend, Bend]) -> State:
    """Return the state after a round in which both flows first measure and then update; probes do not overlap.

    Parameters
    ----------
    jitter : Jitter, FRCC's constants
    state : State before the round
    bends : Bend, the errors of each flow's estimates
    """
    rtt = state.r + state.n_t
    windows = [
        share * rtt * factor(jitter, share, state.n_t, bend) for share, bend in zip(state.shares, bends, strict=True)
    ]
    return State(windows[0] / sum(windows), sum(windows) - state.r, state.r)


def bend_for(jitter: Jitter, share: Fraction, n_t: Fraction, wanted: Fraction) -> Bend | None:
    """Return errors with which :func:`factor` returns `wanted`; None if no errors within `jitter` do.

    The search starts at the errors for which the factor is largest, and then moves one error after another to its other
    extreme. Before clamping, the inverse of the factor is linear in each error, so the solution is exact.

    Parameters
    ----------
    jitter : Jitter, maximum errors
    share : the flow's share of the link, in (0, 1)
    n_t : true N_T
    wanted : new cwnd divided by old cwnd
    """
    corners = [
        Bend(jitter.rate_low, Fraction(0), -jitter.excess_error),
        Bend(jitter.rate_low, Fraction(0), jitter.excess_error),
        Bend(jitter.rate_low, jitter.delay_error, jitter.excess_error),
        Bend(jitter.rate_high, jitter.delay_error, jitter.excess_error),
    ]
    for start, end in itertools.pairwise(corners):
        for inverse in (_by_probe(jitter, share, n_t), _by_floor(n_t)):
            here, there = inverse(start), inverse(end)
            way = Fraction(0) if here == there else (1 / wanted - here) / (there - here)
            if 0 <= way <= 1:
                bend = Bend(*(a + way * (b - a) for a, b in zip(_parts(start), _parts(end), strict=True)))
                if factor(jitter, share, n_t, bend) == wanted:
                    return bend
        for bend in (start, end):
            if factor(jitter, share, n_t, bend) == wanted:
                return bend
    return None


def _parts(bend: Bend) -> tuple[Fraction, Fraction, Fraction]:
    return bend.rate, bend.delay, bend.excess


def _by_probe(jitter: Jitter, share: Fraction, n_t: Fraction) -> Any:
    return lambda bend: bend.rate * (n_t + bend.delay) * share + bend.excess / jitter.gamma


def _by_floor(n_t: Fraction) -> Any:
    return lambda bend: n_t + bend.delay


def any_bend(jitter: Jitter, dice: random.Random) -> Bend:
    """Draw random errors within `jitter`; maximum errors are frequent, because lemmas tend to fail there.

    Parameters
    ----------
    jitter : Jitter, maximum errors
    dice : Random, the source of the draw
    """

    def between(low: Fraction, high: Fraction) -> Fraction:
        where = dice.choice([Fraction(0), Fraction(1), Fraction(dice.randrange(101), 100)])
        return low + where * (high - low)

    return Bend(
        between(jitter.rate_low, jitter.rate_high),
        between(Fraction(0), jitter.delay_error),
        between(-jitter.excess_error, jitter.excess_error),
    )
