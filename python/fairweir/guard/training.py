"""Train a forest on a mix of flows, and measure its accuracy on unseen flows."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from fairweir import _core
from fairweir.guard import forest
from fairweir.guard.configurations import MIXES, Part, PlannedRun, curriculum
from fairweir.guard.examples import CLASSES, LEAKING_FEATURES, Examples, Library, gather
from fairweir.guard.kernel_examples import gather_on_kernel
from fairweir.play.pool import Where
from fairweir.play.run import TcpWorld
from fairweir.units import Duration

#: Of each ten consecutive runs, this number is used for examination only.
_EXAMINED_OF_TEN = 3


@dataclass(frozen=True)
class Plan:
    """Parameters of training.

    Attributes
    ----------
    mix : str, a key of :data:`~fairweir.guard.configurations.MIXES`
    runs : int, number of runs of the mix (in the report 800, 800 and 13 000)
    rows : int, number of examples per run
    duration : duration of each run; the newcomer starts after a fifth of it, and examples are from the last fifth
    unseen : newcomers for additional examination
    rounds : int; number of further rounds. In each, all runs are repeated with flows that the current forest limits,
        and the forest is trained again on all examples, because limited flows have different features.
    leaky_features : bool; whether features that reveal a run's schedule are allowed, as in the report
    shape : maximum size of the forest
    seed : int; seed of all random draws
    world : world to run in; on the kernel, there are no further rounds
    """

    mix: str
    runs: int
    rows: int
    duration: Duration
    unseen: tuple[str, ...] = ()
    rounds: int = 0
    leaky_features: bool = False
    shape: forest.Shape = field(default_factory=forest.Shape)
    seed: int = 1
    world: TcpWorld = "sim"

    @property
    def origin(self) -> dict[str, Any]:
        """The record of the runs in a forest's file, from which the runs can be drawn again."""
        of_runs = {"mix": self.mix, "runs": self.runs, "rows": self.rows, "duration_s": self.duration.s}
        how = {"rounds": self.rounds, "leaky_features": self.leaky_features, "seed": self.seed, "world": self.world}
        return {**of_runs, **how}

    @property
    def planned_runs(self) -> list[PlannedRun]:
        """The runs of the mix."""
        return list(curriculum(MIXES[self.mix], self.runs, self.duration, self.seed))

    def unseen_runs(self, newcomer: str) -> list[PlannedRun]:
        """Return runs of the mix's incumbent with an unseen newcomer, as many as are examined of the mix."""
        part = Part(MIXES[self.mix][0].incumbent, newcomer, "random", 1)
        runs = max(2, self.runs * _EXAMINED_OF_TEN // 10)
        return list(curriculum((part,), runs, self.duration, self.seed + 1))


@dataclass(frozen=True)
class Trained:
    """A forest and its examination; accuracies are fractions of the examples of runs reserved for examination.

    Attributes
    ----------
    forest : dict; in the guard's format
    of_all : float; accuracy with all 209 features
    of_selected : float; accuracy with the selected features
    of_held : float; accuracy in the last round, with limited flows; None without further rounds
    by_part : part of the mix, or unseen newcomer -> accuracy, number of examples
    of_guess : float; accuracy of a classifier that always returns the most frequent class of the training
    confusion : 3 x 3 counts, one row per true class
    importance : selected feature -> decrease of the model's accuracy when the feature's values are shuffled
    rows : int; numbers of examples for training and for examination
    """

    forest: dict[str, Any]
    of_all: float
    of_selected: float
    of_held: float | None
    by_part: dict[str, tuple[float, int]]
    of_guess: float
    confusion: list[list[int]]
    importance: dict[str, float]
    rows: tuple[int, int]

    def to_dict(self) -> dict[str, Any]:
        """Return the output of ``fairweir guard train --json``, without the trees."""
        return {
            "features": self.importance,
            "nodes": sum(len(tree["feature"]) for tree in self.forest["trees"]),
            "trees": len(self.forest["trees"]),
            "accuracy": {"all_features": self.of_all, "selected": self.of_selected, "most_frequent": self.of_guess},
            "held": self.of_held,
            "by_part": {name: {"accuracy": a, "examples": n} for name, (a, n) in self.by_part.items()},
            "confusion": {CLASSES[i]: dict(zip(CLASSES, row, strict=True)) for i, row in enumerate(self.confusion)},
            "examples": dict(zip(("trained", "examined"), self.rows, strict=True)),
        }


def train(
    plan: Plan,
    data: Path | None = None,
    *,
    workers: Where = None,
    on_progress: Callable[[str, int, int], object] | None = None,
) -> Trained:
    """Run the planned runs, select features, train the forest, and examine it.

    Parameters
    ----------
    plan : parameters of training
    data : Path; a directory that stores the examples of finished runs
    workers : int, number of processes, default one per core; or a :class:`fairweir.Cluster`
    on_progress : called with a description, the completed work, and the total work

    Raises
    ------
    ConfigError : a class has too few examples
    FairweirError : a run failed
    """
    tell = on_progress or (lambda what, done, total: None)
    library = Library(data)

    def collect(what: str, planned_runs: list[PlannedRun], grown: str | None = None) -> list[Examples]:
        done = 0

        def count() -> None:
            nonlocal done
            done += 1
            tell(what, done, len(planned_runs))

        if plan.world == "kernel":
            found = gather_on_kernel(planned_runs, plan.rows, library, on_done=count)
            collected = [examples or Examples.joined([]) for examples in found]
        else:
            collected = gather(planned_runs, plan.rows, library, forest=grown, workers=workers, on_done=count)
        return collected if plan.leaky_features else [examples.without(LEAKING_FEATURES) for examples in collected]

    planned_runs = plan.planned_runs
    # Whole runs are used for either training or examination, because the rows of one run are similar.
    is_kept = [index * _EXAMINED_OF_TEN % 10 < _EXAMINED_OF_TEN for index in range(len(planned_runs))]

    def divided(collected: list[Examples]) -> tuple[Examples, Examples]:
        pairs = list(zip(collected, is_kept, strict=True))
        return (
            Examples.joined([examples for examples, kept in pairs if not kept]),
            Examples.joined([examples for examples, kept in pairs if kept]),
        )

    names = _core.guard_features()
    collected = collect("runs", planned_runs)
    taught, asked = divided(collected)
    held: Examples | None = None
    for number in range(plan.rounds + 1):
        tell(f"trees, round {number}", 0, 2)
        whole = forest.fit(taught, plan.shape, plan.seed)
        costs = forest.importance(whole, asked, plan.seed)
        chosen = forest.select(forest.clusters(taught.values, forest.FEATURES, plan.seed), costs)
        tell(f"trees, round {number}", 1, 2)
        model = forest.fit(_only(taught, chosen), plan.shape, plan.seed)
        tell(f"trees, round {number}", 2, 2)
        grown = forest.document(model, [names[f] for f in chosen], plan.origin)
        if number < plan.rounds:
            more, held = divided(collect(f"runs, round {number + 1}", planned_runs, json.dumps(grown)))
            taught = Examples.joined([taught, more])
    parts: dict[str, list[Examples]] = {}
    for planned, examples, kept in zip(planned_runs, collected, is_kept, strict=True):
        if kept:
            parts.setdefault(planned.part.name, []).append(examples)
    for newcomer in plan.unseen:
        unseen = plan.unseen_runs(newcomer)
        parts[f"{unseen[0].part.name}, unseen"] = collect(newcomer, unseen)
    examined = {name: _only(Examples.joined(collected), chosen) for name, collected in parts.items()}
    answers = model.predict(asked.values[:, chosen])
    confusion = np.zeros((len(CLASSES), len(CLASSES)), int)
    np.add.at(confusion, (asked.labels, answers), 1)
    return Trained(
        forest=grown,
        of_all=forest.accuracy(whole, asked),
        of_selected=forest.accuracy(model, _only(asked, chosen)),
        of_held=None if held is None else forest.accuracy(model, _only(held, chosen)),
        by_part={name: (forest.accuracy(model, one), len(one.labels)) for name, one in examined.items()},
        of_guess=float(np.mean(asked.labels == np.bincount(taught.labels).argmax())),
        confusion=confusion.tolist(),
        importance={names[f]: float(costs[f]) for f in chosen},
        rows=(len(taught.labels), len(asked.labels)),
    )


def _only(examples: Examples, features: list[int]) -> Examples:
    return replace(examples, values=examples.values[:, features])
