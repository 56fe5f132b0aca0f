"""Scenarios in, summaries out: the only door through which the hunt and the contract reach the simulator.

Searches take a `Measure` as an argument, so that they can be tested on response functions and moved to other worlds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairweir import pool
from fairweir.dumbbell import PACKET, ScenarioDict
from fairweir.errors import ConfigError, FairweirError
from fairweir.units import Duration, Rate
from fairweir.worker import play


@dataclass(frozen=True)
class RunFault:
    """A run that did not end well.

    Attributes
    ----------
    kind : "error", "timeout" or "crash", as :class:`fairweir.pool.Failed` has it
    reason : one line
    """

    kind: str
    reason: str


Measured = Mapping[str, Any] | RunFault
Measure = Callable[[Sequence[ScenarioDict]], list[Measured]]


def packets(rate: Rate, duration: Duration) -> int:
    """Return how many data packets a full link carries: what a run costs, known before it is made."""
    return int(rate * duration / PACKET)


def on_all_cores(*, workers: int | None = None, timeout_s: float = 60.0) -> Measure:
    """Measure in processes, one job a core.

    Parameters
    ----------
    workers : processes; default one a core
    timeout_s : seconds of wall time a run may take
    """

    def measure(scenarios: Sequence[ScenarioDict]) -> list[Measured]:
        outcomes = pool.map_jobs(play, scenarios, workers=workers, timeout_s=timeout_s)
        return [o.value if o.ok else _fault(o) for o in outcomes]

    return measure


def _fault(failed: pool.Failed[ScenarioDict]) -> RunFault:
    """Return what a search goes on with; a scenario that cannot be played at all is no finding, and ends it."""
    if isinstance(failed.error, ConfigError):
        raise failed.error
    return RunFault(failed.kind, failed.reason)


def here(scenarios: Sequence[ScenarioDict]) -> list[Measured]:
    """Measure one after the other in this process, for callers that are a job of a pool themselves.

    A run that loops or crashes takes the caller with it.
    """
    measured: list[Measured] = []
    for scenario in scenarios:
        try:
            measured.append(play(scenario))
        except ConfigError:
            raise
        except FairweirError as error:
            measured.append(RunFault("error", str(error)))
    return measured
