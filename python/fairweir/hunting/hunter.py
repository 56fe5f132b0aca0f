"""Run the scenarios of a starvation hunt, and count their cost in packets.

A *spot* is one point of the search space: a link, and a jitter on the first of the flows that share the link. The
*ratio* of a run is the largest throughput of a flow divided by the smallest. The hunt searches for spots whose ratio
exceeds a given *bound*.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from fairweir.hunting.space import Space, Spot, scenario
from fairweir.judging.interval import Scale, interval
from fairweir.judging.metrics import loss_rate, max_min_ratio, throughputs_mbps
from fairweir.play.measure import Measure, RunFault
from fairweir.scenario.dumbbell import Cca

if TYPE_CHECKING:
    from fairweir.judging.outcome import Interval

Progress = Callable[[str, float], object]
"""Function that is called with a description of the next batch, and the fraction of the budget spent so far."""


class BudgetSpentError(Exception):
    """The remaining budget of packets does not suffice for the next batch of runs."""


class Hunter:
    """The state of one hunt: the runs' results by spot and seed, and the packets spent."""

    def __init__(self, cca: Cca, space: Space, measure: Measure, bound: float, budget: int, progress: Progress) -> None:
        self.cca, self.space, self.bound, self.budget = cca, space, bound, budget
        self._measure, self._progress = measure, progress
        self._seen: dict[tuple[Spot, int], tuple[float, ...] | None] = {}
        self.lossy: dict[Spot, bool] = {}
        self.runs = self.packets = 0
        self.faults: list[str] = []

    def measure(self, what: str, spots: Sequence[Spot], seeds: Sequence[int]) -> None:
        """Run each spot with each seed, except combinations that have been run. The longest runs start first, because
        then all cores finish at about the same time.
        """
        jobs = [(s, seed) for s in dict.fromkeys(spots) for seed in seeds if (s, seed) not in self._seen]
        jobs.sort(key=lambda job: -job[0].packets)
        cost = sum(spot.packets for spot, _ in jobs)
        if self.packets + cost > self.budget:
            raise BudgetSpentError
        self._progress(what, self.packets / self.budget)
        for job, got in zip(jobs, self._measure([scenario(self.cca, self.space, *job) for job in jobs]), strict=True):
            self.runs += 1
            if isinstance(got, RunFault):
                self.faults.append(got.reason)
                self._seen[job] = None
            else:
                self._seen[job] = tuple(throughputs_mbps(got))
                self.lossy[job[0]] = loss_rate(got) > 0.0
        self.packets += cost

    def rates(self, spot: Spot, seeds: Sequence[int]) -> list[tuple[float, ...]]:
        """Return the throughputs, in Mbps, of the runs at a spot; missing and failed runs are omitted."""
        return [rates for seed in seeds if (rates := self._seen.get((spot, seed))) is not None]

    def ratios(self, spot: Spot, seeds: Sequence[int]) -> list[float]:
        """Return, for each run at a measured spot, the largest throughput divided by the smallest."""
        return [max_min_ratio(rates) for rates in self.rates(spot, seeds)]

    def exceeds(self, spot: Spot, seeds: Sequence[int]) -> bool:
        """Return whether the ratio exceeds the bound in the runs of all seeds; False if no run succeeded."""
        ratios = self.ratios(spot, seeds)
        return bool(ratios) and min(ratios) > self.bound

    def interval(self, spot: Spot, seeds: Sequence[int]) -> Interval | None:
        """Return the confidence interval of the ratio over seeds; None if a run failed."""
        ratios = self.ratios(spot, seeds)
        return interval(ratios, Scale.RATIO) if len(ratios) == len(seeds) else None
