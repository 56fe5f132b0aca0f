"""Measure the accuracy of a forest on runs not used for training, simulated or on real TCP."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fairweir import _core
from fairweir.errors import ConfigError
from fairweir.guard import forest
from fairweir.guard.configurations import MIXES, PlannedRun, curriculum, learnt
from fairweir.guard.examples import CLASSES, Examples, Library, gather
from fairweir.guard.kernel_examples import gather_on_kernel
from fairweir.play.pool import Where
from fairweir.play.run import TcpWorld
from fairweir.units import Duration


@dataclass(frozen=True)
class Sheet:
    """Results of an examination; accuracies are fractions of the examples.

    Attributes
    ----------
    accuracy : float
    of_guess : float; accuracy of a classifier that always returns the most frequent class
    by_part : part of the mix -> accuracy, number of examples
    confusion : 3 x 3 counts, one row per true class
    late : int; number of kernel runs that are not judged
    """

    accuracy: float
    of_guess: float
    by_part: dict[str, tuple[float, int]]
    confusion: list[list[int]]
    late: int

    def to_dict(self) -> dict[str, Any]:
        """Return the output of ``fairweir guard examine --json``."""
        return {
            "accuracy": self.accuracy,
            "most_frequent": self.of_guess,
            "by_part": {name: {"accuracy": a, "examples": n} for name, (a, n) in self.by_part.items()},
            "confusion": {CLASSES[i]: dict(zip(CLASSES, row, strict=True)) for i, row in enumerate(self.confusion)},
            "not_judged": self.late,
        }


def read(path: Path) -> dict[str, Any]:
    """Read a forest that contains a record of its training.

    Raises
    ------
    ConfigError : the file cannot be read, or has no such record
    """
    hint = "fairweir guard train --out FILE writes one"
    try:
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        document["trained_on"]["mix"]
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot read the forest: {error}", source=str(path), hint=hint) from None
    except (KeyError, TypeError):
        raise ConfigError(
            "the forest has no list of training networks", source=str(path), key="trained_on", hint=hint
        ) from None
    return document


def questions(document: dict[str, Any], runs: int, duration: Duration, seed: int) -> list[PlannedRun]:
    """Draw about `runs` runs of the forest's mix, except those with networks on which it was trained."""
    origin = document["trained_on"]
    parts = MIXES[origin["mix"]]
    known = learnt(origin)
    return [one for one in curriculum(parts, runs, duration, seed) if one.network not in known]


def examine(
    document: dict[str, Any],
    planned_runs: list[PlannedRun],
    rows: int,
    *,
    world: TcpWorld = "sim",
    data: Path | None = None,
    workers: Where = None,
    on_done: Callable[[], object] | None = None,
) -> Sheet:
    """Run `planned_runs` and apply the forest to their examples.

    Parameters
    ----------
    document : the forest
    rows : int; number of examples per run
    data : Path of the directory that stores the examples of finished runs

    Raises
    ------
    ConfigError : no run can be judged
    FairweirError : a run failed
    """
    library = Library(data)
    collected: list[Examples | None] = (
        gather_on_kernel(planned_runs, rows, library, on_done=on_done)
        if world == "kernel"
        else [*gather(planned_runs, rows, library, workers=workers, on_done=on_done)]
    )
    parts: dict[str, list[Examples]] = {}
    for planned, examples in zip(planned_runs, collected, strict=True):
        if examples is not None:
            parts.setdefault(planned.part.name, []).append(examples)
    if not parts:
        raise ConfigError("no run can be judged: packets were released late", hint="run nothing else on this machine")
    names = _core.guard_features()
    columns = [names.index(name) for name in document["features"]]
    answered = {}
    for name, several in parts.items():
        joined = Examples.joined(several)
        answered[name] = (joined.labels, forest.walk(document, joined.values[:, columns])[1])
    labels = np.concatenate([truth for truth, _ in answered.values()])
    answers = np.concatenate([answer for _, answer in answered.values()])
    confusion = np.zeros((len(CLASSES), len(CLASSES)), int)
    np.add.at(confusion, (labels, answers), 1)
    return Sheet(
        accuracy=float(np.mean(labels == answers)),
        of_guess=float(np.bincount(labels).max() / len(labels)),
        by_part={name: (float(np.mean(truth == said)), len(truth)) for name, (truth, said) in answered.items()},
        confusion=confusion.tolist(),
        late=sum(examples is None for examples in collected),
    )
