"""Store the simulator runs from which a contract is derived, so that an interrupted derivation resumes.

A contract is a CCA's rate as a function of a congestion statistic, such as the queueing delay. A turning point is a
moment at which a flow's window changes from growth to decline or back (`contracts/turning_points.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from fairweir.contracts.turning_points import watch
from fairweir.errors import CcaError, ConfigError
from fairweir.judging.summary import Summary
from fairweir.play.batch import Archive, Task
from fairweir.play.measure import Measure, Measured, RunFault
from fairweir.play.pool import Ended, Where, map_jobs
from fairweir.play.worker import play
from fairweir.scenario.dumbbell import ScenarioDict
from fairweir.scenario.model import Scenario

TRY_TIMEOUT_S = 30.0

OnRun = Callable[[float, float], object]
"""Function that is called after each run, with the number of finished runs in the batch and the size of the batch."""


@dataclass(frozen=True)
class _Watched(Task):
    """A run whose turning points are stored, under another key than the same run without turning points."""

    @cached_property
    def key(self) -> str:
        return f"{super().key}-turnings"


def cached(archive: Archive, *, workers: Where = None, timeout_s: float = 60.0, on_run: OnRun | None = None) -> Measure:
    """Return a function that runs scenarios on all cores and measures turning points.

    The function stores finished runs in `archive`, and does not repeat runs that are stored there.

    Parameters
    ----------
    workers : number of processes, None for one per core, or a :class:`fairweir.Cluster`
    timeout_s : maximum wall time of one run, s

    Raises
    ------
    ConfigError, CcaError : raised by the returned function if the CCA does not exist or does not have a parameter
    """
    is_tried: list[bool] = []

    def measure(scenarios: Sequence[ScenarioDict]) -> list[Measured]:
        if scenarios and not is_tried:
            _try(scenarios[0])
            is_tried.append(True)
        tasks = [_Watched(Scenario.from_dict(scenario)) for scenario in scenarios]
        found: dict[int, Measured] = {
            i: kept for i, task in enumerate(tasks) if (kept := archive.get(task)) is not None
        }
        missing = [i for i in range(len(tasks)) if i not in found]

        def settle(outcome: Ended[ScenarioDict, Summary]) -> None:
            i = missing[outcome.index]
            if outcome.ok:
                found[i] = summary = outcome.value.without_scenario()
                archive.put(tasks[i], summary)
            else:
                found[i] = RunFault("error", outcome.reason)
            if on_run is not None:
                on_run(len(found), len(tasks))

        map_jobs(watch, [scenarios[i] for i in missing], workers=workers, timeout_s=timeout_s, on_done=settle)
        return [found[i] for i in range(len(tasks))]

    return measure


def _try(scenario: ScenarioDict) -> None:
    """Run the first 10 ms of a scenario in a child process, so that an error of the CCA is reported before all runs
    start.
    """
    flows = [{key: value for key, value in flow.items() if key != "start"} for flow in scenario["flow"]]
    moment = {**scenario, "duration": "10ms", "warmup": "0s", "flow": flows}
    (outcome,) = map_jobs(play, [moment], workers=1, timeout_s=TRY_TIMEOUT_S)
    if not outcome.ok and isinstance(outcome.error, (ConfigError, CcaError)):
        raise outcome.error
