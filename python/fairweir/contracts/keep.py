"""Runs of a derivation that are kept: interrupted, it goes on where it stopped."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fairweir.dumbbell import ScenarioDict
from fairweir.errors import CcaError, ConfigError
from fairweir.measure import Measure, Measured, RunFault
from fairweir.pool import map_jobs
from fairweir.scenario import Scenario
from fairweir.worker import play
from fairweir.worlds import Archive, Outcome, Task, play_all

TRY_TIMEOUT_S = 30.0

OnRun = Callable[[float, float], object]
"""Called as runs end, with how many of the batch are done, and how many there are."""


def kept_in(
    archive: Archive, *, workers: int | None = None, timeout_s: float = 60.0, on_run: OnRun | None = None
) -> Measure:
    """Measure on all cores, with every finished run in `archive`.

    Parameters
    ----------
    workers : processes; default one a core
    timeout_s : s of wall time that a run may take


    Raises
    ------
    ConfigError, CcaError : by the measure: no such CCA, or a parameter that it does not have
    """
    is_tried: list[bool] = []

    def measure(scenarios: Sequence[ScenarioDict]) -> list[Measured]:
        tasks = [Task(Scenario.from_dict(scenario)) for scenario in scenarios]
        if scenarios and not is_tried:
            _try(scenarios[0])
            is_tried.append(True)
        outcomes = play_all(
            tasks,
            archive,
            workers=workers,
            timeout_s=timeout_s,
            on_done=lambda task, outcome, done, total: on_run(done, total) if on_run else None,
        )
        return [_measured(outcomes[task.key]) for task in tasks]

    return measure


def _try(scenario: ScenarioDict) -> None:
    """Play a moment of a scenario, in a process of its own: what is wrong with its CCA would fail every run."""
    flows = [{key: value for key, value in flow.items() if key != "start"} for flow in scenario["flow"]]
    moment = {**scenario, "duration": "10ms", "warmup": "0s", "flow": flows}
    (outcome,) = map_jobs(play, [moment], workers=1, timeout_s=TRY_TIMEOUT_S)
    if not outcome.ok and isinstance(outcome.error, (ConfigError, CcaError)):
        raise outcome.error


def _measured(outcome: Outcome) -> Measured:
    return outcome.summary if outcome.summary is not None else RunFault("error", outcome.failure)
