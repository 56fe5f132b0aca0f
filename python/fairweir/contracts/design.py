"""Design a contract that meets requirements, or state why no contract meets them.

A contract is the rate of a flow as a decreasing function of its queueing delay s. Two shapes are candidates, each of
which is optimal for one requirement: the exponential C_0 e^(-s/S_0) for robustness to noise, and the power law C_max
(S_min/s)^p for fairness. Their constants follow from the requirements and from the range of fair shares. If an error
factor is required, the result is the contract with the smallest queue; if not, it is the most robust contract within
the maximum queueing delay.

Symbols: S_min and S_max, smallest and largest queueing delay; C_max and C_min, the rates at S_min and S_max; ds, noise
in s; range, C_max / C_min; p, exponent of the power law, which is 1/alpha of alpha-fairness.
:mod:`fairweir.contracts.costs` defines the costs error (robustness), unfairness, growth and generality.

References
----------
Thesis section 6.2 (shape, scale) and appendix C.1 (bounds). Deviation: if a minimum queueing delay is required, the
smallest p is not always the best power law, so p is searched in the range that the required fairness and growth allow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from scipy.optimize import minimize_scalar

from fairweir.contracts.costs import Curve, Fold, generality, growth, robustness, unfairness
from fairweir.errors import ConfigError
from fairweir.units import Duration, Rate

MIN_EXPONENT, MAX_EXPONENT = 0.05, 20.0
"""Range of the exponent that the `contract` controller accepts."""

MAX_RATE_MBPS = 1e8
"""Maximum rate that a scenario accepts, Mbps."""

SLACK = 1e-6
"""Relative tolerance within which a cost that equals its limit meets the requirement."""


class Shape(StrEnum):
    """The two candidate shapes; the values are the names that the `contract` controller uses."""

    POWER = "power"
    EXPONENTIAL = "exponential"


@dataclass(frozen=True)
class Requirements:
    """The requirements that a contract has to meet.

    Attributes
    ----------
    noise_ms : noise in the queueing delay that flows observe, in ms; positive
    slowest_mbps, fastest_mbps : smallest and largest fair share of a flow, in Mbps; positive
    hops : number of links of the parking lot on which unfairness is computed, at least 2
    flows : number of flows on the link on which growth is computed, at least 2
    min_qdelay_ms : minimum queueing delay, at the largest fair share; with a queue, the link does not become idle
    error : maximum ratio of two flows' rates that noise may cause, above 1; None: unlimited
    unfairness : maximum ratio of the rate of a short flow (one link) to that of the long flow (all links), at least 1;
        None: unlimited
    growth : maximum ratio of the queueing delay with `flows` flows to the queueing delay with one flow, above 1; None:
        unlimited
    max_qdelay_ms : maximum queueing delay, at the smallest fair share; None: unlimited, which requires an `error`
    """

    noise_ms: float
    slowest_mbps: float
    fastest_mbps: float
    hops: int
    flows: int
    min_qdelay_ms: float
    error: float | None = None
    unfairness: float | None = None
    growth: float | None = None
    max_qdelay_ms: float | None = None

    def __post_init__(self) -> None:
        """Reject invalid values, and requirements that limit neither the error nor the queueing delay."""
        if self.error is None and self.max_qdelay_ms is None:
            raise ConfigError(
                "a design needs `error` or `max_qdelay`", hint="robustness costs queueing delay: set one of them"
            )

    @property
    def longest(self) -> float:
        """The maximum queueing delay, in ms; infinity if it is unlimited."""
        return math.inf if self.max_qdelay_ms is None else self.max_qdelay_ms

    @property
    def range(self) -> float:
        """The largest fair share divided by the smallest."""
        return self.fastest_mbps / self.slowest_mbps


@dataclass(frozen=True)
class Design:
    """A contract with its constants and costs.

    Attributes
    ----------
    shape, c0_mbps, s0_ms, exponent : parameters of the `contract` controller; exponent 1 if the shape has none
    min_qdelay_ms, max_qdelay_ms : queueing delay at the largest and at the smallest fair share, in ms
    robustness, unfairness, growth, generality : the costs, which :mod:`fairweir.contracts.costs` defines
    missed : a text for each requirement that the contract violates
    """

    shape: Shape
    c0_mbps: float
    s0_ms: float
    exponent: float
    min_qdelay_ms: float
    max_qdelay_ms: float
    robustness: float
    unfairness: float
    growth: float
    generality: float
    missed: tuple[str, ...]

    @property
    def flow_keys(self) -> dict[str, str | float]:
        """Return the value of a flow's ``cca`` key in a scenario, for flows that follow the contract."""
        keys: dict[str, str | float] = {
            "name": "contract",
            "function": self.shape.value,
            "c0": str(Rate.from_mbps(self.c0_mbps).rounded(Rate.from_mbps(0.001))),
            "s0": str(Duration.from_ms(self.s0_ms)),
        }
        return keys | ({"exponent": round(self.exponent, 6)} if self.shape is Shape.POWER else {})

    @property
    def flow_line(self) -> str:
        """Return the line of TOML that makes a ``[[flow]]`` table of a scenario follow the contract."""
        pairs = (
            f'{key} = "{value}"' if isinstance(value, str) else f"{key} = {value}"
            for key, value in self.flow_keys.items()
        )
        return f"cca = {{ {', '.join(pairs)} }}"


