"""A user's own network model: a class in a Python file, named as in ``mine.py:Mine`` (docs/formal/models.md).

A network model has two methods: `constrain` adds constraints for solvers to a system (the variables and constraints of
one question), and `violations` checks a trace (the value of each curve at each sample point). The model's code runs in
a child process (:mod:`fairweir.formal.models.hosted`) as a :class:`CheckedModel`. The parent process uses a
:class:`UserModel`, which sends requests to the child.

Symbols: C, link rate; R, round-trip propagation delay; S, cumulative bytes served; TA, cumulative bytes that have left
the bottleneck's queue.
"""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn

import z3

from fairweir.ccas.lookup import load_module, locate
from fairweir.documents.arguments import words_for_enums
from fairweir.documents.suggestions import did_you_mean
from fairweir.errors import CcaError, ConfigError, FairweirError, describe_exception
from fairweir.formal.encoding.buffers import Buffer
from fairweir.formal.encoding.grid import Grid
from fairweir.formal.encoding.system import Acks, Sender, System
from fairweir.formal.encoding.trace import Trace
from fairweir.formal.exact.judge import violations
from fairweir.formal.exact.networks import define
from fairweir.formal.exact.report import Violation
from fairweir.formal.models import MODELS, register
from fairweir.formal.models.hosted import Added, Host, HostError
from fairweir.formal.models.model import Model, PacketPath

#: When a model is loaded, `constrain` and `violations` are compared on one trace with this number of sample points.
POINTS: Final = 4
#: Resource limit (rlimit) of z3 for finding this trace. The models in fairweir need a thousandth of this limit.
STEPS: Final = 20_000_000
#: A number of bytes, in C R, that no link serves within `POINTS` points.
TOO_MUCH: Final = 1000

_NAME = re.compile(r"[a-z][a-z0-9-]{0,31}")
_OPTION: Final = "--model"


@dataclass(frozen=True)
class Facts:
    """Attributes of a user's model, its one-line summary, the path of its file, and the SHA-256 of the file."""

    attributes: dict[str, Any]
    summary: str
    path: str
    digest: str


_FLAGS: Final = ("has_jitter", "delays_each_flow", "knows_losses_at_once", "has_constant_rate")


class UserModel(Model):
    """A user's model as the parent process sees it: the methods run in a child process.

    If a method raises, returns an invalid value or ends the process, an exception names the file, the class and the
    line.

    Parameters
    ----------
    source : str, the file and the class of the model, such as ``mine.py:Mine``

    Raises
    ------
    ConfigError : the file or the class does not exist, or the class is not a valid network model
    """

    def __init__(self, source: str) -> None:
        self.source, self._host = source, Host(source)
        self._facts: Facts = self._ask("loading it", "load", source)
        vars(self).update(self._facts.attributes)

    @property
    def summary(self) -> str:
        """The first line of the docstring of the model's class."""
        return self._facts.summary

    @property
    def path(self) -> str:
        """The file from which the model was read."""
        return self._facts.path

    @property
    def digest(self) -> str:
        """The SHA-256 of the model's file at the time when the model was read."""
        return self._facts.digest

    @property
    def is_current(self) -> bool:
        """Whether the file is unchanged since the model was read."""
        try:
            return _digest(Path(self.path)) == self.digest
        except OSError:
            return False

    def constrain(self, system: System) -> None:
        """Add the model's constraints on TA and S to a system.

        Raises
        ------
        ConfigError : the user's method raises, adds invalid constraints, or does not return
        """
        senders = [flow.sender for flow in system.flows]
        added: Added = self._ask("`constrain`", "added", system.grid, system.buffer, senders, system.acks)
        constraints, (total, *left) = added.read()
        for group, constraint in constraints:
            system.require(group, constraint)
        system.TA, system.left = total, list(left)

    def violations(self, trace: Trace) -> list[Violation]:
        """Return each condition of the model that a trace violates, as the user's method reports it.

        Raises
        ------
        ConfigError : the user's method raises, returns something other than violations, or does not return
        """
        found: list[Violation] = self._ask("`violations`", "violations", trace)
        return found

    def fail(self, problem: str, hint: str | None = None) -> NoReturn:
        """Raise a ConfigError that names the model's class and file."""
        raise _wrong(problem, self.source or "", hint)

    def _ask(self, what: str, method: str, *arguments: Any) -> Any:
        try:
            return self._host.ask(method, *arguments)
        except HostError as error:
            raise _wrong(f"{what} {error}", self.source or "") from None


