"""Read controller files, so that properties of the controllers can be proved.

A controller chooses, in each step (a fixed interval of time), which encoded batches of video to send and at which rate.
It knows a belief set: all pairs of link rate C (packets per step) and buffer B that are consistent with its
observations, with a queue q for each pair. A controller file has a decision tree, whose nodes compare features of the
belief set with thresholds and whose leaves are actions, and a shield: rules that are applied to the action of a leaf. A
form is a linear form, such as ``3 M - Q``.

``crates/game`` reads and runs the same files. This reader rejects all files that ``crates/game`` rejects. It also
rejects comparisons of constants, numbers above :data:`MAX_NUMBER` and rates below :data:`MIN_RATE`, because the proofs
do not cover the program's rounding errors for them. Numbers are converted to fractions that equal the file's
floating-point numbers exactly, so that a proof is about the thresholds that the program uses.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar

from fairweir.documents.suggestions import did_you_mean
from fairweir.errors import ConfigError
from fairweir.units import Duration

FORMAT: Final = "fairweir-tree-1"
#: Variables of the forms in leaves: M, the smallest C of the belief set; Q, its largest q; R0, its safe rate; and one
#: packet.
FORM_NAMES: Final = ("M", "Q", "R0", "packet")
#: Name of a feature -> its meaning. Amounts of data are in units of M, the smallest C of the belief set.
FEATURES: Final[Mapping[str, str]] = {
    "converged": "1 while max C is held below the model's cap, else 0",
    "q": "Q: max queue at the next point",
    "r0": "R0: the maximum rate at which no link of the belief set loses data",
    "max_c": "max C",
    "c_plus_b": "min of C + B",
    "waiting": "number of encoded batches that wait, 0 to 4",
    "newest": "size of the newest waiting batch",
    "oldest": "size of the oldest waiting batch",
    "sum": "size of all waiting batches",
    "encoding": "target size of the batch that is being encoded",
    "in_flight": "data sent, neither delivered nor known to be lost",
    "last_rate": "data sent in the last step",
    "delivered_last": "data delivered in the last step",
    "oldest_age": "age of the oldest waiting batch in steps",
    "group_age": "maximum age of the FEC frames in flight in steps",
    "groups": "number of FEC frames in flight",
    "packet": "one packet",
    "spare_newest": "r0 - newest",
    "spare_sum": "r0 - sum",
    "room": "3 - q",
    "room_newest": "3 - q - newest",
    "room_sum": "3 - q - sum",
}
#: Number of observations that a controller stores. (The published artifact stores 7 samples, which are 6 steps.)
POINTS: Final = 6
#: Limits of the input: a tree has a few kB, and a coefficient is a small multiple of M.
MAX_BYTES: Final = 1 << 22
MAX_NODES: Final = 10_000
MAX_NUMBER: Final = 1e6
#: Minimum link rate, packets per step. Rounding errors of bounds are constant in packets, and proofs allow for them as
#: fractions of M.
MIN_RATE: Final = 1
_NEEDED: Final = ("format", "name", "kind", "query", "query_sha256", "version", "step", "points", "model", "nodes")
#: Key of a hash over the controller and its proofs, which shows whether the proofs belong to the controller.
PROOFS_HASH: Final = "proofs_sha256"
_KEYS: Final = frozenset({*_NEEDED, "encoder", "probe_period", "shield", "proofs", PROOFS_HASH})
#: Keys that do not change the actions of a controller; the hash excludes them.
_LABELS: Final = frozenset({"name", "version", PROOFS_HASH})
_CHANGED: Final = "the controller or its proofs were changed after it was proved"
_PROVE: Final = "prove it again (`fairweir verify FILE --write`), or remove `proofs`, so that the file makes no claims"
_COMPARISON: Final = re.compile(r"\s*(message|rate)\s*<=\s*(.+)", re.DOTALL)
_TERM: Final = re.compile(r"\s*([+-]?)\s*(?:(\d+(?:\.\d+)?)(?:\s*\*\s*|\s+))?([A-Za-z]\w*)\s*")

Form = Mapping[str, Fraction]
_T = TypeVar("_T")


class Kind(StrEnum):
    """The kinds of controllers: those for video, and those that decide only on a rate."""

    VIDEO = "video"
    RATE = "rate"


class Send(StrEnum):
    """The choices of a leaf: which of the encoded batches that wait are sent."""

    NONE = "none"
    NEWEST = "newest"
    OLDEST = "oldest"
    ALL = "all"
    EACH = "each"


class Instead(StrEnum):
    """The action that a guard, which is a rule of the shield, takes if its comparison is false."""

    HOLD = "hold"
    SKIP = "skip"
    NEWEST = "newest"
    OLDEST = "oldest"


@dataclass(frozen=True)
class LinkRange:
    """The range of link rates (`c`, packets per step) and of buffers (`b`, packets)."""

    c: tuple[Fraction, Fraction] = (Fraction(1), Fraction(200))
    b: tuple[Fraction, Fraction] = (Fraction(1), Fraction(200))


@dataclass(frozen=True)
class Leaf:
    """A leaf of the tree, which is an action: the batches to send, the sending rate, and the amount of data to encode.

    Attributes
    ----------
    send : Send
    rate, encode : forms over :data:`FORM_NAMES`; an empty form is 0
    name : str, description of the action
    """

    send: Send
    rate: Form
    encode: Form
    name: str = ""


@dataclass(frozen=True)
class Split:
    """An inner node of the tree: if the form `feature` is at most `at_most`, the next node is `then`, and otherwise
    `other`.
    """

    feature: Form
    at_most: Fraction
    then: int
    other: int


@dataclass(frozen=True)
class Guard:
    """A rule of the shield: unless ``subject <= at``, the action is replaced by `instead`."""

    subject: str
    at: Form
    instead: Instead


@dataclass(frozen=True)
class Cap:
    """A rule of the shield: the rate is limited to the form `at`; if the data to send do not fit, nothing is sent."""

    at: Form


@dataclass(frozen=True)
class Condition:
    """The result of a comparison on the path to a leaf: the form is at most the threshold (`is_within`), or above
    it.
    """

    feature: Form
    at_most: Fraction
    is_within: bool

    def __str__(self) -> str:
        """Return the condition as a formula."""
        return f"{form_text(self.feature)} {'<=' if self.is_within else '>'} {float(self.at_most):g}"


@dataclass(frozen=True)
class Controller:
    """The content of a controller file.

    Attributes
    ----------
    name : str
    kind : Kind
    links : LinkRange, the range of links for which the controller is designed
    points : int, number of observations that the controller stores
    nodes : nodes of the tree; the first node is the root
    shield : rules of the shield, in the order in which they are applied
    source : str, path of the file
    """

    name: str
    kind: Kind
    links: LinkRange
    points: int
    nodes: tuple[Split | Leaf, ...]
    shield: tuple[Guard | Cap, ...] = ()
    source: str = ""
    document: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def leaves(self) -> tuple[tuple[int, Leaf, tuple[Condition, ...]], ...]:
        """For each leaf: its index among the nodes, the action, and the conditions on the path from the root."""
        found: list[tuple[int, Leaf, tuple[Condition, ...]]] = []
        waiting: list[tuple[int, tuple[Condition, ...]]] = [(0, ())]
        while waiting:
            index, path = waiting.pop()
            node = self.nodes[index]
            if isinstance(node, Leaf):
                found.append((index, node, path))
                continue
            waiting.append((node.other, (*path, Condition(node.feature, node.at_most, is_within=False))))
            waiting.append((node.then, (*path, Condition(node.feature, node.at_most, is_within=True))))
        return tuple(found)

    @classmethod
    def load(cls, path: str | Path) -> Controller:
        """Read a controller file.

        Raises
        ------
        ConfigError : the file cannot be read, is not a controller, or has proofs of another controller
        """
        return cls.parse(read(path), str(path))

    @classmethod
    def parse(cls, text: str | bytes, source: str = "", *, is_to_prove: bool = False) -> Controller:
        """Read a controller from its JSON text.

        Parameters
        ----------
        is_to_prove : accept a file whose proofs belong to another controller, because the proofs will be replaced

        Raises
        ------
        ConfigError : the text is not a controller, or has proofs of another controller
        """
        found = _Reader(source).controller(parse_json(text, source))
        if not is_to_prove:
            require_own_proofs(found.document, source)
        return found


def with_proofs(document: Mapping[str, Any], proofs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the document with the given proofs, and with the hash that shows that they belong to the document."""
    proved = {**document, "proofs": proofs}
    return {**proved, PROOFS_HASH: _hash(proved)}


