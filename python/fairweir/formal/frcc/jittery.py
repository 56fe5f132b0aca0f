"""An exact round of two FRCC flows on a link with jitter: Algorithm 1 with errors of the estimates.

States and windows are fractions; no solver is used. The encoding (``encoding.py``) defines which outcomes of a round
are possible; this module computes the outcome for given errors, so the two can be compared.

The paper has R, theta and Delta_R separately; only R/theta and Delta_R/theta matter, so theta = 1 here, and C = 1.
"""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final


@dataclass(frozen=True)
class Jitter:
    """Maximum errors of estimates, and FRCC's own constants (thesis section D.3.4).

    Attributes
    ----------
    gamma : size of a probe
    decrease, increase : maximum factors of cwnd per round, 1/delta_L and delta_H
    rate_low, rate_high : measured divided by true throughput
    delay_error : maximum error of N_T, Delta_R/(2 theta)
    excess_error : Delta_R/D; the error of a probe's excess delay is at most this times D
    r_below : upper bound on R/theta; it is N_G = 2 under the published condition theta N_G > R
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
"""theta > Delta_R/2, as in the theorem's conditions."""
KERNEL: Final = Jitter(decrease=Fraction(196, 256), increase=Fraction(332, 256))
"""The clamps of the published kernel module."""


@dataclass(frozen=True)
class State:
    """The state between two rounds.

    Attributes
    ----------
    share : the first flow's share of the link, in (0, 1); its N_C is 1/share
    n_t : N_T, queueing delay divided by theta
    r : R/theta
    """

    share: Fraction
    n_t: Fraction
    r: Fraction

    @property
    def shares(self) -> tuple[Fraction, Fraction]:
        """Both flows' shares."""
        return self.share, 1 - self.share


@dataclass(frozen=True)
class Bend:
    """The errors that the network causes in one flow's estimates.

    Attributes
    ----------
    rate : measured throughput divided by the true throughput
    delay : error of N_T
    excess : error of the probe's excess delay, in units of D
    """

    rate: Fraction
    delay: Fraction
    excess: Fraction


def factor(jitter: Jitter, share: Fraction, n_t: Fraction, bend: Bend) -> Fraction:
    """Return the target cwnd divided by cwnd (alternate update): Algorithm 1, line by line.

    Parameters
    ----------
    jitter : Jitter, FRCC's constants
    share : of the link, in (0, 1)
    n_t : true N_T
    bend : Bend, errors of the flow's estimates
    """
    throughput = share * bend.rate
    seen_n_t = n_t + bend.delay
    probe_by_d = jitter.gamma * seen_n_t * throughput
    excess_by_d = probe_by_d + bend.excess
    # Line 4; an excess delay that is not positive means an infinite rate, which the clamp then limits.
    seen_n_c = max(probe_by_d / excess_by_d / throughput, Fraction(1)) if excess_by_d > 0 else None
    highest = seen_n_t * jitter.increase
    clamped = highest if seen_n_c is None else min(max(seen_n_c, seen_n_t * jitter.decrease), highest)
    return clamped / seen_n_t


def step(jitter: Jitter, state: State, bends: tuple[Bend, Bend]) -> State:
    """Return the state after both flows have measured and updated (alternate update, synchronous, no collisions).

    Parameters
    ----------
    jitter : Jitter, FRCC's constants
    state : State, before the round
    bends : Bend, errors of each flow's estimates
    """
    rtt = state.r + state.n_t
    windows = [
        share * rtt * factor(jitter, share, state.n_t, bend) for share, bend in zip(state.shares, bends, strict=True)
    ]
    return State(windows[0] / sum(windows), sum(windows) - state.r, state.r)


def bend_for(jitter: Jitter, share: Fraction, n_t: Fraction, wanted: Fraction) -> Bend | None:
    """Return errors that give the factor `wanted`; None if there are none.

    The search starts at the errors with the largest factor and moves one error after another to its other extreme. The
    inverse factor is linear in each error, so the solution is exact.

    Parameters
    ----------
    jitter : Jitter, maximum errors
    share : of the link, in (0, 1)
    n_t : true N_T
    wanted : factor of the window
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
    """Draw random errors, extremes more often than other values, because lemmas fail at extremes.

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
