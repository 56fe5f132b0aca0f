"""Derive a contract in open loop: a single flow observes a prescribed congestion statistic and converges to a rate.

A contract f is a flow's rate as a decreasing function of a statistic s, the queueing delay or the loss rate. The link
is never full, and the flow's delay or loss rate is constant at any rate that the flow sends. The rate of a CCA with a
contract converges to f(s), both from below and from above. The rate of a CCA that responds to another signal grows
without bound, falls to zero, or depends on the initial rate. Closed-loop runs (`contracts/empirical.py`) show the rates
that competing flows get; open-loop runs show the rate that a flow chooses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np

from fairweir.ccas.cca_spec import as_written
from fairweir.contracts.action_map import Crossing, Held
from fairweir.contracts.fit import FAMILIES, POWER, Points, bootstrap, choose, fit
from fairweir.contracts.judge import BOOTSTRAP_SEED, CURVE_POINTS, as_candidate, intervals_of
from fairweir.contracts.points import ContractPoint
from fairweir.contracts.result import ContractResult
from fairweir.contracts.unfairness import UNFAIR_RATIO
from fairweir.errors import FairweirError
from fairweir.play.batch import Archive, Task, play_all
from fairweir.play.pool import Where
from fairweir.scenario.dumbbell import EXACT_HOSTS, PACKET, Cca, cca_name
from fairweir.scenario.model import Scenario
from fairweir.units import Duration, Rate

PARTS = 8
"""Number of equal parts into which a run is divided. The flow's throughput should be the same in the last two parts;
the mean of both is the result.
"""

STILL = 1.25
"""If the rates of the last two parts differ by at most this factor, the rate counts as constant. The factor exceeds 1
because AIMD cycles and losses are random.
"""

SAME = 1.5
"""Maximum factor between the rates reached from below and from above at which they count as one fixed point. If they
differ by more, the CCA does not change its rate anywhere between them; their geometric mean represents the range.
"""

NEAR_LINK = 0.9
"""If the flow's rate exceeds this fraction of the link rate, the rate counts as growing without bound."""

CLAMPED = 1.1
"""If the windows at all values of the statistic differ by less than this factor, the window counts as fixed at its
minimum or maximum.
"""

MIN_POINTS = 5
"""Minimum number of values with a fixed point for a fit."""

RESAMPLES = 40
"""Number of bootstrap resamples. Few suffice, because the points are close to the fitted curve."""


@dataclass(frozen=True)
class Bench:
    """Settings of the open-loop link.

    Attributes
    ----------
    link : link rate, above the rate of any contract that is to be measured
    rtprop : round-trip propagation delay, which the flow knows
    duration : length of a run with a prescribed delay s; in the first half of the run the delay is 2 s or s / 2
    loss_duration : length of a run with a prescribed loss rate; it is longer because cycles of the window are longer
    seeds : seeds with which each value of the statistic is run
    """

    link: Rate = Rate.from_mbps(1000)
    rtprop: Duration = Duration.from_ms(40)
    duration: Duration = Duration.from_s(120)
    loss_duration: Duration = Duration.from_s(480)
    seeds: tuple[int, ...] = (1,)

    def scenarios(self, cca: Cca, held: Held, value: float) -> list[Scenario]:
        """Return two runs per seed for one value of the statistic. For a delay, one run approaches the fixed point from
        below and the other from above.
        """
        if held.statistic == "loss_rate":
            loss = {"loss": f"{100.0 * value:.5f}%"}
            return [self._scenario(cca, self.loss_duration, loss, 2 * seed + i) for seed in self.seeds for i in (0, 1)]
        half, delay = str(self.duration / 2), Duration.from_ms(value)
        return [
            self._scenario(cca, self.duration, {"jitter": _steps(first * delay, half, delay)}, seed)
            for seed in self.seeds
            for first in (2.0, 0.5)
        ]

    def _scenario(self, cca: Cca, duration: Duration, keys: dict[str, Any], seed: int) -> Scenario:
        flow = {"cca": as_written(cca), "rtprop": str(self.rtprop), "oracle_rtprop": True}
        return Scenario.from_dict(
            {
                "name": f"held-{cca_name(cca)}",
                "duration": str(duration),
                "warmup": str(duration / 2),
                "seed": seed,
                **EXACT_HOSTS,
                "link": {"wide": {"rate": str(self.link), "buffer": "1bdp"}},
                "flow": [{**flow, **keys}],
            }
        )


