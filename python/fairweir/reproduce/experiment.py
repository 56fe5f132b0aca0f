"""Define the files of published experiments: a scenario, its variations, the published result, and checks of it.

The files are ``scenarios/published/ID.toml``; docs/reproduce.md describes their keys. A world is an implementation that
runs scenarios: the simulator, or Linux TCP in the kernel. A reading is a number computed from a run, such as the
utilization.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError, model_validator

from fairweir.documents.quantities import invalid
from fairweir.documents.suggestions import did_you_mean
from fairweir.documents.validation_errors import explain
from fairweir.errors import ConfigError
from fairweir.play.run import TcpWorld
from fairweir.scenario.model import Scenario, read_scenario
from fairweir.units import Duration

Reading = Literal[
    "ratio",
    "gain",
    "throughput_mbps",
    "jain",
    "utilization",
    "rtt_ms",
    "rtt_p99_ms",
    "qdelay_ms",
    "loss_rate",
    "lost_per_rtprop",
    "max_lost_in_rtprop",
    "large_losses",
    "late_jain",
]
Place = Literal["each", "first", "last", "growth"]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Axis(_Table):
    """An axis of a case: values that are set one after another, at one or several dotted keys of the scenario.

    If the values for the kernel differ, `kernel` lists them in the same order as `values`; "" means that a value is not
    run.
    """

    key: str | list[str] = Field(min_length=1)
    values: list[Any] = Field(min_length=1)
    kernel: list[Any] | None = None

    @model_validator(mode="after")
    def _parallel(self) -> Axis:
        if self.kernel is not None and len(self.kernel) != len(self.values):
            raise invalid(
                "{noun} has a different number of values for the kernel", len(self.kernel), f"give {len(self.values)}"
            )
        return self

    def changes(self, value: Any) -> dict[str, Any]:
        """Return the dotted keys with `value`, as overrides of the scenario."""
        return dict.fromkeys([self.key] if isinstance(self.key, str) else self.key, value)

    def places(self, world: TcpWorld) -> list[tuple[int, Any]]:
        """Return the index and the value of each point of the axis that is run in `world`."""
        values = self.kernel if world == "kernel" and self.kernel is not None else self.values
        return [(i, value) for i, value in enumerate(values) if value != ""]


class Bound(_Table):
    """Bounds on a value: `within` is a maximum deviation, as a fraction of the published number; the others are
    absolute.
    """

    within: float | None = Field(default=None, gt=0)
    at_least: float | None = None
    at_most: float | None = None


class Check(Bound):
    """A published claim, and the bound by which fairweir's result is checked.

    `reading` is computed from the flows whose ids match `of`, where ``*`` matches any text; by default from all flows.
    For the reading ``gain``, these flows are compared with the flows that match `by`. `at` states at which points of
    the axis the reading is judged: at each point, at the first, at the last, or as growth from the first to the last.
    If numbers were published, `within` bounds the deviation from them; otherwise `at_least` and `at_most` bound the
    reading, and `reason` justifies these bounds.
    """

    claim: str = Field(min_length=1)
    reading: Reading
    of: list[str] = ["*"]
    by: list[str] = []
    at: Place = "each"
    published: str | float | list[float] = ""
    reason: str = ""
    differs: dict[TcpWorld, str] = {}
    worlds: list[TcpWorld] = ["sim", "kernel"]

    @model_validator(mode="after")
    def _is_bounded(self) -> Check:
        if self.within is None and self.at_least is None and self.at_most is None:
            raise invalid("{noun} has no bound", hint="set within, at_least or at_most")
        if self.within is not None and (isinstance(self.published, str) or self.at == "growth"):
            raise invalid("{noun} has no reference", hint="within needs a published number, and no growth")
        if (self.reading == "gain") != bool(self.by):
            raise invalid("{noun} compares flows", hint='gain, and only gain, needs by = ["..."]')
        return self

    def published_at(self, index: int) -> float | None:
        """Return the published number for the point `index` of the axis; None if no number was published."""
        if isinstance(self.published, str):
            return None
        return self.published[index] if isinstance(self.published, list) else self.published


class Case(_Table):
    """One variation of the experiment: values at dotted keys of the scenario, optionally an axis, and checks."""

    name: str = Field(min_length=1)
    set: dict[str, Any] = {}
    axis: Axis | None = None
    worlds: list[TcpWorld] = ["sim", "kernel"]
    why_not: str = ""
    check: list[Check] = Field(min_length=1)

    @model_validator(mode="after")
    def _says_why_not(self) -> Case:
        if len(self.worlds) < 2 and not self.why_not:
            raise invalid("{noun} does not run in both worlds", hint="state the reason: why_not = ...")
        for check in self.check:
            places = len(self.axis.values) if self.axis else 1
            if isinstance(check.published, list) and len(check.published) != places:
                raise invalid(
                    "{noun} has a different number of published values than of settings",
                    len(check.published),
                    f"give {places}",
                )
        return self


class InKernel(_Table):
    """Overrides for runs in the kernel, which take real time: shorter runs, and rates that a machine can sustain."""

    set: dict[str, Any] = {}
    setup: str = ""
    runs: int = Field(default=1, ge=1, le=100)


class Quick(_Table):
    """Overrides for quick runs in the simulator: shorter runs and fewer seeds."""

    set: dict[str, Any] = {}
    seeds: int = Field(default=3, ge=2, le=100)


class Experiment(_Table):
    """One published figure, table or experiment."""

    title: str = Field(min_length=1)
    source: str = Field(min_length=1)
    items: list[str] = []
    """The reproduced items, such as "thesis figure 2.1": the id of a paper, and an item in the paper."""
    published: str = Field(min_length=1)
    setup: str = ""
    seeds: int = Field(default=3, ge=2, le=100)
    interval: str | None = None
    kernel: InKernel = InKernel()
    quick: Quick = Quick()
    scenario: dict[str, Any]
    case: list[Case] = Field(min_length=1)

    _id: str = PrivateAttr(default="")
    _source: Path = PrivateAttr(default=Path())

    @property
    def id(self) -> str:
        """The experiment's name on the command line, which is the name of its file without the suffix."""
        return self._id

    @property
    def worlds(self) -> list[TcpWorld]:
        """The worlds in which at least one case is run."""
        return [world for world in ("sim", "kernel") if any(world in case.worlds for case in self.case)]

    @property
    def kernel_s(self) -> float:
        """Total duration of all runs in the kernel, s."""
        durations = [Duration.parse(setting.scenario.duration).s for setting in self.settings(["kernel"])]
        return sum(durations) * self.kernel.runs

    def as_quick(self) -> Experiment:
        """Return a copy with at most `quick.seeds` seeds and the values of `quick.set`; its setup states these
        differences.
        """
        seeds = min(self.seeds, self.quick.seeds)
        differs = [f"{seeds} seeds instead of {self.seeds}"] if seeds < self.seeds else []
        differs += [f"{key} {value}" for key, value in self.quick.set.items()]
        cases = [case.model_copy(update={"set": {**case.set, **self.quick.set}}) for case in self.case]
        setup = "; ".join(filter(None, [self.setup, f"quick: {', '.join(differs)}" if differs else ""]))
        return self.model_copy(update={"seeds": seeds, "case": cases, "setup": setup})

    @classmethod
    def load(cls, path: Path) -> Experiment:
        """Read an experiment's file, and check that all its scenarios can be run.

        Raises
        ------
        ConfigError : the file cannot be read, or a key or a value is invalid
        """
        document = read_scenario(path)
        try:
            found = cls.model_validate(document)
        except ValidationError as error:
            raise explain(error, cls, document, str(path)) from None
        found._id, found._source = path.stem, path
        for version in (found, found.as_quick()) if found.quick.set else (found,):
            for setting in version.settings(found.worlds):
                setting.scenario.resolve()
        return found

    def settings(self, worlds: Sequence[TcpWorld]) -> Iterator[Setting]:
        """Yield all scenarios that are run in `worlds`."""
        name = str(self._source)
        base = Scenario.from_dict(self.scenario, source=name, base=self._source.parent, name=self._id)
        for number, case in enumerate(self.case):
            for world in worlds:
                if world not in case.worlds:
                    continue
                changed = base.override({**case.set, **(self.kernel.set if world == "kernel" else {})})
                if case.axis is None:
                    yield Setting(number, world, 0, "", changed)
                    continue
                for index, value in case.axis.places(world):
                    yield Setting(number, world, index, str(value), changed.override(case.axis.changes(value)))