class CheckedModel(Model):
    """A user's model in the child process. It checks the results of the user's methods, and reports their exceptions.

    Parameters
    ----------
    own : Model, an instance of the user's class, whose methods are called
    source : str, the file and the class of the model, such as ``mine.py:Mine``
    """

    def __init__(self, own: Model, source: str) -> None:
        self.own, self.source = own, source
        self.name, self.acks, self.packets, self.beliefs = own.name, own.acks, own.packets, own.beliefs
        for flag in _FLAGS:
            setattr(self, flag, getattr(own, flag))

    def facts(self) -> Facts:
        """Return the attributes of the model that the parent process needs."""
        path = Path(inspect.getfile(type(self.own))).resolve()
        attributes = {name: getattr(self, name) for name in (*_FLAGS, "name", "acks", "beliefs")}
        packets = self.packets and PacketPath(bool(self.packets.varies), bool(self.packets.delays))
        return Facts({**attributes, "packets": packets}, str(self.own.summary), str(path), _digest(path))

    @words_for_enums
    def added(self, grid: Grid, buffer: Buffer, senders: Sequence[Sender], acks: Acks) -> Added:
        """Return the constraints that the user's method adds to a new system, as text.

        Raises
        ------
        ConfigError : the user's method raises, or adds invalid constraints
        """
        system = System(self, grid, buffer, senders, acks)
        before = {name: list(group) for name, group in system.groups.items()}
        self.constrain(system)
        constraints = [
            (str(name), one) for name, group in system.groups.items() for one in group[len(before.get(name, ())) :]
        ]
        return Added.of(constraints, [system.TA, *system.left])

    def constrain(self, system: System) -> None:
        """Add the constraints of the user's method to a system, and check their types and groups.

        Raises
        ------
        ConfigError : the user's method raises, or adds invalid constraints
        """
        before = {name: list(group) for name, group in system.groups.items()}
        with self._blamed("constrain"):
            self.own.constrain(system)
        for name, given in before.items():
            if not _begins_with(system.groups.get(name), given):
                self.fail(f"`constrain` changes group `{name}`, which every model has", "only add constraints to it")
        for name, group in system.groups.items():
            for one in group[len(before.get(name, ())) :]:
                if not (isinstance(one, z3.ExprRef) and z3.is_bool(one)):
                    self.fail(f"`constrain` adds `{one!r:.60}` to group `{name}`, which is not a z3 constraint")
        for noun, curve in (("TA", system.TA), *((f"left[{i}]", curve) for i, curve in enumerate(system.left))):
            if len(curve) != system.grid.points or not all(z3.is_arith(term) for term in curve):
                self.fail(f"`constrain` sets `system.{noun}` to something other than {system.grid.points} z3 terms")
        if len(system.left) != len(system.flows):
            self.fail(f"`constrain` sets `system.left` to {len(system.left)} curves for {len(system.flows)} flows")

    def violations(self, trace: Trace) -> list[Violation]:
        """Return each condition of the model that a trace violates, as the user's method reports it.

        Raises
        ------
        ConfigError : the user's method raises, or returns something other than violations
        """
        with self._blamed("violations"):
            found = list(self.own.violations(trace))
        for one in found:
            if not isinstance(one, Violation):
                self.fail(f"`violations` returns `{one!r:.60}`, which is not a Violation")
        return [
            Violation(str(one.rule), int(one.t), None if one.flow is None else int(one.flow), str(one.text))
            for one in found
        ]

    def fail(self, problem: str, hint: str | None = None) -> NoReturn:
        """Raise a ConfigError that names the model's class and file."""
        raise _wrong(problem, self.source or "", hint)

    @contextmanager
    def _blamed(self, method: str) -> Iterator[None]:
        try:
            yield
        except FairweirError:
            raise
        except (Exception, SystemExit) as error:
            raise _wrong(f"`{method}` fails: {describe_exception(error)}", self.source or "") from error


def find_model(name: str) -> Model:
    """Return a network model by name: a model that is part of fairweir, or a user's model ``file.py:Class``.

    A user's model is loaded, its two methods are compared on a trace, and the model is registered under its `name`.

    Raises
    ------
    ConfigError : the file or the class does not exist, or the class is not a valid network model
    """
    if name in MODELS:
        return MODELS[name]
    if ":" not in name:
        hint = did_you_mean(name, list(MODELS))
        if name.endswith(".py"):
            hint = f"name the class too: `{name}:Mine`"
        raise ConfigError(f"no such model: `{name}`", key=_OPTION, hint=hint)
    for known in list(MODELS.values()):
        if isinstance(known, UserModel) and known.source == name and known.is_current and _is_at(known.path, name):
            return known
    model = UserModel(name)
    if model.name in MODELS and MODELS[model.name].source != name:
        raise _wrong(f"a model `{model.name}` already exists", name, "choose another `name`")
    register(model)
    return model


def load(name: str) -> CheckedModel:
    """Load a user's model in this process, and check on a trace that `constrain` and `violations` agree.

    Raises
    ------
    ConfigError : the file or the class does not exist, or the class is not a valid network model
    """
    model = CheckedModel(_instance(name), name)
    _check_facts(model)
    _try_out(model)
    return model


def _is_at(path: str, name: str) -> bool:
    """Return whether a name such as ``mine.py:Mine`` refers to the file at `path`. For a module's name, always true."""
    where = name.rpartition(":")[0]
    return not where.endswith(".py") or str(locate(where)) == path


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _begins_with(group: Sequence[object] | None, given: Sequence[object]) -> bool:
    """Return whether the first elements of `group` are the same objects as the elements of `given`."""
    return (
        group is not None
        and len(group) >= len(given)
        and all(one is other for one, other in zip(group, given, strict=False))
    )