def _steps(first: Duration, until: str, then: Duration) -> dict[str, Any]:
    us = Duration.from_us(1)
    return {"kind": "trajectory", "points": [["0s", str(first.rounded(us))], [until, str(then.rounded(us))]]}


@dataclass(frozen=True)
class Settled:
    """The result of all runs with one value of the statistic.

    Attributes
    ----------
    value : the fixed value of the statistic
    rates_mbps : for each run, the rate at its end
    why_not : reason why the rates are not an equilibrium; empty if they are one
    """

    value: float
    rates_mbps: tuple[float, ...]
    why_not: str = ""

    @property
    def rate_mbps(self) -> float:
        """The geometric mean of the rates."""
        return math.exp(fmean(map(math.log, self.rates_mbps)))


def settled(value: float, ends: Sequence[Sequence[float]], link: Rate) -> Settled:
    """Judge whether all runs with one value of the statistic converged to the same rate.

    Parameters
    ----------
    value : the fixed value of the statistic
    ends : for each run, the throughputs in its last two parts, Mbps
    link : link rate
    """
    rates = tuple(fmean(parts) for parts in ends)
    if min(map(min, ends)) <= 0.0:
        return Settled(value, rates, "it sends nothing")
    if max(rates) > NEAR_LINK * link.mbps:
        return Settled(value, rates, f"it fills {link.mbps:g} Mbps")
    if any(max(parts) > STILL * min(parts) for parts in ends):
        return Settled(value, rates, "it does not converge")
    if max(rates) > UNFAIR_RATIO * min(rates):
        return Settled(value, rates, "its equilibrium depends on the initial rate")
    return Settled(value, rates)


def held_contract(
    cca: Cca,
    held: Held,
    archive: Archive,
    *,
    bench: Bench | None = None,
    workers: Where = None,
    on_run: Callable[[float, float], object] | None = None,
) -> ContractResult:
    """Derive a contract from the rates to which a CCA converges at each value of `held`, a statistic with a range of
    values.

    Raises
    ------
    ConfigError, CcaError : the CCA does not exist, or its parameters are invalid
    FairweirError : a run failed
    """
    bench = bench or Bench()
    plan = {
        value: [Task(scenario, interval=_part(scenario)) for scenario in bench.scenarios(cca, held, value)]
        for value in held.values
    }
    outcomes = play_all(
        [task for tasks in plan.values() for task in tasks],
        archive,
        workers=workers,
        on_done=lambda task, outcome, done, total: on_run(done, total) if on_run else None,
    )
    rests = []
    for value, tasks in plan.items():
        ends = []
        for task in tasks:
            outcome = outcomes[task.key]
            if outcome.summary is None:
                raise FairweirError(f"a run of {cca_name(cca)} failed: {outcome.failure}")
            ends.append(outcome.summary.over_time.throughput_mbps[0][-2:])
        rests.append(settled(value, ends, bench.link))
    return of_rests(cca_name(cca), held, rests, bench)


def _part(scenario: Scenario) -> str:
    return f"{scenario.resolve()['duration'] // PARTS}ns"


def of_map(name: str, held: Held, found: Sequence[Crossing]) -> ContractResult:
    """Derive a contract from the rates at which an action map (the CCA as a function of rate and statistic) is zero."""
    rests = [_rest_of(crossing) for crossing in found]
    return of_rests(name, held, rests, Bench())


def _rest_of(crossing: Crossing) -> Settled:
    rates = crossing.rates_mbps
    if not rates:
        return Settled(crossing.statistic, (), "no rate at which growth turns into decline")
    if len(rates) > 1:
        return Settled(crossing.statistic, rates, f"{len(rates)} rates at which growth turns into decline")
    return Settled(crossing.statistic, rates)