@dataclass(frozen=True)
class Setting:
    """One scenario of an experiment.

    Attributes
    ----------
    case : int, index of the case in the experiment
    world : "sim" or "kernel"
    place : int, index of the point on the case's axis; 0 if the case has no axis
    label : str, the value at this point of the axis
    scenario : Scenario
    """

    case: int
    world: TcpWorld
    place: int
    label: str
    scenario: Scenario


def load_all(directory: Path, ids: Sequence[str] = ()) -> list[Experiment]:
    """Read the experiments whose ids :func:`named` selects.

    Raises
    ------
    ConfigError : there are no experiments, or none with this name
    """
    return [
        Experiment.load(directory / f"{name}.toml") for name in named(known_ids(directory), ids, source=str(directory))
    ]


def known_ids(directory: Path) -> list[str]:
    """Return the ids of all experiments in a directory.

    Raises
    ------
    ConfigError : the directory has no experiments
    """
    files = sorted(directory.glob("*.toml"))
    if not files:
        raise ConfigError("no published experiments", source=str(directory), hint="run it in a clone of the repository")
    return [file.stem for file in files]


def named(known: Sequence[str], wanted: Sequence[str], *, source: str | None = None) -> list[str]:
    """Return the names of `known` that `wanted` selects; all names if `wanted` is empty.

    An entry of `wanted` is a name, or a prefix that selects several names.

    Raises
    ------
    ConfigError : no name has this prefix
    """
    chosen: dict[str, None] = {}
    for word in wanted or [""]:
        found = [name for name in known if name == word] or [name for name in known if name.startswith(word)]
        if not found:
            raise ConfigError(f"no published experiment `{word}`", hint=did_you_mean(word, known), source=source)
        chosen |= dict.fromkeys(found)
    return list(chosen)