def impossible(requirements: Requirements) -> list[str]:
    """Return a text for each bound of appendix C.1 that excludes the requirements for all contracts on queueing delay.

    If the bounds exclude nothing, the list is empty.
    """
    return list(_violations(requirements))


def _violations(w: Requirements) -> Iterator[str]:
    if w.range < w.flows:
        yield f"shares from {w.slowest_mbps:g} to {w.fastest_mbps:g} Mbps cannot hold for {w.flows} flows on one link"
        return
    if w.growth is not None and w.unfairness is not None and w.flows >= 1 + w.unfairness and w.growth < w.hops:
        yield (
            f"unfairness {w.unfairness:g} over {w.hops} hops needs a growth of {w.hops} for"
            f" {1 + w.unfairness:g} flows (C.1.3); {w.growth:g} is allowed for {w.flows}"
        )
    shortest = w.min_qdelay_ms
    if w.growth is not None and w.error is not None:
        steps = math.floor(math.log(w.flows) / math.log(w.error) + 1e-9)
        shortest = max(shortest, steps * w.noise_ms / (w.growth - 1.0))
    if w.max_qdelay_ms is None:
        return
    if shortest >= w.max_qdelay_ms:
        yield f"the fastest share needs a queueing delay of {shortest:.3g} ms (C.1.1), over {w.max_qdelay_ms:g} ms"
        return
    if w.error is not None:
        steps = math.ceil((w.max_qdelay_ms - shortest) / w.noise_ms - 1e-9)
        if steps * math.log(w.error) < math.log(w.range) * (1 - SLACK):
            yield (
                f"error {w.error:g} for {w.noise_ms:g} ms of noise allows shares {w.error**steps:.3g}-fold apart"
                f" between {shortest:.3g} and {w.max_qdelay_ms:g} ms (C.1.2); {w.range:.3g}-fold is required"
            )
    if w.unfairness is not None:
        folds = math.ceil(math.log(w.max_qdelay_ms / shortest) / math.log(w.hops) - 1e-9)
        if folds * math.log(w.unfairness) < math.log(w.range) * (1 - SLACK):
            yield (
                f"unfairness {w.unfairness:g} over {w.hops} hops allows shares {w.unfairness**folds:.3g}-fold apart"
                f" between {shortest:.3g} and {w.max_qdelay_ms:g} ms (C.1.4); {w.range:.3g}-fold is required"
            )


def designs(requirements: Requirements) -> list[Design]:
    """Return one contract of each shape, the better one first.

    A contract that meets the requirements comes before a contract that does not. Otherwise the order is by maximum
    queueing delay if `requirements` has an `error`, and by error if not.

    Parameters
    ----------
    requirements : Requirements, with an `error`, or with a `max_qdelay_ms` above `min_qdelay_ms` (:func:`impossible`)
    """
    found = [_exponential(requirements), _power(requirements)]
    cost: Callable[[Design], float]
    cost = (lambda d: d.max_qdelay_ms) if requirements.error is not None else (lambda d: d.robustness)
    return sorted(found, key=lambda d: (bool(d.missed), cost(d)))


