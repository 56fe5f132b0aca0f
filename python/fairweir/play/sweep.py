"""Run a grid of scenarios, all combinations of values at dotted keys, on all cores and resumably.

Each finished point is a file whose name is a hash of the point's inputs: the resolved configuration, the sources of
users' controllers and the simulator's build. After an interruption or an extension of the grid, a sweep therefore runs
only the missing points.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from fairweir import __version__
from fairweir.ccas import lookup
from fairweir.documents import store as stores
from fairweir.documents.arguments import one_of
from fairweir.documents.store import Store, to_json
from fairweir.errors import ConfigError
from fairweir.judging.summary import Summary
from fairweir.play import quic
from fairweir.play.axes import MAX_POINTS, parse_axis
from fairweir.play.pool import Done, Failed, Where, map_jobs
from fairweir.play.run import VirtualWorld, World
from fairweir.play.simulate import build
from fairweir.scenario.model import Scenario
from fairweir.scenario.resolve import of_real_hosts

if TYPE_CHECKING:
    from fairweir.play.table import Table

Grid = Mapping[str, Sequence[Any]]
#: Results of a flow that a notebook shows next to a point's settings; :attr:`Sweep.flows` has all of them.
SHOWN_RESULTS = ("id", "throughput_mbps", "rtt_ms_mean", "qdelay_ms_mean", "loss_rate")


@dataclass(frozen=True)
class Point:
    """One combination of the grid.

    Attributes
    ----------
    settings : dict, key of the grid -> value
    scenario : Scenario with these values
    key : str, hash of the point's inputs
    world : "sim" or "quic"
    """

    settings: dict[str, Any]
    scenario: Scenario
    key: str
    world: VirtualWorld = "sim"


@dataclass(frozen=True, repr=False)
class Sweep:
    """Results of a sweep.

    Attributes
    ----------
    points : list of Point, the whole grid
    summaries : dict from a point's key to its run's summary
    failures : dict from a point's key to the reason
    reused : int, number of points that were finished before
    """

    points: list[Point]
    summaries: dict[str, Summary]
    failures: dict[str, str]
    reused: int

    @property
    def is_complete(self) -> bool:
        """Whether all points have summaries."""
        return all(point.key in self.summaries for point in self.points)

    @property
    def flows(self) -> Table:
        """Results with one row per finished point and flow: the settings, the seed, fairness and the flow's summary."""
        return table("flows", self.points, self.summaries)

    @property
    def links(self) -> Table:
        """Results with one row per finished point and link."""
        return table("links", self.points, self.summaries)

    def __repr__(self) -> str:
        """Return one line: the axes, and the numbers of points."""
        axes = ", ".join(dict.fromkeys(key for point in self.points for key in point.settings))
        finished = sum(point.key in self.summaries for point in self.points)
        failed = sum(point.key in self.failures for point in self.points)
        return f"<Sweep of {axes}: {finished} of {len(self.points)} points finished, {failed} failed>"

    def _repr_html_(self) -> str:
        from fairweir.play.table import Table

        failures = "".join(f"<li>{escape(reason)}</li>" for reason in dict.fromkeys(self.failures.values()))
        title = f"<p>{escape(repr(self)[1:-1])}</p>" + (f"<ul>{failures}</ul>" if failures else "")
        axes = dict.fromkeys(key for point in self.points for key in point.settings)
        shown = [{name: row[name] for name in (*axes, *SHOWN_RESULTS)} for row in self.flows.to_rows()]
        return title + Table.from_rows(shown).to_html()


def parse_grid(texts: Sequence[str]) -> dict[str, list[Any]]:
    """Parse axes such as ``KEY=V1,V2,...`` and ``KEY=FROM..TO/STEP`` (:mod:`fairweir.play.axes`).

    Raises
    ------
    ConfigError : as :func:`fairweir.play.axes.parse_axis`
    """
    return dict(map(parse_axis, texts))


def grid_of(scenario: Scenario) -> dict[str, list[Any]]:
    """Return the grid of the scenario's ``[sweep]`` table, with dotted keys.

    Raises
    ------
    ConfigError : an axis is neither a list nor a range
    """
    found: dict[str, list[Any]] = {}
    for key, value in _leaves(scenario.sweep, ""):
        if isinstance(value, str):
            found |= parse_grid([f"{key}={value}"])
        elif isinstance(value, list) and value:
            found[key] = value
        else:
            hint = 'write a list, or a range such as "1..5"'
            raise ConfigError(
                f"grid axis has no values: `{value}`", source=scenario.source, key=f"sweep.{key}", hint=hint
            )
    return found


