"""Validate scenarios: flows, path, duration and seed.

Users write scenarios as TOML files; docs/scenarios.md lists every key. :class:`Scenario` validates a file and converts
it to the simulator's base units (ns, bytes, bytes/s). Only ``fairweir._core`` parses units.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)

from fairweir import _core
from fairweir.ccas.cca_spec import table_of
from fairweir.ccas.lookup import algorithms, is_of_stack
from fairweir.documents import shipped
from fairweir.documents.quantities import Data, FiniteSize, PacketSize, PositiveTime, Rate, Rtprop, Time, invalid, show
from fairweir.documents.suggestions import did_you_mean
from fairweir.documents.toml import dump_document, parse_document, read_document
from fairweir.documents.validation_errors import explain
from fairweir.errors import CcaError, ConfigError
from fairweir.scenario.elements import Access, AnyJitter, AnyLoss, Policer, Table, as_list
from fairweir.scenario.links import Link
from fairweir.scenario.overrides import apply
from fairweir.scenario.resolve import HOST, NONE, flow_ids, resolve
from fairweir.scenario.transport import IDEAL, LINUX, Mechanism
from fairweir.units import NS_PER_S

#: Maximum number of flows of a scenario. A larger number is probably a mistake, which is reported before memory is
#: exhausted.
MAX_FLOWS = 100_000


class CcaSpec(BaseModel):
    """The name of a CCA and its parameters. The CCA itself validates the parameters."""

    model_config = ConfigDict(extra="allow", frozen=True)

    name: str = Field(min_length=1, examples=['"bbr"'])

    @property
    def params(self) -> dict[str, Any]:
        """The parameters, without the name."""
        return dict(self.model_extra or {})

    @property
    def label(self) -> str:
        """Return a short name for tables and plots: the class name of a CCA in a Python file, or another file's name
        without suffix; the whole name of a CCA of a QUIC stack, whose last part is also a CCA of fairweir.
        """
        if is_of_stack(self.name):
            return self.name
        if ":" in self.name:
            # The full name of a class that a function defines is `module:make.<locals>.Mine#2`.
            return self.name.rpartition(":")[2].rpartition(".")[2].partition("#")[0]
        return Path(self.name).name.removesuffix(".bpf.c").removesuffix(".so").removesuffix(".toml")

    @model_serializer(mode="wrap")
    def _short(self, handler: SerializerFunctionWrapHandler) -> Any:
        return handler(self) if self.params else self.name


def _noise(value: Any) -> Any:
    if value in (HOST, NONE):
        return value
    hint = f'write "{HOST}", "{NONE}" or the maximum processing time, such as "20us"'
    try:
        maximum = _core.parse_time(value)
    except (ConfigError, TypeError):
        raise invalid("{noun} cannot be", repr(value) if value == "" else value, hint) from None
    if maximum > NS_PER_S:
        raise invalid("{noun} must be at most 1s, longer than any host takes", value, hint)
    return value


def _transport(value: Any) -> Any:
    if value in (LINUX, IDEAL):
        return value
    names = [mechanism.value for mechanism in Mechanism]
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise invalid(
            "{noun} cannot be", value, f'write "{LINUX}", "{IDEAL}" or a list of mechanisms: {", ".join(names)}'
        )
    for name in value:
        if name not in names:
            raise invalid("a mechanism of Linux's TCP cannot be", name, did_you_mean(str(name), names))
    return value


def _cca(value: Any) -> Any:
    if not isinstance(value, (str, type)) and not (isinstance(value, Mapping) and isinstance(value.get("name"), type)):
        return value
    try:
        return table_of(value)
    except CcaError as error:
        raise invalid(error.message, hint=error.hint or "") from None


class DelayedAck(Table):
    """Delayed acknowledgments: the receiver sends an ACK after `every` packets in order, or when `timer` expires."""

    every: int = Field(ge=1, le=1_000, examples=["2"])
    timer: PositiveTime = "40ms"


def _delayed_ack(value: Any) -> Any:
    return {"every": value} if isinstance(value, int) and not isinstance(value, bool) else value


class OnOff(Table):
    """A source that has unlimited data for the time `on` and then no data for the time `off`, repeatedly."""

    on: PositiveTime = Field(examples=['"1s"'])
    off: PositiveTime = Field(examples=['"1s"'])


class Flow(Table):
    """One flow, with sender, path and receiver; or, if `count` is above 1, this number of equal flows."""

    cca: Annotated[CcaSpec, BeforeValidator(_cca)] = Field(examples=['"bbr"'])
    rtprop: Rtprop = Field(examples=['"40ms"'])
    id: str | None = Field(default=None, min_length=1)
    count: int = Field(default=1, ge=1, le=MAX_FLOWS)
    stagger: Time = "0s"
    path: list[str] | None = None
    ack_path: list[str] = []
    start: Time = "0s"
    stop: PositiveTime | None = None
    bytes: Data | None = None
    app_rate: Rate | None = None
    on_off: OnOff | None = None
    jitter: Annotated[list[AnyJitter], BeforeValidator(as_list)] = []
    ack_jitter: Annotated[list[AnyJitter], BeforeValidator(as_list)] = []
    loss: Annotated[list[AnyLoss], BeforeValidator(as_list)] = []
    ack_loss: Annotated[list[AnyLoss], BeforeValidator(as_list)] = []
    policer: Policer | None = None
    access: Access | None = None
    delayed_ack: Annotated[DelayedAck, BeforeValidator(_delayed_ack)] = DelayedAck(every=1)
    sack: bool = True
    ecn: bool = False
    gso: int = Field(default=1, ge=1, le=1_000)
    initial_cwnd: FiniteSize = "10pkts"
    rwnd: FiniteSize | None = None
    min_rto: PositiveTime = "200ms"
    oracle_rtprop: bool = False

    @model_validator(mode="after")
    def _one_source(self) -> Flow:
        given = [name for name in ("bytes", "app_rate", "on_off") if getattr(self, name) is not None]
        if len(given) > 1:
            raise invalid("{noun} has more than one source: `" + "`, `".join(given) + "`", hint="keep one of them")
        last_start = self.last_start_ns()
        if self.stop is not None and _core.parse_time(self.stop) <= last_start:
            hint = f"it starts at {_core.format_time(last_start)}"
            raise invalid("flow stops before it starts", self.stop, hint)
        return self

    def last_start_ns(self) -> int:
        """Return the start time of the last of the `count` flows, ns."""
        return _core.parse_time(self.start) + (self.count - 1) * _core.parse_time(self.stagger)


class Host(Table):
    """The hosts of QUIC flows. A host runs its QUIC stack at intervals of `wake`; if `wake` is zero, at each arrival
    and timeout. `crypto` is how quinn and noq encrypt packets.
    """

    wake: Time = "0s"
    crypto: Literal["null", "tls"] = "null"


class Scenario(BaseModel):
    """A scenario that was validated.

    The attributes are the keys of the file. :meth:`load`, :meth:`from_toml`, :meth:`from_dict` and
    :func:`fairweir.scenario.dumbbell.dumbbell` create a scenario and raise a :class:`ConfigError` if it is invalid; the
    constructor raises pydantic's error instead. Scenarios are immutable; :meth:`override` returns a changed copy.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    name: str = "scenario"
    description: str = ""
    duration: PositiveTime = Field(examples=['"60s"'])
    warmup: Time = "0s"
    seed: int = Field(default=1, ge=0, lt=1 << 63)
    packet: PacketSize = "1500B"
    ack: PacketSize = "52B"
    noise: Annotated[str, BeforeValidator(_noise)] = HOST
    transport: Annotated[str | list[str], BeforeValidator(_transport)] = LINUX
    link: dict[str, Link] = Field(min_length=1)
    flow: list[Flow] = Field(min_length=1)
    host: Host | None = None
    sweep: dict[str, Any] = {}

    _source: str | None = PrivateAttr(default=None)
    _base: Path | None = PrivateAttr(default=None)

    @property
    def source(self) -> str | None:
        """The path of the scenario's file, for error messages."""
        return self._source

    @property
    def base(self) -> Path | None:
        """The folder to which file names in the scenario are relative."""
        return self._base

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a scenario from a TOML file, or a shipped scenario by its name (``fairweir list scenarios``).

        Raises
        ------
        ConfigError : the file cannot be read, is not TOML, or is not a scenario
        """
        path = shipped.find("scenarios", path)
        return cls.from_dict(read_scenario(path), source=str(path), base=path.parent, name=path.stem)

    @classmethod
    def from_toml(cls, text: str, *, source: str | None = None, base: Path | None = None) -> Self:
        """Read a scenario from TOML text. `source` names the text in errors; file names are relative to the folder
        `base`.

        Raises
        ------
        ConfigError : the text is not TOML or not a scenario
        """
        return cls.from_dict(parse_document(text, source), source=source, base=base)

    @classmethod
    def from_dict(
        cls,
        document: Mapping[str, Any],
        *,
        source: str | None = None,
        base: Path | None = None,
        name: str | None = None,
    ) -> Self:
        """Create a scenario from a parsed TOML document.

        Parameters
        ----------
        document : dict; quantities are strings with units, as in the file
        source : str, name of the document in errors
        base : Path of the folder to which file names are relative
        name : str, the scenario's name if the document has none

        Raises
        ------
        ConfigError : the document is not a scenario; all errors found are reported
        """
        if name is not None:
            document = {"name": name, **document}
        flows = document.get("flow")
        if isinstance(flows, Sequence) and len(flows) > MAX_FLOWS:
            reason = f"more than {MAX_FLOWS} flows: `{len(flows)}` tables"
            raise ConfigError(
                reason, source=source, key="flow", hint="write several flows of one kind as one table: count = 2"
            )
        try:
            scenario = cls.model_validate(document)
        except ValidationError as error:
            raise explain(error, cls, document, source) from None
        scenario._source, scenario._base = source, base
        return scenario

    @classmethod
    def of(cls, given: object) -> Scenario:
        """Return the scenario that `given` means: a Scenario, a path, the name of a shipped scenario, or a document.

        Raises
        ------
        ConfigError : as :meth:`load` and :meth:`from_dict`, or the argument has another type
        """
        if isinstance(given, Scenario):
            return given
        if isinstance(given, (str, Path)):
            return cls.load(given)
        if isinstance(given, Mapping):
            return cls.from_dict(given)
        hint = "pass a Scenario (such as `dumbbell(...)` returns), a file's path, or a dict"
        raise ConfigError(f"scenario cannot be `{show(given)}`", hint=hint)

    def to_dict(self, *, compact: bool = False) -> dict[str, Any]:
        """Return the scenario as a document that :meth:`from_dict` accepts; with `compact`, default values are
        omitted.
        """
        document = self.model_dump(exclude_none=True, exclude_unset=compact, exclude_defaults=compact)
        for table in document["flow"]:
            for key in ("jitter", "ack_jitter", "loss", "ack_loss"):
                if len(table.get(key, ())) == 1:
                    table[key] = table[key][0]
        if not document.get("sweep"):
            document.pop("sweep", None)
        return {"name": self.name, **document}

    def to_toml(self) -> str:
        """Return the scenario as TOML text. Names of other files become absolute, so that the text is valid in any
        folder. Default values are omitted, except those that describe simulated hosts, on which every result depends.
        """
        document = self.to_dict(compact=True)
        tables = {key: document.pop(key) for key in list(document) if isinstance(document[key], (dict, list))}
        document |= {"noise": self.noise, "transport": self.transport, **tables}
        if self._base is not None:
            for link in document["link"].values():
                if "trace" in link:
                    link["trace"] = str((self._base / link["trace"]).resolve())
        return dump_document(document)

    def _repr_html_(self) -> str:
        """Return the description and the TOML text, for a notebook."""
        title = (
            f"<p><strong>{escape(self.name)}</strong>{': ' if self.description else ''}{escape(self.description)}</p>"
        )
        return f'{title}<pre style="max-height: 30em; overflow: auto">{escape(self.to_toml())}</pre>'

    def override(self, settings: Mapping[str, Any]) -> Self:
        """Return a copy with other values at dotted keys, such as ``{"flow.0.cca": "bbr"}``; ``*`` stands for all
        entries.

        Raises
        ------
        ConfigError : a key does not exist, or a value is invalid
        """
        document = apply(self.to_dict(compact=True), settings)
        return type(self).from_dict(document, source=self._source, base=self._base)

    def resolve(self) -> dict[str, Any]:
        """Return the scenario as the simulator's ``fairweir_scenario::Config``: a dict for JSON in base units (ns,
        bytes, bytes/s).

        Raises
        ------
        ConfigError : a trace cannot be read, or delays on a path exceed a flow's rtprop
        """
        return resolve(self)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        duration, warmup = _core.parse_time(self.duration), _core.parse_time(self.warmup)
        if warmup >= duration:
            hint = f"nothing would be measured: make it shorter than the duration, {self.duration}"
            raise invalid("warmup is not shorter than the duration", self.warmup, hint, key="warmup")
        links = list(self.link)
        for i, flow in enumerate(self.flow):
            self._check_path(f"flow.{i}.path", flow.path, links)
            self._check_path(f"flow.{i}.ack_path", flow.ack_path, links)
            last_start = flow.last_start_ns()
            if last_start >= duration:
                at = _core.format_time(last_start)
                key = f"flow.{i}.start" if flow.count == 1 or flow.stagger == "0s" else f"flow.{i}.stagger"
                hint = f"start it before the end, {self.duration}, or make the duration longer"
                raise invalid("flow never starts: it would at", at, hint, key=key)
        if sum(flow.count for flow in self.flow) > MAX_FLOWS:
            raise invalid(f"more than {MAX_FLOWS} flows", hint="use smaller counts", key="flow")
        ids = [flow_id for flow in flow_ids(self.flow) for flow_id in flow]
        twice = next((flow_id for flow_id in ids if ids.count(flow_id) > 1), None) if len(set(ids)) < len(ids) else None
        if twice is not None:
            raise invalid("two flows have one id", twice, "give each its own, or leave them out", key="flow")
        return self

    @staticmethod
    def _check_path(key: str, path: list[str] | None, links: list[str]) -> None:
        if path is None:
            if len(links) > 1:
                raise invalid(
                    "flow path is missing", hint=f'with several links write path = ["{links[0]}", ...]', key=key
                )
            return
        if not path and key.endswith(".path"):
            raise invalid("flow path is empty", hint=f'write path = ["{links[0]}"]', key=key)
        for name in path:
            if name not in links:
                raise invalid("no link", name, f"links are {', '.join(links)}", key=key)
            if path.count(name) > 1:
                raise invalid("flow path passes a link twice", name, "name each link once", key=key)


def read_scenario(path: Path) -> dict[str, Any]:
    """Read a scenario's file, and return the parsed document without validating it.

    Raises
    ------
    ConfigError : the file cannot be read or is not TOML
    """
    audit = f"a scenario is a TOML file; for a verdict on a controller: fairweir audit {path}"
    return read_document(path, hint=audit if str(path) in algorithms() else None)
