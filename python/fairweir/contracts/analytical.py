"""Contracts derived by algebra from a CCA's equilibrium condition (thesis section 5.2.1).

In equilibrium a CCA does not change its window or rate. cwnd = rate RTT and RTT = R + q are substituted, and the
condition is solved for the rate. The costs of all contracts are computed on one domain, so that CCAs can be compared
(thesis Table 6.2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import sympy as sp

from fairweir.contracts.costs import Corner, Curve, Fold, corner, generality, growth, robustness, unfairness

RATE, S, RTPROP = sp.symbols("rate s R", positive=True)
"""The rate, the statistic (qdelay q, loss rate or mark rate), and the propagation delay."""
A, B = sp.symbols("a b", positive=True)
"""Symbols for the constants of a CCA."""
RTT = RTPROP + S
WINDOW = RATE * RTT


@dataclass(frozen=True)
class Condition:
    """The equilibrium condition of a CCA.

    Attributes
    ----------
    ccas : names of the CCAs
    statistic : name of the statistic in words
    rests : expression that is 0 in equilibrium, in :data:`RATE`, :data:`S`, :data:`RTPROP` and constants
    fold : how the statistic accumulates over hops
    source : source of the condition
    from_rtprop : minimum queueing delay, in rtprops, at which the condition applies
    least : minimum value of the statistic with a full link, in ms, if above the setting's
    starves : reason why a flow over several hops gets no throughput; empty if it gets some
    note : a remark; may be empty
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
        """Return the contract as a numeric function, for flows with the same `rtprop`."""
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
    """A row of the table."""

    condition: Condition
    robustness: float
    unfairness: float
    growth: float
    generality: float
    corner: Corner | None


@dataclass(frozen=True)
class Setting:
    """The setting in which contracts are compared.

    Attributes
    ----------
    s_min, s_max, noise : qdelays in ms; loss and mark rates in units of `per_ms`
    rtprop : rtprop, in ms
    intercept : statistic at which the rate is zero, divided by s_max, for curves with an intercept; exponentials have a
        decay constant of s_max / 10
    hops, flows : hops of the parking lot, and flows of the dumbbell
    per_ms : loss or mark rate that is equivalent to 1 ms
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
    """Return a row of the table: the four metrics on the setting's domain."""
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
    """Return the rates of the long and of a short flow on a parking lot of links of rate 1 (thesis Table 6.1).

    With r_short + r_long = 1, the sum of alpha-fair utilities is maximal for r_short / r_long = hops^(1/alpha).
    """
    ratio = hops ** (1.0 / alpha)
    return 1.0 / (1.0 + ratio), ratio / (1.0 + ratio)