def _leaves(table: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def expand(scenario: Scenario, grid: Grid, world: VirtualWorld = "sim") -> list[Point]:
    """Return all combinations of the grid's values; the last key varies fastest.

    Raises
    ------
    ConfigError : a value is invalid; all values are checked before the first run
    ProgramError : the program of the QUIC stacks is not built
    """
    count = 1
    for values in grid.values():
        count *= len(values)
    if count > MAX_POINTS:
        raise ConfigError(
            f"grid has {count} points, more than {MAX_POINTS}", hint="use fewer values, or several sweeps"
        )
    plain = scenario.model_copy(update={"sweep": {}})
    points = []
    for values in itertools.product(*grid.values()):
        settings = dict(zip(grid, values, strict=True))
        changed = plain.override(settings)
        points.append(Point(settings, changed, fingerprint(changed, world), world))
    return points


def fingerprint(scenario: Scenario, world: World = "sim") -> str:
    """Return a hash of all inputs of a run; for the kernel world they include fairweir's version instead of a build.

    Raises
    ------
    ConfigError : a file named in the scenario cannot be read
    ProgramError : the world is "quic", and the program of the QUIC stacks is not built
    """
    config = scenario.resolve()
    if world == "kernel":
        # Real hosts ignore what describes simulated ones.
        config["flows"] = [of_real_hosts(flow) for flow in config["flows"]]
    names = sorted({flow.cca.name for flow in scenario.flow})
    sources = {name: digest for name in names if (digest := lookup.source_digest(name, base=scenario.base)) is not None}
    return stores.fingerprint(_build(names, world), config, sources)


def _build(ccas: Sequence[str], world: World) -> str:
    if world == "quic":
        return quic.build(ccas)
    return build() if world == "sim" else __version__


def play(point: Point) -> Summary:
    """Run one point; return its summary without the scenario, which the point has."""
    from fairweir.play.run import run

    return run(point.scenario, on=point.world).summary.without_scenario()


def sweep(
    scenario: Scenario | str | Path | Mapping[str, Any],
    grid: Grid,
    directory: str | Path,
    *,
    workers: Where = None,
    timeout_s: float | None = None,
    on: VirtualWorld = "sim",
    on_done: Callable[[int, int, str | None], object] | None = None,
) -> Sweep:
    """Run the points of a grid that are not in `directory`, and store each point there when it ends.

    Parameters
    ----------
    scenario : Scenario to vary, or an argument of :meth:`Scenario.of`
    grid : dict from dotted keys to lists of values
    directory : str or Path of the directory for points/KEY.json, and for flows.parquet and links.parquet of all points
    workers : int, number of processes, default one per core; or a :class:`fairweir.Cluster`
    timeout_s : float, s; maximum real time of a point
    on : "sim" or "quic", the world; runs on the kernel take real time and the whole machine, so they are not swept
    on_done : called with the number of finished points, the number of all points, and the last point's failure or None

    Returns
    -------
    Sweep

    Raises
    ------
    ConfigError : a point is invalid; raised before the first run
    ProgramError : the program of the QUIC stacks is not built
    ClusterError : the cluster cannot be used
    KeyboardInterrupt : Ctrl-C; finished points are stored, also in the tables
    """
    one_of(get_args(VirtualWorld), on, "on")
    directory = Path(directory)
    points = expand(Scenario.of(scenario), grid, on)
    (directory / "points").mkdir(parents=True, exist_ok=True)
    store = Store(directory / "points", to_json, _point)
    found = {point.key: store.get(point.key) for point in points}
    summaries = {key: Summary(kept["summary"]) for key, kept in found.items() if kept is not None}
    copies = Counter(point.key for point in points)
    reused = sum(copies[key] for key in summaries)
    done = reused
    missing = list({point.key: point for point in points if point.key not in summaries}.values())
    failures: dict[str, str] = {}

    def keep(outcome: Done[Point, Summary] | Failed[Point]) -> None:
        nonlocal done
        point = outcome.job
        done += copies[point.key]
        if isinstance(outcome, Done):
            summaries[point.key] = outcome.value
            document = {"settings": point.settings, "scenario": point.scenario.to_dict()}
            store.put(point.key, {**document, "summary": outcome.value.document})
        else:
            failures[point.key] = outcome.reason
        if on_done is not None:
            on_done(done, len(points), failures.get(point.key))

    if on_done is not None:
        on_done(reused, len(points), None)
    try:
        map_jobs(play, missing, workers=workers, timeout_s=timeout_s, on_done=keep)
    except KeyboardInterrupt:
        _write_tables(directory, points, summaries)
        stored = sum(copies[key] for key in summaries)
        reason = f"{stored} of {len(points)} points are stored in {directory}/; the same call resumes the sweep"
        raise KeyboardInterrupt(reason) from None
    _write_tables(directory, points, summaries)
    return Sweep(points, summaries, failures, reused)


def _point(content: bytes) -> dict[str, Any]:
    """Parse a stored point: settings, scenario and a complete summary."""
    found: dict[str, Any] = json.loads(content)
    Summary(found["summary"]).check()
    return found


def _write_tables(directory: Path, points: list[Point], summaries: Mapping[str, Summary]) -> None:
    for name in ("flows", "links"):
        table(name, points, summaries).write(directory / f"{name}.parquet")


def table(name: str, points: Sequence[Point], summaries: Mapping[str, Summary]) -> Table:
    """Return one row per finished point and flow or link: settings, seed, fairness, and results of the flow or link.

    Parameters
    ----------
    name : "flows" or "links"

    Returns
    -------
    Table; nested results have joined names (``rtt_ms_mean``)
    """
    from fairweir.play.table import Table

    is_number = {
        key: all(isinstance(p.settings[key], (int, float)) and not isinstance(p.settings[key], bool) for p in points)
        for key in (points[0].settings if points else {})
    }
    rows = []
    for point in points:
        summary = summaries.get(point.key)
        if summary is None:
            continue
        settings = {key: value if is_number[key] else _text(value) for key, value in point.settings.items()}
        common = {"point": point.key, **settings, "seed": summary.seed, **summary.document["fairness"]}
        rows += [{**common, **_flat(row)} for row in summary.document[name]]
    return Table.from_rows(rows)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in row.items():
        inner = {f"{key}_{name}": number for name, number in value.items()} if isinstance(value, dict) else {key: value}
        flat.update(inner)
    return flat
