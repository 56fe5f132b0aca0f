"""Run comparisons of candidates with references. All runs are started together; a run that several comparisons share is
done only once.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from typing import Final

from fairweir import extras
from fairweir.conform.judge import Cell, Standing, judge
from fairweir.conform.observe import Observation, observe
from fairweir.conform.plan import Pair, pairs
from fairweir.conform.results import Conformance, Report
from fairweir.conform.side import Side
from fairweir.play.batch import Archive, Task, TaskResult, play_all
from fairweir.play.pool import Where
from fairweir.scenario.model import Scenario
from fairweir.units import Duration

#: Time that a run on the kernel takes in addition to its duration, to create namespaces and start the program, s.
_PER_RUN_S: Final = 1.0


def real_time_s(work: Sequence[Pair], archive: Archive) -> float:
    """Return the real time, s, that the runs on the kernel will take; stored runs take no time."""
    tasks = {task.key: task for pair in work for task in (*pair.candidate, *pair.reference) if task.world == "kernel"}
    return sum(
        Duration.parse(task.scenario.duration).s + _PER_RUN_S for task in tasks.values() if archive.get(task) is None
    )


def conform(
    sides: Sequence[tuple[Side, Side]],
    scenarios: Sequence[Scenario],
    *,
    seeds: int,
    archive: Archive | None = None,
    workers: Where = None,
    command: str = "",
    on_planned: Callable[[float], object] | None = None,
    on_done: Callable[[Task, TaskResult, float, float], object] | None = None,
) -> Report:
    """Compare each candidate with its reference.

    Parameters
    ----------
    sides : pairs of candidate and reference
    scenarios : scenarios with one flow, whose controller is replaced
    seeds : int; runs of each side per scenario, at least 3
    archive : store of finished runs, which are reused
    workers : int, number of processes for runs in virtual time; or a :class:`fairweir.Cluster`
    on_planned : called with the real time that runs on the kernel will take, s, before the first run
    on_done : as for :func:`fairweir.play.batch.play_all`

    Raises
    ------
    MissingExtraError : SciPy is not installed
    KernelError : a side is the kernel, which is not available on this machine
    ConfigError, CcaError : a scenario cannot run
    KeyboardInterrupt : Ctrl-C; finished runs are in the archive
    """
    extras.require("scipy", "fairweir conform")
    archive = archive or Archive(None)
    work = [(candidate, reference, pairs(candidate, reference, scenarios, seeds)) for candidate, reference in sides]
    everything = [pair for *_, found in work for pair in found]
    if on_planned is not None:
        on_planned(real_time_s(everything, archive))
    tasks = [task for pair in everything for task in (*pair.candidate, *pair.reference)]
    outcomes = play_all(tasks, archive, workers=workers, on_done=on_done)
    return Report(
        command=command,
        seeds=seeds,
        scenarios={scenario.name: scenario.description for scenario in scenarios},
        facts=_facts(tasks, outcomes),
        comparisons=[
            Conformance(
                cca=candidate.label,
                reference=reference.label,
                cca_version=candidate.version,
                reference_version=reference.version,
                cells=[_cell(pair, outcomes) for pair in found],
            )
            for candidate, reference, found in work
        ],
    )


def _cell(pair: Pair, outcomes: dict[str, TaskResult]) -> Cell:
    cell = Cell(
        scenario=pair.scenario,
        arrangement=pair.arrangement,
        competitors=pair.competitors,
        standing=Standing.NOT_RUN,
    )
    sides: list[list[Observation]] = []
    late: list[float] = []
    reasons: list[str] = []
    for tasks in (pair.candidate, pair.reference):
        side = []
        for task in tasks:
            result = outcomes[task.key]
            if result.summary is None:
                return cell.model_copy(update={"why": f"{task.scenario.flow[0].cca.label}: {result.failure}"})
            if (emulator := result.summary.emulator) is not None:
                late.append(emulator.release_error_us.p99)
            if result.not_judged:
                reasons.append(result.not_judged)
            side.append(observe(result.summary, pair.path))
        sides.append(side)
    cell.release_p99_us = max(late, default=None)
    if reasons:
        return cell.model_copy(update={"standing": Standing.NOT_JUDGED, "why": f"{reasons[0]} ({len(reasons)} runs)"})
    return judge(cell, pair.path, *sides)


def _facts(tasks: Sequence[Task], outcomes: dict[str, TaskResult]) -> dict[str, str]:
    """Return the facts about the machine on which the results depend; none if no run was on the kernel."""
    real = {task.key: outcomes[task.key] for task in tasks if task.world == "kernel"}
    if not real:
        return {}
    emulators = [run.summary.emulator for run in real.values() if run.summary is not None and run.summary.emulator]
    facts = {
        "kernel": platform.release(),
        "machine": f"{platform.machine()}, {len(_cores())} cores",
        "bottleneck": "fairweir-kernel's emulator at a TUN device, packets of the MTU's size (docs/kernel-world.md)",
        "kernel runs": f"{len(real)}, of which {sum(bool(run.not_judged) for run in real.values())} are not judged",
        "simulated hosts": "stall once per second for typical times (docs/measured/host.md)",
    }
    if emulators:
        p99 = [emulator.release_error_us.p99 for emulator in emulators]
        facts["lateness of packets"] = f"99th percentile {min(p99):.0f} to {max(p99):.0f} µs over the runs"
    return facts


def _cores() -> set[int]:
    import os

    return os.sched_getaffinity(0)
