"""Run published experiments, and collect the results of their checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from fairweir import __version__
from fairweir.documents.arguments import words_for_enums
from fairweir.documents.filenames import slug
from fairweir.judging.outcome import Outcome
from fairweir.play.batch import Archive, Task, TaskResult, play_all, spread_starts
from fairweir.play.pool import Where
from fairweir.play.run import TcpWorld
from fairweir.reproduce.computed import Computed
from fairweir.reproduce.experiment import Experiment, Setting
from fairweir.reproduce.judge import Finding, Samples, judge
from fairweir.reproduce.readings import read


class Reproduction(BaseModel):
    """The results of several experiments.

    Attributes
    ----------
    experiments : dict from id to title, source, published result, and the differences of fairweir's setup
    findings : list of Finding, one per check and world
    is_quick : bool; whether runs were shorter and had fewer seeds, which is weaker evidence
    """

    model_config = ConfigDict(extra="forbid")

    version: str = __version__
    experiments: dict[str, dict[str, str]]
    findings: list[Finding]
    is_quick: bool = False

    @words_for_enums
    def count(self, outcome: Outcome) -> int:
        """Return the number of checks with this outcome."""
        return sum(finding.outcome is outcome for finding in self.findings)

    @property
    def unexplained(self) -> list[Finding]:
        """The checks that fail and have no known reason."""
        return [f for f in self.findings if f.outcome is Outcome.FAILS and not f.is_known]

    def document(self) -> dict[str, Any]:
        """Return the document that ``fairweir reproduce --json`` prints."""
        counts = {outcome.value: self.count(outcome) for outcome in Outcome if outcome is not Outcome.INFO}
        return {**self.model_dump(mode="json"), "counts": {**counts, "unexplained": len(self.unexplained)}}


def reproduce(
    experiments: Sequence[Experiment],
    worlds: Sequence[TcpWorld],
    *,
    quick: bool = False,
    computed: Sequence[Computed] = (),
    archive: Archive | None = None,
    pictures: Path | None = None,
    workers: Where = None,
    on_done: Callable[[Task, TaskResult, float, float], object] | None = None,
    on_compute: Callable[[Computed], object] | None = None,
) -> Reproduction:
    """Run experiments and judge their checks, and then compute the entries that functions compute.

    Parameters
    ----------
    worlds : "sim" (the simulator), "kernel" (Linux TCP), or both; a case that is not defined for a world is skipped
        there
    quick : bool; use the shorter runs and fewer seeds that each experiment defines
    archive : store of finished runs, which are reused
    pictures : Path of a directory for figures of the first run of each setting; None: no figures
    workers : int, number of processes for simulations; or a :class:`fairweir.Cluster`
    on_compute : function that is called before each entry of `computed`

    Raises
    ------
    KernelError : the kernel world is not available on this machine
    KeyboardInterrupt : Ctrl-C; finished runs are in the archive
    """
    if quick:
        experiments = [experiment.as_quick() for experiment in experiments]
    plan = [
        (experiment, setting, _tasks(experiment, setting, pictures))
        for experiment in experiments
        for setting in experiment.settings(worlds)
    ]
    archive = archive or Archive(None)
    tasks = [task for _, _, several in plan for task in several]
    outcomes = play_all(tasks, archive, workers=workers, on_done=on_done)
    findings = []
    for experiment in experiments:
        own = [(setting, several) for other, setting, several in plan if other is experiment]
        for number, case in enumerate(experiment.case):
            for check in case.check:
                for world in worlds:
                    here = [row for row in own if (row[0].case, row[0].world) == (number, world)]
                    if here and world in check.worlds:
                        results = [(setting, [outcomes[task.key] for task in several]) for setting, several in here]
                        samples: Samples = {
                            setting.place: (
                                setting.label,
                                [read(check, setting.scenario, p.summary) for p in played if p.summary is not None],
                            )
                            for setting, played in results
                            if any(p.summary is not None for p in played)
                        }
                        trouble = next((t for _, played in results for p in played if (t := _trouble(p))), "")
                        findings.append(judge(experiment.id, case, check, world, samples, trouble))
    for entry in computed:
        if on_compute is not None:
            on_compute(entry)
        findings += entry.compute(archive, pictures)
    about = {e.id: _about(e, worlds) for e in experiments} | {c.id: _about_computed(c) for c in computed}
    return Reproduction(experiments=about, findings=findings, is_quick=quick)


def _tasks(experiment: Experiment, setting: Setting, pictures: Path | None) -> list[Task]:
    """Return the runs of a setting: in the simulator one per seed, with varied start times; in the kernel `kernel.runs`
    runs.
    """
    seeds = range(1, 1 + (experiment.seeds if setting.world == "sim" else experiment.kernel.runs))
    name = slug("-".join(filter(None, [experiment.id, experiment.case[setting.case].name, setting.label])))
    drawn = pictures / f"{name}-{setting.world}.png" if pictures is not None else None
    return [
        Task(
            spread_starts(setting.scenario, seed)
            if setting.world == "sim"
            else setting.scenario.override({"seed": seed}),
            setting.world,
            interval=experiment.interval,
            picture=drawn if seed == 1 else None,
        )
        for seed in seeds
    ]


def _trouble(played: TaskResult) -> str:
    return played.failure or (f"not judged: {played.not_judged}" if played.not_judged else "")


def _about(experiment: Experiment, worlds: Sequence[TcpWorld]) -> dict[str, str]:
    about = {
        "title": experiment.title,
        "source": experiment.source,
        "published": experiment.published,
        "setup": experiment.setup,
    }
    return {**about, "kernel_setup": experiment.kernel.setup} if "kernel" in worlds else about


def _about_computed(entry: Computed) -> dict[str, str]:
    return {"title": entry.title, "source": entry.source, "published": entry.published, "setup": entry.setup}