def _exponential(w: Requirements) -> Design:
    """Return the contract C_0 e^(-s/S_0) with its costs.

    Its error is e^(ds/S_0), its growth for n flows is 1 + S_0 ln(n) / S_min, and S_max = S_min + S_0 ln(range).
    """
    shortest_by_s0 = math.log(w.flows) / (w.growth - 1.0) if w.growth is not None else 0.0
    if w.error is not None:
        s0 = w.noise_ms / math.log(w.error)
    else:
        s0 = min((w.longest - w.min_qdelay_ms) / math.log(w.range), w.longest / (shortest_by_s0 + math.log(w.range)))
    shortest = max(w.min_qdelay_ms, shortest_by_s0 * s0)
    c0 = w.fastest_mbps * math.exp(min(shortest / s0, 500.0))
    return _priced(w, Shape.EXPONENTIAL, c0, s0, 1.0, shortest)


def _power(w: Requirements) -> Design:
    """Return the contract C_max (S_min/s)^p with its costs.

    Its error is (1 + ds/S_min)^p, its unfairness hops^p, its growth for n flows n^(1/p), and S_max = S_min range^(1/p).
    """
    low = math.log(w.flows) / math.log(w.growth) if w.growth is not None else 0.0
    high = math.log(w.unfairness) / math.log(w.hops) if w.unfairness is not None else math.inf
    low, high = (min(max(p, MIN_EXPONENT), MAX_EXPONENT) for p in (low, high))

    def shortest(p: float) -> float:
        if w.error is not None:
            return max(w.min_qdelay_ms, w.noise_ms / math.expm1(math.log(w.error) / p))
        return float(max(w.min_qdelay_ms, w.longest / w.range ** (1 / p)))

    def price(p: float) -> float:
        longest = math.log(shortest(p)) + math.log(w.range) / p
        if w.error is not None:
            return longest
        # A queueing delay above the permitted maximum weighs more than the error. Both decrease in p until the queueing
        # delay is at its minimum.
        return max(0.0, longest - math.log(w.longest)) * 1e3 + p * math.log1p(w.noise_ms / shortest(p))

    p = high
    if low < high:
        inside = minimize_scalar(price, bounds=(low, high), method="bounded", options={"xatol": 1e-9})
        p = min((low, high, float(inside.x)), key=price)
    return _priced(w, Shape.POWER, w.fastest_mbps, shortest(p), p, shortest(p))


def _priced(
    w: Requirements, shape: Shape, c0_mbps: float, s0_ms: float, exponent: float, min_qdelay_ms: float
) -> Design:
    """Return the contract with its costs on the range of fair shares, and with the requirements that it violates."""
    if shape is Shape.POWER:
        longest = min_qdelay_ms * w.range ** (1 / exponent)
        curve = Curve(lambda s: c0_mbps * (s0_ms / s) ** exponent, min_qdelay_ms, longest)
    else:
        longest = min_qdelay_ms + s0_ms * math.log(w.range)
        curve = Curve(lambda s: w.fastest_mbps * math.exp((min_qdelay_ms - s) / s0_ms), min_qdelay_ms, longest)
    paid = {
        "error": (robustness(curve, w.noise_ms), w.error),
        "unfairness": (unfairness(curve, w.hops, Fold.SUM), w.unfairness),
        "growth": (growth(curve, w.flows), w.growth),
        "maximum queueing delay, ms,": (longest, w.max_qdelay_ms),
        "rate constant, Mbps,": (c0_mbps, MAX_RATE_MBPS),
    }
    missed = tuple(
        f"{name} {value:.3g}, not {requirement:g}"
        for name, (value, requirement) in paid.items()
        if requirement is not None and not value <= requirement * (1 + SLACK)
    )
    return Design(
        shape,
        c0_mbps,
        s0_ms,
        exponent,
        min_qdelay_ms,
        longest,
        paid["error"][0],
        paid["unfairness"][0],
        paid["growth"][0],
        generality(curve),
        missed,
    )
