"""Run scenarios and return their summaries: the only interface of the hunt and the contract to the simulator.

Searches take a `Measure` as an argument, so that they can be tested on response functions and moved to other worlds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fairweir.errors import ConfigError, FairweirError
from fairweir.judging.summary import Summary
from fairweir.play import pool
from fairweir.play.worker import play
from fairweir.scenario.dumbbell import PACKET, ScenarioDict
from fairweir.units import Duration, Rate


@dataclass(frozen=True)
class RunFault:
    """A failed run.

    Attributes
    ----------
    kind : "error", "timeout" or "crash", as :class:`fairweir.play.pool.Failed` has it
    reason : one line
    """

    kind: str
    reason: str


Measured = Summary | RunFault
Measure = Callable[[Sequence[ScenarioDict]], list[Measured]]


def packets(rate: Rate, duration: Duration) -> int:
    """Return how many data packets a full link carries: the cost of a run, known in advance."""
    return int(rate * duration / PACKET)


def on_all_cores(*, workers: int | None = None, timeout_s: float = 60.0) -> Measure:
    """Measure in processes, one job per core.

    Parameters
    ----------
    workers : processes; default one per core
    timeout_s : seconds of wall time a run may take
    """

    def measure(scenarios: Sequence[ScenarioDict]) -> list[Measured]:
        outcomes = pool.map_jobs(play, scenarios, workers=workers, timeout_s=timeout_s)
        return [o.value if o.ok else _fault(o) for o in outcomes]

    return measure


def _fault(failed: pool.Failed[ScenarioDict]) -> RunFault:
    """Return the result with which a search continues; a scenario that cannot be run at all ends the search."""
    if isinstance(failed.error, ConfigError):
        raise failed.error
    return RunFault(failed.kind, failed.reason)


def here(scenarios: Sequence[ScenarioDict]) -> list[Measured]:
    """Measure sequentially in this process, for callers that are themselves jobs of a pool.

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
