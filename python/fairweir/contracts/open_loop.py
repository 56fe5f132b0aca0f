"""Contracts in open loop: a single flow on an underused link observes a prescribed statistic and converges to a rate.

The flow's delay or loss rate is constant, for any rate that it sends. The rate of a CCA with a contract f converges to
f(s), both from below and from above. The rate of a CCA that responds to another signal diverges, falls to zero, or
depends on the initial rate. There is no queue and no other flow. Closed-loop runs (`contracts/empirical.py`) show the
rates that flows get; open-loop runs show the rates that flows choose.
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
from fairweir.scenario.dumbbell import PACKET, Cca, cca_name
from fairweir.scenario.model import Scenario
from fairweir.units import Duration, Rate

PARTS = 8
"""Number of equal parts of a run. The flow's rate should be constant over the last two; their mean is the result."""

STILL = 1.25
"""Maximum factor between the rates of the last two parts for which the rate counts as constant. It exceeds 1 because
AIMD cycles and losses are random."""

SAME = 1.5
"""Maximum factor between the fixed points reached from below and from above. If they differ by more, they are the ends
of a range in which the CCA does not change its rate; their geometric mean represents the range.
"""

NEAR_LINK = 0.9
"""A flow with a larger fraction of the link diverged."""

CLAMPED = 1.1
"""If windows differ by less than this factor over all values, the window does not depend on the value: it is at its
minimum or maximum."""

MIN_POINTS = 5
"""Minimum number of points for a fit."""

RESAMPLES = 40
"""Number of bootstrap resamples; few suffice, because the points scatter little."""


@dataclass(frozen=True)
class Bench:
    """Settings of the open-loop link.

    Attributes
    ----------
    link : link rate, above the rates of all contracts
    rtprop : propagation delay, known to the flow
    duration : length of a run with a fixed delay; in the first half the delay is twice or half the value
    loss_duration : length of a run with a fixed loss rate, in which cycles are long
    seeds : seeds of the runs for each value
    """

    link: Rate = Rate.from_mbps(1000)
    rtprop: Duration = Duration.from_ms(40)
    duration: Duration = Duration.from_s(120)
    loss_duration: Duration = Duration.from_s(480)
    seeds: tuple[int, ...] = (1,)

    def scenarios(self, cca: Cca, held: Held, value: float) -> list[Scenario]:
        """Return the two runs per seed for one value; for a delay, the rate starts below and above the fixed point."""
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
                "link": {"wide": {"rate": str(self.link), "buffer": "1bdp"}},
                "flow": [{**flow, **keys}],
            }
        )


def _steps(first: Duration, until: str, then: Duration) -> dict[str, Any]:
    us = Duration.from_us(1)
    return {"kind": "trajectory", "points": [["0s", str(first.rounded(us))], [until, str(then.rounded(us))]]}


@dataclass(frozen=True)
class Settled:
    """Results of the runs for one value.

    Attributes
    ----------
    value : the fixed value of the statistic
    rates_mbps : the rate at the end of each run
    why_not : why the rates are not an equilibrium; empty if they are
    """

    value: float
    rates_mbps: tuple[float, ...]
    why_not: str = ""

    @property
    def rate_mbps(self) -> float:
        """The geometric mean of the rates."""
        return math.exp(fmean(map(math.log, self.rates_mbps)))


def settled(value: float, ends: Sequence[Sequence[float]], link: Rate) -> Settled:
    """Judge the runs for one value.

    Parameters
    ----------
    value : the fixed value of the statistic
    ends : for each run, the throughputs of its last two parts, Mbps
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
    workers: int | None = None,
    on_run: Callable[[float, float], object] | None = None,
) -> ContractResult:
    """Derive a contract from the rates to which a CCA converges with the statistic `held` fixed.

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
    """Derive a contract from the zero crossings of an action map."""
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
    """Fit the fixed points, one per value. There is no contract if they are too few or do not decrease."""
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
    """Return the values without a fixed point, grouped by reason."""
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
