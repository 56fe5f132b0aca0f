"""Run many scenarios in both worlds, resumably: simulations on all cores, then kernel runs one after another.

A kernel run needs the whole machine, so it never runs at the same time as simulations.
"""

from __future__ import annotations

import math
import platform
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from fairweir import _core
from fairweir.documents.store import Store
from fairweir.errors import FairweirError
from fairweir.judging.summary import Summary
from fairweir.play import kernel
from fairweir.play.pool import Done, Where, map_jobs
from fairweir.play.run import Run, World, run
from fairweir.play.sweep import fingerprint
from fairweir.scenario.dumbbell import PHASE_SPREAD
from fairweir.scenario.model import Scenario
from fairweir.units import NS_PER_S, Duration

#: Number of times that a kernel run with a late emulator is repeated.
LATE_RETRIES = 1


@dataclass(frozen=True)
class Task:
    """A scenario to run.

    Attributes
    ----------
    scenario : Scenario, with its seed
    world : "sim", "kernel" or "quic"
    interval : str, time with unit; sampling interval of throughputs over time, which are recorded only if it is given
    columns : names of further columns of the flows' series, which the summary's document has as ``columns``
    picture : Path of the file for a figure of the run
    """

    scenario: Scenario
    world: World = "sim"
    interval: str | None = None
    picture: Path | None = None
    columns: tuple[str, ...] = ()

    @cached_property
    def key(self) -> str:
        """Identifier of the run's inputs, which include the kernel in the kernel world."""
        parts = [fingerprint(self.scenario, self.world), self.world]
        if self.world == "kernel":
            parts.append(platform.release())
        return "-".join([*parts, self.interval, *self.columns] if self.interval else parts)


@dataclass(frozen=True)
class TaskResult:
    """Result of a task.

    Attributes
    ----------
    summary : Summary of the run without the scenario; None if the run failed. With an interval it has ``over_time``
    failure : str, the reason if there is no summary
    """

    summary: Summary | None
    failure: str = ""

    @property
    def not_judged(self) -> str:
        """The reason why the run is not judged; empty if it is judged."""
        emulator = None if self.summary is None else self.summary.emulator
        return "" if emulator is None or emulator.judged else emulator.reason


def play(task: Task) -> Summary:
    """Run one task and return its summary."""
    record = run(task.scenario, interval=_interval(task), on=task.world)
    if task.picture is not None:
        from fairweir.show.plots import save_run_plot

        save_run_plot(record, task.picture)
    summary = record.summary.without_scenario()
    if not task.interval:
        return summary
    further = {"columns": _columns(record, task.columns)} if task.columns else {}
    return Summary({**summary.document, "over_time": _over_time(record), **further})


#: A separate name, so that tests can replace kernel runs.
_play_kernel = play


def _interval(task: Task) -> str | None:
    return task.interval or ("100ms" if task.picture is not None else None)


def _over_time(record: Run) -> dict[str, Any]:
    table = record.flows
    flow = table["flow"]
    t_s, throughput = table["t_ns"] / NS_PER_S, table["throughput_mbps"]
    lost = table["lost_pkts"]
    number = len(record.summary.flows)
    return {
        "t_s": t_s[flow == 0].tolist(),
        "throughput_mbps": [throughput[flow == i].round(4).tolist() for i in range(number)],
        "lost_pkts": [lost[flow == i].tolist() for i in range(number)],
    }


def _columns(record: Run, names: tuple[str, ...]) -> dict[str, list[list[float | None]]]:
    """Return columns of the series, one list per flow; missing numbers, which are NaN in the series, are None."""
    table = record.flows
    flow, number = table["flow"], len(record.summary.flows)
    return {
        name: [
            [None if math.isnan(value) else value for value in table[name][flow == i].tolist()] for i in range(number)
        ]
        for name in names
    }