def has_own_proofs(document: Mapping[str, Any]) -> bool:
    """Return whether a document has no proofs, or proofs that belong to exactly this controller."""
    return not document.get("proofs") or document.get(PROOFS_HASH) == _hash(document)


def require_own_proofs(document: Any, source: str) -> None:
    """Raise a ConfigError if a document has proofs of another controller.

    Other errors in the document are not reported here, but when the document is read.
    """
    if isinstance(document, dict) and not has_own_proofs(document):
        shown = _shown(document.get(PROOFS_HASH, "missing"))
        raise ConfigError(f"unproved: {_CHANGED}: `{shown}`", source=source, key=PROOFS_HASH, hint=_PROVE)


def _hash(document: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the keys that define a controller. The order of keys and the spelling of numbers do not
    matter.
    """
    found = {key: _plain(value) for key, value in document.items() if key not in _LABELS}
    return hashlib.sha256(json.dumps(found, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _plain(value: Any) -> Any:
    """Return a value in which equal numbers, such as 1 and 1.0, have the same type."""
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return float(value) if type(value) is int and abs(value) <= MAX_NUMBER else value


def read(path: str | Path) -> bytes:
    """Return the bytes of a controller file.

    Raises
    ------
    ConfigError : the file cannot be read, or is larger than :data:`MAX_BYTES`
    """
    path = Path(path)
    try:
        if path.exists() and not path.is_file():
            raise ConfigError("not a file", source=str(path))
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"cannot be read: {(error.strerror or str(error)).lower()}", source=str(path)) from None
    if len(data) > MAX_BYTES:
        raise ConfigError(f"larger than {MAX_BYTES >> 20} MiB", source=str(path), hint="a controller has a few kB")
    return data


def parse_json(text: str | bytes, source: str) -> Any:
    """Parse JSON. Numbers must be finite, and an object must not contain a key twice.

    Raises
    ------
    ConfigError : the text is not JSON, contains a number that is not finite, or contains a key twice
    """

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                raise ConfigError(f"key is given twice: `{key}`", source=source)
            found[key] = value
        return found

    def constant(word: str) -> NoReturn:
        raise ConfigError(f"not a finite number: `{word}`", source=source)

    try:
        return json.loads(text, object_pairs_hook=once, parse_constant=constant)
    except ConfigError:
        raise
    except UnicodeDecodeError:
        raise ConfigError("not UTF-8", source=source) from None
    except RecursionError:
        raise ConfigError("nested too deeply", source=source) from None
    except ValueError as error:
        raise ConfigError(f"not JSON: {error}", source=source) from None


def form_text(form: Form) -> str:
    """Return a form as text, such as ``3 M - Q``; an empty form is 0."""
    text = ""
    for name, factor in form.items():
        size = "" if abs(factor) == 1 else f"{float(abs(factor)):g} "
        sign = ("-" if factor < 0 else "") if not text else (" - " if factor < 0 else " + ")
        text += f"{sign}{size}{name}"
    return text or "0"


class _Reader:
    """Validates a document. Each error contains the file, the key and the value."""

    def __init__(self, source: str) -> None:
        self.source = source

    def fail(self, message: str, key: str, hint: str | None = None) -> NoReturn:
        raise ConfigError(message, source=self.source, key=key, hint=hint)

    def table(self, value: Any, key: str, known: frozenset[str] | None = None) -> dict[str, Any]:
        if not isinstance(value, dict):
            self.fail(f"must be an object: `{_shown(value)}`", key)
        for name in value:
            if known is not None and name not in known:
                self.fail(f"unknown key: `{name}`", key, did_you_mean(name, sorted(known)))
        return value

    def number(self, value: Any, key: str) -> Fraction:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            self.fail(f"must be a number: `{_shown(value)}`", key)
        # The value is compared before it is converted, because an integer of a thousand digits does not fit into a
        # double.
        if not (isinstance(value, int) or math.isfinite(value)) or abs(value) > MAX_NUMBER:
            self.fail(f"must be a number between -{MAX_NUMBER:g} and {MAX_NUMBER:g}: `{_shown(value)}`", key)
        return Fraction(value)

    def word(self, value: Any, known: Callable[[str], _T], words: list[str], key: str) -> _T:
        if not isinstance(value, str) or value not in words:
            self.fail(f"unknown value: `{_shown(value)}`", key, did_you_mean(str(value), words))
        return known(value)

    def form(self, value: Any, key: str, known: tuple[str, ...]) -> Form:
        table = self.table(value, key)
        for name in table:
            if name not in known:
                self.fail(f"unknown name: `{name}`", key, did_you_mean(name, known))
        numbers = {name: self.number(factor, f"{key}.{name}") for name, factor in table.items()}
        return {name: factor for name, factor in numbers.items() if factor}

    def range(self, value: Any, key: str) -> tuple[Fraction, Fraction]:
        if not isinstance(value, list) or len(value) != 2:
            self.fail(f"must be a list of two numbers: `{_shown(value)}`", key)
        low, high = (self.number(end, key) for end in value)
        if not 0 < low <= high:
            self.fail(f"must be a range above 0: `{_shown(value)}`", key)
        return low, high

    def controller(self, raw: Any) -> Controller:
        table = self.table(raw, "", None)
        if table.get("format") != FORMAT:
            self.fail(f"unknown format: `{_shown(table.get('format'))}`", "format", f"a controller has `{FORMAT}`")
        self.table(raw, "", _KEYS)
        for name in _NEEDED:
            if name not in table:
                self.fail("missing", name)
        for name in ("name", "query", "query_sha256", "version"):
            if not isinstance(table[name], str):
                self.fail(f"must be a text: `{_shown(table[name])}`", name)
        kind = self.word(table["kind"], Kind, [*Kind], "kind")
        model = self.table(table["model"], "model", frozenset({"c", "b"}))
        ranges = [self.range(model.get(key), f"model.{key}") for key in ("c", "b")]
        if ranges[0][0] < MIN_RATE:
            self.fail(
                f"minimum below {MIN_RATE} packet per step: `{_shown(model['c'])}`",
                "model.c",
                "bounds in doubles have errors of a millionth of a packet, which proofs cover down to this rate",
            )
        self.step(table["step"])
        points = table["points"]
        if isinstance(points, bool) or not isinstance(points, int) or not 3 <= points <= POINTS:
            self.fail(f"must be 3 to {POINTS}: `{_shown(points)}`", "points")
        nodes = self.nodes(table["nodes"], kind)
        shield = tuple(self.rules(table.get("shield", []), kind))
        links = LinkRange(ranges[0], ranges[1])
        return Controller(table["name"], kind, links, points, nodes, shield, self.source, table)

    def step(self, value: Any) -> None:
        try:
            length = Duration.parse(value) if isinstance(value, str) else Duration.from_ns(0)
        except ConfigError as error:
            self.fail(error.message, "step", error.hint)
        if length.ns <= 0:
            self.fail(f"must be a positive time: `{_shown(value)}`", "step", 'write a time with its unit: "50ms"')

    def nodes(self, value: Any, kind: Kind) -> tuple[Split | Leaf, ...]:
        if not isinstance(value, list) or not value:
            self.fail("must be a list of nodes with at least one leaf", "nodes")
        if len(value) > MAX_NODES:
            self.fail(f"has {len(value)} nodes, more than {MAX_NODES}", "nodes")
        nodes = tuple(self.node(node, index, len(value), kind) for index, node in enumerate(value))
        parents = [0] * len(nodes)
        for node in nodes:
            if isinstance(node, Split):
                parents[node.then] += 1
                parents[node.other] += 1
        for index, count in enumerate(parents):
            if index and not count:
                self.fail(f"node {index} cannot be reached", f"nodes[{index}]")
            if count > 1:
                self.fail(f"node {index} has {count} parents", f"nodes[{index}]", "a tree has one path to each node")
        return nodes

    def node(self, value: Any, index: int, count: int, kind: Kind) -> Split | Leaf:
        key = f"nodes[{index}]"
        if "leaf" in self.table(value, key, frozenset({"feature", "at_most", "then", "else", "leaf"})):
            if len(value) > 1:
                self.fail(f"a leaf must not have `{min(set(value) - {'leaf'})}`", key)
            return self.leaf(value["leaf"], f"{key}.leaf", kind)
        for name in ("feature", "at_most", "then", "else"):
            if name not in value:
                self.fail("missing", f"{key}.{name}", "a node is a leaf or a comparison of a feature")
        feature = self.form(value["feature"], f"{key}.feature", tuple(FEATURES))
        if not feature:
            self.fail("compares a constant: its form has no term", f"{key}.feature")
        children = []
        for name in ("then", "else"):
            child = value[name]
            if isinstance(child, bool) or not isinstance(child, int) or not index < child < count:
                self.fail(
                    f"must be the index of a later node, {index + 1} to {count - 1}: `{_shown(child)}`",
                    f"{key}.{name}",
                    "children are listed after their parents, so that there is no cycle",
                )
            children.append(child)
        return Split(feature, self.number(value["at_most"], f"{key}.at_most"), children[0], children[1])

    def leaf(self, value: Any, key: str, kind: Kind) -> Leaf:
        table = self.table(value, key, frozenset({"send", "rate", "encode", "name"}))
        name = table.get("name", "")
        if not isinstance(name, str):
            self.fail(f"must be a text: `{_shown(name)}`", f"{key}.name")
        send = self.word(table.get("send", "none"), Send, [*Send], f"{key}.send")
        rate, encode = (self.form(table.get(one, {}), f"{key}.{one}", FORM_NAMES) for one in ("rate", "encode"))
        if kind is Kind.RATE and (send is not Send.NONE or encode):
            self.fail("a controller that decides only on a rate has no frames", key, "leave out `send` and `encode`")
        return Leaf(send, rate, encode, name)

    def rules(self, value: Any, kind: Kind) -> list[Guard | Cap]:
        if not isinstance(value, list) or len(value) > MAX_NODES:
            self.fail(f"must be a list of rules: `{_shown(value)}`", "shield")
        return [self.rule(one, f"shield[{i}]", kind) for i, one in enumerate(value)]

    def rule(self, value: Any, key: str, kind: Kind) -> Guard | Cap:
        table = self.table(value, key, frozenset({"unless", "do", "cap", "at"}))
        if set(table) == {"cap", "at"}:
            self.word(table["cap"], str, ["rate"], f"{key}.cap")
            return Cap(self.form(table["at"], f"{key}.at", FORM_NAMES))
        if set(table) != {"unless", "do"}:
            self.fail(
                f"is neither a guard nor a cap: `{', '.join(table)}`", key, "write `unless` and `do`, or `cap` and `at`"
            )
        found = _COMPARISON.fullmatch(table["unless"]) if isinstance(table["unless"], str) else None
        if found is None:
            self.fail(f"not a comparison: `{_shown(table['unless'])}`", f"{key}.unless", "write `message <= 3 M - Q`")
        at = self.form_of(found[2], f"{key}.unless")
        instead = self.word(table["do"], Instead, [*Instead], f"{key}.do")
        if kind is Kind.RATE and instead is not Instead.HOLD:
            self.fail(f"a controller without frames cannot `{instead}`", f"{key}.do", "it can `hold`")
        return Guard(found[1], at, instead)

    def form_of(self, text: str, key: str) -> Form:
        """Parse the text of a form, such as ``3 M - Q``."""
        sums: dict[str, Fraction] = {}
        at = 0
        while at < len(text):
            found = _TERM.match(text, at)
            if found is None or (at and not found[1]):
                self.fail(f"not a linear form: `{text}`", key, "write, for example, `3 M - Q`")
            if found[3] not in FORM_NAMES:
                self.fail(f"unknown name: `{found[3]}`", key, did_you_mean(found[3], FORM_NAMES))
            factor = self.number(float(found[2] or 1), key) * (-1 if found[1] == "-" else 1)
            sums[found[3]] = sums.get(found[3], Fraction(0)) + factor
            at = found.end()
        return {name: factor for name, factor in sums.items() if factor}


def _shown(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
