"""Run scenarios and return their summaries: the only interface of the hunt and the contract to the simulator.

A search has a `Measure` as an argument. It can therefore be tested with response functions and run in other worlds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from fairweir.errors import ConfigError, FairweirError
from fairweir.judging.summary import Summary
from fairweir.play import pool
from fairweir.play.run import VirtualWorld
from fairweir.play.worker import play
from fairweir.scenario.dumbbell import PACKET, ScenarioDict
from fairweir.units import Duration, Rate


@dataclass(frozen=True)
class RunFault:
    """A failed run.

    Attributes
    ----------
    kind : "error", "timeout" or "crash", as in :class:`fairweir.play.pool.Failed`
    reason : one line
    """

    kind: str
    reason: str


Measured = Summary | RunFault
Measure = Callable[[Sequence[ScenarioDict]], list[Measured]]


def packets(rate: Rate, duration: Duration) -> int:
    """Return the number of data packets on a full link, as the cost of a run before it starts."""
    return int(rate * duration / PACKET)


def on_all_cores(
    *,
    workers: pool.Where = None,
    timeout_s: float = 60.0,
    world: VirtualWorld = "sim",
    on_done: Callable[[ScenarioDict, Summary], object] | None = None,
) -> Measure:
    """Return a function that runs scenarios in processes.

    Parameters
    ----------
    workers : number of processes, default one per core; or a :class:`fairweir.Cluster`
    timeout_s : s; maximum real time of a run
    world : "sim" or "quic"
    on_done : called with a scenario and its summary when its run ends
    """

    def ended(outcome: pool.Ended[ScenarioDict, Summary]) -> None:
        if on_done is not None and outcome.ok:
            on_done(outcome.job, outcome.value)

    def measure(scenarios: Sequence[ScenarioDict]) -> list[Measured]:
        plays = partial(play, world=world)
        outcomes = pool.map_jobs(plays, scenarios, workers=workers, timeout_s=timeout_s, on_done=ended)
        return [o.value if o.ok else _fault(o) for o in outcomes]

    return measure


def _fault(failed: pool.Failed[ScenarioDict]) -> RunFault:
    """Return the fault of a run, with which the search continues; raise the error of an invalid scenario."""
    if isinstance(failed.error, ConfigError):
        raise failed.error
    return RunFault(failed.kind, failed.reason)


def here(scenarios: Sequence[ScenarioDict]) -> list[Measured]:
    """Run scenarios one after another in this process, for callers that are themselves jobs of a pool.

    A run that loops or crashes affects the caller, too.
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
