"""Compare two runs, two sweeps, or two controllers on one scenario: differences, with intervals over seeds."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from fairweir.ccas.cca_spec import AnyCca, text_of
from fairweir.documents.arguments import count, one_of
from fairweir.documents.digits import plain
from fairweir.errors import ConfigError, FairweirError
from fairweir.judging.differences import Difference, differences
from fairweir.judging.summary import Summary
from fairweir.play.batch import Archive, Task, play_all, spread_starts
from fairweir.play.pool import Where, checked
from fairweir.play.run import Run, VirtualWorld
from fairweir.play.sweep import Sweep
from fairweir.scenario.model import Scenario

if TYPE_CHECKING:
    from fairweir.play.table import Table


@dataclass(frozen=True, repr=False)
class Differences:
    """Differences between two sides.

    Attributes
    ----------
    names : str and str, names of the sides
    rows : tuple of Difference
    """

    names: tuple[str, str]
    rows: tuple[Difference, ...]

    def table(self) -> Table:
        """Return a table with one row per quantity."""
        from fairweir.play.table import Table

        fields = ("at", "of", "quantity", "unit", "first", "second", "difference", "lo", "hi")
        return Table.from_rows([{field: getattr(row, field) for field in fields} for row in self.rows])

    def __repr__(self) -> str:
        """Return one line per quantity, with its difference and the interval."""
        lines = [f"{self.names[0]} -> {self.names[1]}"]
        for row in self.rows:
            of = f"{row.at}: {row.of}" if row.at else row.of
            within = "" if row.lo is None or row.hi is None else f" [{row.lo:+.3g}, {row.hi:+.3g}]"
            values = f"{plain(row.first, 4)} -> {plain(row.second, 4)} {row.unit}".rstrip()
            lines.append(f"{of}, {row.quantity}: {values} ({row.difference:+.3g}{within})")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return self.table().to_html(len(self.rows))


_SIDES = "compare two runs, two lists of runs, two sweeps or two controllers"

Side = Run | Sequence[Run] | Sweep | AnyCca


def compare(
    first: Side,
    second: Side,
    *,
    scenario: Scenario | str | Path | Mapping[str, Any] | None = None,
    seeds: int | None = None,
    workers: Where = None,
    directory: str | Path | None = None,
    on: VirtualWorld | None = None,
) -> Differences:
    """Compare two runs, two lists of runs, two sweeps, or two controllers on one scenario.

    Parameters
    ----------
    first, second : two runs; two lists of runs that differ in the seed; two sweeps, of which the points are compared
        whose settings other than ``seed`` are equal; or two controllers, in the forms that :func:`fairweir.audit`
        accepts
    scenario : Scenario, or an argument of :meth:`Scenario.of`; only for controllers. All its flows use the first
        controller, then the second.
    seeds : int, number of runs of each controller, default 5; the seed also determines the start times
    workers : int, number of processes, default one per core; or a :class:`fairweir.Cluster`
    directory : str or Path; gets runs/KEY.json for each finished run, which later comparisons reuse; by default nothing
        is stored
    on : "sim" or "quic", the world in which controllers run; default "sim". Finished runs may be of any worlds.

    Returns
    -------
    Differences ; flows and links are matched by their position. If both sides have the same seeds, the interval is that
    of the mean of paired differences; otherwise that of the difference of two means. With few seeds and skewed
    differences the interval covers the true difference in fewer than 95 % of the cases (docs/measured/intervals.md)

    Raises
    ------
    ConfigError : the sides are of different types or have nothing in common, controllers are given without a scenario,
        a side has two runs with the same seed, or an argument has no effect
    FairweirError : a run of a controller failed
    KeyboardInterrupt : Ctrl-C; finished runs are stored in `directory`

    Examples
    --------
    >>> import fairweir as fw
    >>> link = dict(rate="12Mbps", rtprop="20ms", buffer="4bdp", duration="5s")
    >>> found = fw.compare(fw.run(fw.dumbbell("reno", **link)), fw.run(fw.dumbbell("vegas", **link)))
    >>> wait = next(row for row in found.rows if row.quantity == "mean wait")
    >>> wait.difference < 0
    True
    """
    sides = [_runs(one) for one in (first, second)]
    if any(side is not None for side in sides) or any(isinstance(one, Sweep) for one in (first, second)):
        arguments = {"scenario": scenario, "seeds": seeds, "workers": workers, "directory": directory, "on": on}
        for name, given in arguments.items():
            if given is not None:
                raise ConfigError(
                    f"{name} has no effect on finished runs",
                    hint=f"use {name} only to compare two controllers",
                    key=name,
                )
    if isinstance(first, Sweep) and isinstance(second, Sweep):
        return _of_sweeps(first, second)
    if sides[0] is not None and sides[1] is not None:
        one, other = ([run.summary for run in side] for side in sides if side)
        return Differences(_names(sides[0], sides[1]), tuple(differences(one, other)))
    if any(side is not None for side in sides) or any(isinstance(one, Sweep) for one in (first, second)):
        raise ConfigError(
            f"cannot compare {type(first).__name__} and {type(second).__name__}",
            hint=_SIDES,
        )
    if scenario is None:
        hint = 'such as `compare("bbr", "cubic", scenario=dumbbell(["reno", "reno"]))`'
        raise ConfigError("controllers are compared on a scenario", hint=hint, key="scenario")
    checked(workers)
    controllers = text_of(first), text_of(second)
    number = count(5 if seeds is None else seeds, "seeds")
    world = "sim" if on is None else on
    one_of(get_args(VirtualWorld), world, "on")
    archive = Archive(None if directory is None else Path(directory))
    return _of_controllers(controllers, Scenario.of(scenario), number, world, workers, archive)


def _names(*sides: Sequence[Run]) -> tuple[str, str]:
    """Return the names of the scenarios of both sides, with the worlds if these differ."""
    first, second = (" ".join(dict.fromkeys(run.scenario.name or "run" for run in side)) for side in sides)
    worlds = [" ".join(dict.fromkeys(run.summary.world for run in side)) for side in sides]
    return (first, second) if worlds[0] == worlds[1] else (f"{first} in {worlds[0]}", f"{second} in {worlds[1]}")


def _runs(side: Side) -> list[Run] | None:
    if isinstance(side, Run):
        return [side]
    if isinstance(side, str) or not isinstance(side, Sequence):
        return None
    others = [one for one in side if not isinstance(one, Run)]
    if others:
        raise ConfigError(f"a list to compare has other things than runs: {type(others[0]).__name__}", hint=_SIDES)
    if not side:
        raise ConfigError("a list of runs to compare is empty", hint=_SIDES)
    return [one for one in side if isinstance(one, Run)]


def _of_controllers(
    names: tuple[str, str], scenario: Scenario, seeds: int, world: VirtualWorld, workers: Where, archive: Archive
) -> Differences:
    tasks = [
        [Task(spread_starts(scenario.override({"flow.*.cca": name}), seed), world) for seed in range(1, seeds + 1)]
        for name in names
    ]
    try:
        outcomes = play_all([task for side in tasks for task in side], archive, workers=workers)
    except KeyboardInterrupt:
        stored = "nothing is stored, because no directory was named"
        if archive.directory is not None:
            stored = f"finished runs are stored in {archive.directory}/; the same call resumes the comparison"
        raise KeyboardInterrupt(stored) from None
    sides: list[list[Summary]] = [[], []]
    for side, found in zip(tasks, sides, strict=True):
        for task in side:
            outcome = outcomes[task.key]
            if outcome.summary is None:
                raise FairweirError(f"a run failed: {outcome.failure}")
            found.append(outcome.summary)
    return Differences(names, tuple(differences(sides[0], sides[1])))


def _of_sweeps(first: Sweep, second: Sweep) -> Differences:
    sides = [_by_settings(one) for one in (first, second)]
    common = [at for at in sides[0] if at in sides[1]]
    if not common:
        raise ConfigError("the sweeps have no point in common", hint="compare sweeps of the same axes and values")
    rows = [row for at in common for row in differences(sides[0][at], sides[1][at], at)]
    return Differences(("first", "second"), tuple(rows))


def _by_settings(sweep: Sweep) -> dict[str, list[Summary]]:
    found: dict[str, list[Summary]] = {}
    for point in sweep.points:
        if (summary := sweep.summaries.get(point.key)) is not None:
            at = ", ".join(
                f"{key}={value if isinstance(value, str) else json.dumps(value)}"
                for key, value in point.settings.items()
                if key != "seed"
            )
            found.setdefault(at, []).append(summary)
    return found
