"""Derive contracts by algebra from the equilibrium conditions of CCAs (thesis section 5.2.1).

A contract is the rate of a flow as a decreasing function of a statistic s (queueing delay q, loss rate or mark rate).
In equilibrium a CCA does not change its window or rate. To obtain the contract, cwnd = rate RTT and RTT = R + q are
substituted in the equilibrium condition, and the condition is solved for the rate; R is the round-trip propagation
delay (rtprop). The costs of all contracts are computed on the same range of s, so that CCAs can be compared (thesis
Table 6.2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import sympy as sp

from fairweir.contracts.costs import Corner, Curve, Fold, corner, generality, growth, robustness, unfairness

RATE, S, RTPROP = sp.symbols("rate s R", positive=True)
"""Symbols for the rate, the statistic (queueing delay, loss rate or mark rate), and the propagation delay."""
A, B = sp.symbols("a b", positive=True)
"""Symbols for the constants of a CCA."""
RTT = RTPROP + S
WINDOW = RATE * RTT


@dataclass(frozen=True)
class Condition:
    """An equilibrium condition, with the CCAs to which it applies.

    Attributes
    ----------
    ccas : names of these CCAs
    statistic : name of the statistic in words
    rests : expression that is 0 in equilibrium; it contains :data:`RATE`, :data:`S`, :data:`RTPROP` and constants
    fold : how the statistics of several hops combine to what a flow observes
    source : publication that states the condition
    from_rtprop : minimum queueing delay at which the condition applies, in multiples of the propagation delay
    least : minimum of the statistic on a full link, in ms; used if it is above `Setting.s_min`
    starves : reason why a flow over several hops gets no throughput; empty if the flow gets some
    note : remark for the reader of the table; may be empty
    """

    ccas: tuple[str, ...]
    statistic: str
    rests: sp.Expr
    fold: Fold
    source: str
    from_rtprop: float = 0.0
    least: float = 0.0
    starves: str = ""
    note: str = ""

    @cached_property
    def rate(self) -> sp.Expr:
        """Return the contract: the only positive rate that satisfies the condition."""
        (rate,) = sp.solve(self.rests, RATE)
        return sp.simplify(rate)

    def curve(self, s_min: float, s_max: float, rtprop: float, **constants: float) -> Curve:
        """Return the contract as a numeric function on [s_min, s_max], for flows whose propagation delay is `rtprop`,
        in ms.
        """
        values = {RTPROP: rtprop, A: constants.get("a", 1.0), B: constants.get("b", 1.0)}
        f = sp.lambdify(S, self.rate.subs(values), "math")
        return Curve(lambda s: float(f(s)), s_min, s_max)


CONDITIONS: tuple[Condition, ...] = (
    Condition(
        ("vegas", "fast"),
        "qdelay",
        WINDOW - WINDOW * RTPROP / RTT - A,
        Fold.SUM,
        "a packets of its own in the queue (thesis section 5.2.1)",
    ),
    Condition(("copa",), "qdelay", RATE - 1 / (A * S), Fold.SUM, "target rate (Copa paper section 2)"),
    Condition(
        ("vegas, kernel_diff",),
        "qdelay",
        WINDOW * S / RTPROP - A,
        Fold.SUM,
        "Linux divides by the base RTT (thesis section 6.3)",
    ),
    Condition(("swift",), "qdelay", S - A / sp.sqrt(WINDOW), Fold.SUM, "target delay (Swift paper section 3.1)"),
    Condition(
        ("reno", "tfrc"),
        "loss rate",
        RATE * RTPROP - sp.sqrt(sp.Rational(3, 2) / S),
        Fold.SURVIVAL,
        "mean of the sawtooth; RTT taken as given (thesis section 5.2.2)",
    ),
    Condition(
        ("cubic",),
        "loss rate",
        RATE * RTPROP - A * S ** sp.Rational(-3, 4),
        Fold.SURVIVAL,
        "response function, above the Reno-friendly region (RFC 9438 section 5.1)",
    ),
    Condition(
        ("dctcp",),
        "mark rate",
        RATE * RTPROP * S**2 - 2,
        Fold.SURVIVAL,
        "fluid fixed point; RTT taken as given (docs/derivations.md)",
    ),
    Condition(("expo",), "qdelay", sp.log(RATE / A) + S / B, Fold.SUM, "target rate (starvation paper, equation 2)"),
    Condition(
        ("poseidon",), "maximum qdelay of a hop", sp.log(RATE / A) + S / B, Fold.MAX, "target delay (thesis table 6.2)"
    ),
    Condition(
        ("bbr",),
        "qdelay",
        WINDOW - 2 * RATE * RTPROP - A,
        Fold.SUM,
        "cwnd-limited: two BDP and a packets (thesis section 5.2.1, BBR's fit)",
        from_rtprop=1.0,
        note="a shift of one rtprop, counted k times over k hops",
    ),
    Condition(
        ("aimd_delay",),
        "high-delay events per packet",
        RATE * RTPROP - sp.sqrt(sp.Rational(3, 2) / S),
        Fold.SURVIVAL,
        "Reno's sawtooth (thesis section 6.3)",
        starves="all flows have the same threshold, and a long flow observes the sum of delays",
    ),
    Condition(
        ("frcc",),
        "qdelay",
        RATE - B / S,
        Fold.SUM,
        "a share of the link, theta / qdelay (thesis equation 7.4.1)",
        least=10.0,  # theta, with one flow
        note="a share of any link, 10 ms of delay per flow; over k hops its capacity estimate adds up to a factor k",
    ),
    Condition(("ICC",), "qdelay", RATE - A * sp.log(B / S), Fold.SUM, "thesis Table 6.2"),
    Condition(("Astraea",), "qdelay", RATE - A * (1 - S / B), Fold.SUM, "thesis section 5.2.1"),
)


@dataclass(frozen=True)
class Costs:
    """The costs of one contract: a row of the table that ``fairweir contract table`` prints."""

    condition: Condition
    robustness: float
    unfairness: float
    growth: float
    generality: float
    corner: Corner | None


@dataclass(frozen=True)
class Setting:
    """The setting in which the costs of contracts are computed.

    Attributes
    ----------
    s_min, s_max, noise : range of the statistic, and noise in the statistic, in ms; multiplied by `per_ms` for loss and
        mark rates
    rtprop : propagation delay, in ms
    intercept : for contracts that reach 0: the statistic at which the rate is 0, divided by s_max. Exponential
        contracts have a decay constant of s_max / 10
    hops, flows : number of hops of the parking lot, on which fairness is computed; number of flows that share a link,
        for the growth of the delay
    per_ms : loss or mark rate that counts as 1 ms of delay
    """

    s_min: float = 0.5
    s_max: float = 100.0
    noise: float = 1.0
    rtprop: float = 40.0
    intercept: float = 1.001
    hops: int = 3
    flows: int = 4
    per_ms: float = 1e-4


def costs(condition: Condition, setting: Setting) -> Costs:
    """Return the four costs of a contract in the given setting."""
    scale = setting.per_ms if condition.fold is Fold.SURVIVAL else 1.0
    has_intercept = any(name in condition.ccas for name in ("ICC", "Astraea"))
    b = setting.s_max * (setting.intercept if has_intercept else 0.1)
    shift = condition.from_rtprop * setting.rtprop
    s_min = scale * max(setting.s_min, condition.least)
    curve = condition.curve(shift + s_min, shift + scale * setting.s_max, setting.rtprop, b=b)
    noise = scale * setting.noise
    return Costs(
        condition,
        robustness(curve, noise),
        math.inf if condition.starves else unfairness(curve, setting.hops, condition.fold),
        growth(curve, setting.flows),
        generality(curve),
        None if condition.starves else corner(curve, noise, setting.hops, condition.fold),
    )


def alpha_fair(alpha: float, hops: int) -> tuple[float, float]:
    """Return the rate of the long flow and of a short flow on a parking lot (thesis Table 6.1).

    The parking lot is a chain of `hops` links of rate 1; the long flow crosses all links, a short flow crosses one.
    With r_short + r_long = 1, the sum of alpha-fair utilities is maximal for r_short / r_long = hops^(1/alpha).
    """
    ratio = hops ** (1.0 / alpha)
    return 1.0 / (1.0 + ratio), ratio / (1.0 + ratio)