def of_rests(name: str, held: Held, rests: Sequence[Settled], bench: Bench) -> ContractResult:
    """Fit a contract to the rates, one per value of the statistic.

    If too few values have a fixed point, or if the rate does not decrease, the result states that there is no contract.
    """
    good = [rest for rest in rests if not rest.why_not]
    flags = _flags(held, rests)
    result = ContractResult(cca=name, outcome="none", reason="", oracle=True, flags=flags, runs=len(rests))
    if len(good) < MIN_POINTS:
        reason = f"converges at {len(good)} of {len(rests)} values; {flags[0]}" if flags else "too few values"
        return result.model_copy(update={"reason": reason})
    points = Points(
        statistic=np.array([rest.value for rest in good]),
        rate=np.array([rest.rate_mbps for rest in good]),
        group=np.arange(len(good)),
        capacity=np.arange(len(good), dtype=np.float64),
    )
    windows = [_point(i, held, rest, bench).window_pkts for i, rest in enumerate(good)]
    if max(windows) < CLAMPED * min(windows):
        return result.model_copy(update={"reason": f"its window is {fmean(windows):.3g} packets at any value: a clamp"})
    best, power = choose([fit(family, points) for family in FAMILIES]), fit(POWER, points)
    refits = [bootstrap(f, points, resamples=RESAMPLES, seed=BOOTSTRAP_SEED) for f in (best, power)]
    intervals, of_power = intervals_of(best, refits[0]), intervals_of(power, refits[1])
    domain = good[0].value, good[-1].value
    grid = np.geomspace(*domain, CURVE_POINTS)
    falls = power.values[1] < 0.0
    return ContractResult(
        cca=name,
        outcome="contract" if falls else "none",
        reason=f"R² {best.r_squared:.3f}" if falls else "the rate does not fall with congestion",
        best=as_candidate(held.statistic, "rate", best),
        exponent=intervals.get("c", of_power["c"]),
        exponent_of=best.family.name if best.family.has_exponent else POWER.name,
        power_exponent=of_power["c"],
        intervals=intervals,
        domain=domain,
        rates_mbps=(float(points.rate.min()), float(points.rate.max())),
        curve=[(float(s), float(r)) for s, r in zip(grid, best.predict(grid), strict=True)],
        points=[_point(i, held, rest, bench) for i, rest in enumerate(good)],
        oracle=True,
        flags=flags,
        runs=len(rests),
    )


def _flags(held: Held, rests: Sequence[Settled]) -> list[str]:
    """Return a text for each reason why values of the statistic have no fixed point, with these values."""
    reasons: dict[str, list[float]] = {}
    for rest in rests:
        if rest.why_not:
            reasons.setdefault(rest.why_not, []).append(rest.value)
    unit = " ms" if held.statistic != "loss_rate" else ""
    flags = [
        f"{why} at {min(values):.3g}{f' to {max(values):.3g}' if len(values) > 1 else ''}{unit}"
        for why, values in reasons.items()
    ]
    widest = max((max(r.rates_mbps) / min(r.rates_mbps) for r in rests if not r.why_not), default=1.0)
    return [*flags, f"plateau: equilibrium rates up to {widest:.2g}-fold apart"] if widest > SAME else flags


def _point(run: int, held: Held, rest: Settled, bench: Bench) -> ContractPoint:
    is_loss = held.statistic == "loss_rate"
    qdelay = Duration.from_ms(0.0 if is_loss else rest.value)
    return ContractPoint(
        run=run,
        capacity_mbps=bench.link.mbps,
        rtprop_ms=bench.rtprop.ms,
        flows=1,
        seed=1,
        rate_mbps=rest.rate_mbps,
        window_pkts=Rate.from_mbps(rest.rate_mbps) * (bench.rtprop + qdelay) / PACKET,
        share=rest.rate_mbps / bench.link.mbps,
        p50_qdelay_ms=qdelay.ms,
        mean_qdelay_ms=qdelay.ms,
        loss_rate=rest.value if is_loss else 0.0,
        mark_rate=0.0,
    )