@dataclass(frozen=True)
class Archive:
    """Finished runs in a directory, one file each; without a directory nothing is stored."""

    directory: Path | None

    def get(self, task: Task) -> Summary | None:
        """Return the stored summary of a task; None if there is none, or if the task's picture is missing."""
        if task.picture is not None and not task.picture.exists():
            return None
        return self._store.get(task.key)

    def put(self, task: Task, summary: Summary) -> None:
        """Store a summary."""
        self._store.put(task.key, summary)

    @property
    def _store(self) -> Store[Summary]:
        folder = None if self.directory is None else self.directory / "runs"
        return Store(folder, Summary.to_json, Summary.from_json)


def play_all(
    tasks: Iterable[Task],
    archive: Archive,
    *,
    workers: Where = None,
    timeout_s: float = 600.0,
    on_done: Callable[[Task, TaskResult, float, float], object] | None = None,
) -> dict[str, TaskResult]:
    """Run all tasks whose outcome is not stored: first the simulations, then the kernel runs.

    Parameters
    ----------
    archive : Archive, in which each run is stored when it ends. Runs that failed or are not judged are not stored, so
        that they are repeated.
    workers : int, number of processes for simulations, default one per core; or a :class:`fairweir.Cluster`
    timeout_s : float, s; maximum real time of a simulation
    on_done : called with a task, its outcome, and the finished and the total work, s; a simulation counts as 1 s

    Returns
    -------
    dict from a task's key to its TaskResult

    Raises
    ------
    KernelError : a task needs the kernel world, which is not available; raised before the first run
    KeyboardInterrupt : Ctrl-C; finished runs are in the archive
    """
    unique = list({task.key: task for task in tasks}.values())
    if any(task.world == "kernel" for task in unique):
        kernel.find_helper()
        kernel.need_root("the kernel world")
    outcomes: dict[str, TaskResult] = {}
    total = sum(map(work_s, unique))
    done = 0.0

    def settle(task: Task, outcome: TaskResult, *, is_new: bool = True) -> None:
        nonlocal done
        done += work_s(task)
        outcomes[task.key] = outcome
        if is_new and outcome.summary is not None and not outcome.not_judged:
            archive.put(task, outcome.summary)
        if on_done is not None:
            on_done(task, outcome, done, total)

    missing: list[Task] = []
    for task in unique:
        kept = archive.get(task)
        if kept is None:
            missing.append(task)
        else:
            settle(task, TaskResult(kept), is_new=False)
    simulations = [task for task in missing if task.world != "kernel"]
    map_jobs(
        play,
        simulations,
        workers=workers,
        timeout_s=timeout_s,
        on_done=lambda o: settle(o.job, TaskResult(o.value) if isinstance(o, Done) else TaskResult(None, o.reason)),
    )
    for task in missing:
        if task.world == "kernel":
            settle(task, _on_kernel(task))
    return outcomes


def _on_kernel(task: Task) -> TaskResult:
    """Run a task on the kernel. A run that is not judged is repeated, because the cause of the lateness may be over."""
    for _ in range(1 + LATE_RETRIES):
        try:
            outcome = TaskResult(_play_kernel(task))
        except FairweirError as error:
            return TaskResult(None, str(error))
        if not outcome.not_judged:
            break
    return outcome


def work_s(task: Task) -> float:
    """Return the cost of a task, s, for progress: the duration of a kernel run, 1 for a simulation."""
    return Duration.parse(task.scenario.duration).s if task.world == "kernel" else 1.0


def spread_starts(scenario: Scenario, seed: int) -> Scenario:
    """Return the scenario with another seed and start times increased by up to `PHASE_SPREAD`.

    Real flows never start at exactly the same nanosecond. In a scenario without randomness, seeds would otherwise
    change only the order of simultaneous events, and the spread over seeds would be smaller than on any machine.
    """
    dice = random.Random(seed)  # noqa: S311
    spread_ns = PHASE_SPREAD.ns
    changes: dict[str, Any] = {"seed": seed}
    for i, flow in enumerate(scenario.flow):
        start = _core.parse_time(flow.start) + dice.randrange(spread_ns)
        changes[f"flow.{i}.start"] = _core.format_time(start)
        if flow.count > 1:
            stagger = _core.parse_time(flow.stagger) + dice.randrange(spread_ns) // (flow.count - 1)
            changes[f"flow.{i}.stagger"] = _core.format_time(stagger)
    return scenario.override(changes)