def _instance(name: str) -> Model:
    """Load the user's class, and return an instance of the class."""
    try:
        where, attribute, module = load_module(name)
    except CcaError as error:
        hint = "write the path of a file and its class: `mine.py:Mine`"
        raise ConfigError(error.message, key=_OPTION, value=name, hint=hint) from error
    found = getattr(module, attribute, None)
    if found is None:
        own = [key for key, value in vars(module).items() if _is_model(value) and value.__module__ == module.__name__]
        hint = f"it has {', '.join(f'`{one}`' for one in own)}" if own else f"define `class {attribute}(Model):`"
        raise ConfigError(f"no class `{attribute}` in `{where}`", key=_OPTION, hint=hint)
    if not _is_model(found):
        hint = f"derive it: `class {attribute}(Model):`, from fairweir.formal.models"
        raise ConfigError(f"`{attribute}` in `{where}` is not a network model", key=_OPTION, hint=hint)
    missing = sorted(found.__abstractmethods__)
    if missing:
        hints = {
            "constrain": "write `def constrain(self, system)`, which adds constraints on system.TA and system.S",
            "violations": "write `def violations(self, trace)`, which judges traces without the code of `constrain`",
        }
        problem = f"class at line {inspect.getsourcelines(found)[1]} has no `{missing[-1]}`"
        raise _wrong(problem, name, hints.get(missing[-1]))
    try:
        made = found()
    except (Exception, SystemExit) as error:
        raise _wrong(f"cannot create an instance: {describe_exception(error)}", name) from error
    if not isinstance(made, Model):
        raise _wrong(f"an instance is `{made!r:.60}`, which is not a network model", name)
    if not isinstance(getattr(made, "name", None), str) or not _NAME.fullmatch(made.name):
        shown = getattr(made, "name", None)
        hint = 'write, for example, name = "mine": lower case, digits and hyphens, at most 32'
        raise _wrong(f"not a name for a model: `{shown}`", name, hint)
    if made.name in MODELS and MODELS[made.name].source != name:
        raise _wrong(f"a model `{made.name}` already exists", name, "choose another `name`")
    return made


def _is_model(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, Model)


def _check_facts(model: CheckedModel) -> None:
    for fact in _FLAGS:
        if not isinstance(getattr(model, fact), bool):
            model.fail(f"`{fact}` must be True or False: `{getattr(model, fact)!r:.60}`")
    if not (model.packets is None or isinstance(model.packets, PacketPath)):
        model.fail(f"`packets` must be a PacketPath or None: `{model.packets!r:.60}`")
    if not isinstance(model.acks, Acks):
        model.fail(f"`acks` must be one of Acks: `{model.acks!r:.60}`")
    if not isinstance(model.beliefs, str):
        model.fail(f"`beliefs` must be the name of a family of beliefs: `{model.beliefs!r:.60}`")


def _try_out(model: CheckedModel) -> None:
    """Check on one trace that `constrain` and `violations` agree.

    The check finds a trace that satisfies the constraints. `violations` must accept this trace, and must reject the
    trace after :func:`_too_much` has added served bytes. If the solver finds no trace within its limit, nothing is
    checked here: ``fairweir verify`` detects a model without traces.
    """
    define(model.definition)
    for buffer in (Buffer.INFINITE, Buffer.ARBITRARY):
        system = model.build(Grid(POINTS), buffer)
        solver = z3.Solver()
        solver.set("rlimit", STEPS)
        solver.add(*system.assertions())
        if solver.check() != z3.sat:
            continue
        trace = Trace.from_model(system, solver.model())
        if wrong := violations(trace):
            problem = f"`constrain` and `violations` disagree: a trace of `constrain` violates {wrong[0]}"
            model.fail(problem, "one of the two is wrong")
        if not model.violations(_too_much(trace)):
            problem = f"`violations` accepts a trace that serves {TOO_MUCH} C R more than has arrived"
            model.fail(problem, "it must check TA and S against what the link can do: it judges counterexamples")


def _too_much(trace: Trace) -> Trace:
    """Return the trace with `TOO_MUCH` more bytes served at the last point."""
    flow = trace.flows[0]

    def more(curve: tuple[object, ...]) -> tuple[object, ...]:
        return (*curve[:-1], curve[-1] + TOO_MUCH)  # type: ignore[operator]

    served = flow.model_copy(update={"S": more(flow.S), "left": more(flow.left)})
    return trace.model_copy(update={"flows": (served, *trace.flows[1:]), "TA": more(trace.TA)})


def _wrong(problem: str, source: str, hint: str | None = None) -> ConfigError:
    where, _, name = source.rpartition(":")
    return ConfigError(f"model `{name}`: {problem}", source=where, key=_OPTION, hint=hint)
