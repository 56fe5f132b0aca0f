"""Comparisons of quantities at sample points: ``bq@end <= bq@0 - 1/2``, ``69/100 <= C_L@end <= 301/100``.

Both claims (``verify --property``) and assumptions (``--given``) use this syntax. After ``@`` comes the sample point: 0
.. T - 1, or ``end``. ``rate.1@end`` is the second flow's rate; without an index, ``rate@end`` refers to every flow.

Symbols: C, link rate; R, round-trip propagation delay; D, maximum jitter; T, number of sample points. Units are such
that C = R = 1: data in C R, rates in C, times in R. The mappings `PATH`, `FLOW` and `FIXED` define the quantities. A
flow's beliefs, such as C_L, are also quantities: bounds on the network that the flow infers from what it observes.

A trace is the value of each quantity at each point. A system is the variables and constraints of a question to a
solver. A comparison is encoded for solvers, and evaluated in exact fractions on a trace. It is also evaluated on a
packet run (a replay of the trace in the simulator) if the run determines all quantities of the comparison.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Protocol

from fairweir.documents.suggestions import did_you_mean
from fairweir.errors import ConfigError
from fairweir.formal.claims.measure import Curves
from fairweir.formal.encoding.trace import Trace

if TYPE_CHECKING:
    import z3

    from fairweir.formal.encoding.system import System

#: The name of the last sample point.
END: Final = "end"
#: Quantities of the whole path, with their meaning.
PATH: Final[Mapping[str, str]] = {
    "queue": "A - L - S: all bytes that wait, C R",
    "bq": "A - L - TA: bytes that wait for the link's capacity, C R; also `bottleneck-queue`",
    "A": "bytes sent, C R; S(0) is the origin",
    "S": "bytes served, C R",
    "L": "bytes lost, C R",
}
#: Quantities of each flow, with their meaning. A flow's beliefs and the state of its algorithm are also quantities.
FLOW: Final[Mapping[str, str]] = {
    "inflight": "A - Ld - S: bytes neither acknowledged nor known to be lost, C R",
    "rate": "sending rate, C",
    "cwnd": "window, C R",
    "qdel_L": "minimum queueing delay that the flow can infer: the delay seen, of T steps at most, less D; R",
}
#: Parameters of the path, which are constant.
FIXED: Final[Mapping[str, str]] = {"alpha": "MSS, C R", "beta": "buffer, C R; none if infinite"}
_SIGNS: Final = ("<=", ">=", "<", ">", "=")
_TOKEN = re.compile(
    r"\s*(?:(?P<sign><=|>=|==|<|>|=)|(?P<op>[-+*])|(?P<number>\d+(?:\.\d+)?(?:/\d+)?)"
    r"|(?P<name>bottleneck-queue|[A-Za-z]\w*)(?:\.(?P<flow>\d+))?(?:@(?P<point>\w+))?)",
    re.ASCII,
)
_HINT: Final = "write it like `bq@end <= bq@0 - 1/2` or `69/100 <= C_L@end <= 3`; C = R = 1"
#: Maximum length of a comparison, in characters.
_LONGEST: Final = 2000


@dataclass(frozen=True)
class At:
    """A quantity at a sample point.

    Attributes
    ----------
    flow : int, index of the flow; None for a quantity of the path, or for every flow
    point : int or `END`, the sample point; None for a parameter of the path
    """

    name: str
    flow: int | None
    point: int | str | None

    def __str__(self) -> str:
        """Return the quantity in the syntax of the command line."""
        flow = "" if self.flow is None else f".{self.flow}"
        return f"{self.name}{flow}" if self.point is None else f"{self.name}{flow}@{self.point}"


@dataclass(frozen=True)
class Side:
    """One side of a comparison: a constant plus a sum of quantities, each times a factor."""

    constant: Fraction
    terms: tuple[tuple[Fraction, At], ...]

    def __str__(self) -> str:
        """Return the sum in the syntax of the command line."""
        parts: list[str] = []
        for factor, at in self.terms:
            size = "" if abs(factor) == 1 else f"{abs(factor)} "
            sign = "-" if factor < 0 else "+"
            parts.append(f"{sign} {size}{at}" if parts else f"{'-' if factor < 0 else ''}{size}{at}")
        if self.constant or not parts:
            sign = "-" if self.constant < 0 else "+"
            parts.append(f"{sign} {abs(self.constant)}" if parts else str(self.constant))
        return " ".join(parts)


class Complain(Protocol):
    """A function that creates the error for an invalid comparison."""

    def __call__(self, what: str, hint: str = ...) -> ConfigError:
        """Return the error that says `what` is wrong."""


def _holds(left: Fraction, sign: str, right: Fraction) -> bool:
    return {"<=": left <= right, ">=": left >= right, "<": left < right, ">": left > right, "=": left == right}[sign]


@dataclass(frozen=True)
class Comparison:
    """``SIDE SIGN SIDE [SIGN SIDE ...]``: each side is compared with the next side.

    Attributes
    ----------
    source : str, the text that was parsed
    key : str, the command-line option that contained the text
    """

    sides: tuple[Side, ...]
    signs: tuple[str, ...]
    source: str = ""
    key: str = "--property"

    @property
    def text(self) -> str:
        """The comparison in the syntax of the command line, in normal form."""
        rest = (f" {sign} {side}" for sign, side in zip(self.signs, self.sides[1:], strict=True))
        return str(self.sides[0]) + "".join(rest)

    def remarks(self, system: System) -> str:
        """Return what a reader of the comparison must know, as text that starts with a comma; empty if there is
        nothing.

        The remarks: the comparison applies to every flow; the largest value of qdel_L stands for all larger values.
        """
        words = ["of every flow"] if len(self._flows(len(system.flows))) > 1 else []
        if any(at.name == "qdel_L" for at in self.quantities):
            longest = (system.grid.points - system.grid.d_steps) * system.grid.step
            words.append(f"a qdel_L of {longest} stands for all from there on")
        return "".join(f", {word}" for word in words)

    @property
    def quantities(self) -> list[At]:
        """The quantities that the comparison reads, each once, in the order of the text."""
        return list(dict.fromkeys(at for side in self.sides for _, at in side.terms))

    def over(self, system: System, *, is_assumed: bool = False) -> list[z3.BoolRef]:
        """Return the comparison as conditions for solvers, for every flow to which it refers.

        A trace does not distinguish delays of T steps or more. A claim must hold for every such delay; an assumption
        holds if it is true for at least one such delay.

        Parameters
        ----------
        system : System
        is_assumed : bool, whether the comparison is an assumption, not a claim

        Raises
        ------
        ConfigError : the system lacks a quantity, flow or point that the comparison reads
        """
        import z3

        def term(factor: Fraction, at: At, flow: int) -> z3.ArithRef:
            value = self._encoded(system, at, flow)
            return value if factor == 1 else z3.Q(*factor.as_integer_ratio()) * value

        def side(one: Side, flow: int) -> z3.ArithRef:
            constant = [z3.Q(*one.constant.as_integer_ratio())] if one.constant or not one.terms else []
            return z3.Sum([*(term(factor, at, flow) for factor, at in one.terms), *constant])

        formulas = []
        for flow in self._flows(len(system.flows)):
            values = [side(one, flow) for one in self.sides]
            for i, (sign, (left, right)) in enumerate(zip(self.signs, pairwise(values), strict=True)):
                formula = {"<=": left <= right, ">=": left >= right, "<": left < right, ">": left > right}.get(
                    sign, left == right
                )
                delays = self._delays(i, len(system.flows), flow, system.grid.last, helps=is_assumed)
                endless = [system.flows[index].delay[t][-1] for index, t in delays]
                if endless:
                    formula = z3.Or(formula, *endless) if is_assumed else z3.And(formula, z3.Not(z3.Or(*endless)))
                formulas.append(formula)
        return formulas

    def _delays(self, i: int, count: int, flow: int, last: int, *, helps: bool) -> list[tuple[int, int]]:
        """Return the delays that make the comparison at sign number `i` false (or true, if `helps`) by becoming longer.

        A delay is given as the index of the flow and the sample point.
        """
        rises: dict[tuple[int, int], Fraction] = {}
        for side, way in ((self.sides[i], 1), (self.sides[i + 1], -1)):
            for factor, at in side.terms:
                if at.name == "qdel_L":
                    key = (self._index(at, flow, count), self._point(at, last))
                    rises[key] = rises.get(key, Fraction(0)) + way * factor
        bad = {"<": 1, ">": -1}.get(self.signs[i][0], 0) * (-1 if helps else 1)
        return [key for key, rise in rises.items() if rise * bad > 0 or (rise and not bad)]

    def values(self, seen: Trace | Curves) -> dict[str, Fraction] | None:
        """Return the values of the quantities, by name; None if a packet run does not determine one of them."""
        found: dict[str, Fraction] = {}
        for flow in self._flows(_count(seen)):
            for at in self.quantities:
                value = _observed(seen, at, flow)
                if value is None:
                    return None
                name = at if at.flow is not None or at.name not in self._per_flow else At(at.name, flow, at.point)
                found[str(name if _count(seen) > 1 else at)] = value
        return found

    def holds(self, seen: Trace | Curves, *, is_assumed: bool = False) -> bool | None:
        """Return whether the comparison is true; None if a packet run does not determine one of its quantities.

        Delays of T steps or more are treated as in :meth:`over`.

        Parameters
        ----------
        seen : Trace, or the Curves of a packet run
        is_assumed : bool, whether the comparison is an assumption, not a claim
        """
        for flow in self._flows(_count(seen)):
            values: list[Fraction] = []
            for side in self.sides:
                total = side.constant
                for factor, at in side.terms:
                    value = _observed(seen, at, flow)
                    if value is None:
                        return None
                    total += factor * value
                values.append(total)
            for i, pair in enumerate(_compared(values, self.signs)):
                delays = self._delays(i, _count(seen), flow, seen.grid.last, helps=is_assumed)
                is_endless = isinstance(seen, Trace) and any(
                    seen.flows[index].delay[t] >= seen.grid.points for index, t in delays
                )
                if not (_holds(*pair) or is_endless if is_assumed else _holds(*pair) and not is_endless):
                    return False
        return True

    def weaker(self, margin: Fraction) -> Comparison | None:
        """Return the comparison with each bound relaxed by the fraction `margin`; None if no bound can be relaxed."""
        sides, moved, last = list(self.sides), False, len(self.sides) - 1
        for i, sign in enumerate(self.signs):
            left, right = self.sides[i], self.sides[i + 1]
            # The bound is the side without quantities. If both sides have quantities, the bound is the constant of the
            # right side.
            j = i + 1 if not right.terms or (last == 1 and left.terms) else i
            size = margin * abs(right.constant - left.constant if last == 1 else sides[j].constant)
            if sign == "=" or not size or j not in (0, last) or (last > 1 and sides[j].terms):
                continue
            up = (sign[0] == "<") == (j == i + 1)
            sides[j] = Side(sides[j].constant + (size if up else -size), sides[j].terms)
            moved = True
        return replace(self, sides=tuple(sides)) if moved else None

    @property
    def _per_flow(self) -> set[str]:
        return {at.name for at in self.quantities if at.name not in PATH and at.name not in FIXED}

    def _flows(self, count: int) -> range:
        """Return the indices of the flows for which the comparison is evaluated.

        Returns
        -------
        range : all flows, if a quantity of a flow is written without an index; otherwise one index, for one evaluation
        """
        meant = any(at.flow is None and at.name in self._per_flow for at in self.quantities)
        return range(count if meant else 1)

    def _encoded(self, system: System, at: At, flow: int) -> z3.ArithRef:
        index = self._index(at, flow, len(system.flows))
        if at.name in FIXED:
            fixed = getattr(system, at.name)
            if fixed is None:
                raise self._unknown(at, system, index)
            return fixed
        t, own = self._point(at, system.grid.last), system.flows[index]
        if at.name in own.beliefs:
            return own.beliefs[at.name][t]
        curves: dict[str, Callable[[], z3.ArithRef]] = {
            "queue": lambda: system.queue(t),
            "bq": lambda: system.bottleneck_queue(t),
            "inflight": lambda: own.inflight(t),
            "qdel_L": lambda: _min_delay(system, index, t),
        }
        curves |= {name: lambda: getattr(system if at.flow is None else own, at.name)[t] for name in ("A", "S", "L")}
        curves |= {name: lambda: getattr(own, at.name)[t] for name in ("rate", "cwnd") if getattr(own, name)}
        if at.name not in curves:
            raise self._unknown(at, system, index)
        return curves[at.name]()

    def _unknown(self, at: At, system: System, index: int) -> ConfigError:
        own = system.flows[index]
        chosen = [name for name in ("rate", "cwnd") if getattr(own, name)]
        fixed = [name for name in FIXED if getattr(system, name) is not None]
        known = [*PATH, "inflight", "qdel_L", *chosen, *fixed, *own.beliefs]
        return ConfigError(
            f"nothing is called `{at.name}` in a trace of this model, buffer and CCA: `{self.source}`",
            key=self.key,
            hint=did_you_mean(at.name, known),
        )

    def _point(self, at: At, last: int) -> int:
        t = last if at.point == END else at.point
        if not isinstance(t, int) or t > last:
            raise ConfigError(
                f"no such sample point, `{at}`: `{self.source}`",
                key=self.key,
                hint=f"the trace has points 0 .. {last}; `end` is {last}",
            )
        return t

    def _index(self, at: At, flow: int, count: int) -> int:
        index = flow if at.flow is None else at.flow
        if index >= count:
            raise ConfigError(
                f"no such flow, `{at}`: `{self.source}`",
                key=self.key,
                hint=f"there are flows 0 .. {count - 1}; see --flows",
            )
        return index


def _min_delay(system: System, index: int, t: int) -> z3.ArithRef:
    from fairweir.formal.beliefs import delay

    return delay.least(system, index)[t]


def _compared(values: Sequence[Fraction], signs: Sequence[str]) -> Iterator[tuple[Fraction, str, Fraction]]:
    for sign, (left, right) in zip(signs, pairwise(values), strict=True):
        yield left, sign, right


def _count(seen: Trace | Curves) -> int:
    return len(seen.flows) if isinstance(seen, Trace) else len(seen.served)


def _observed(seen: Trace | Curves, at: At, flow: int) -> Fraction | None:
    """Return the value of a quantity in a trace or in a packet run; None if the run does not determine the value."""
    if at.name == "alpha":
        return seen.alpha
    t = seen.grid.last if at.point == END or at.point is None else int(at.point)
    if isinstance(seen, Trace):
        return _in_trace(seen, at, t, flow if at.flow is None else at.flow)
    if at.flow is not None:
        return None
    match at.name:
        case "queue":
            return seen.waiting(t)
        case "bq":
            return seen.A[t] - seen.L[t] - seen.TA[t]
        case "inflight" if len(seen.served) == 1:
            return seen.A[t] - seen.Ld[t] - seen.S[t]
    return None


def _in_trace(trace: Trace, at: At, t: int, index: int) -> Fraction | None:
    own = trace.flows[index]
    match at.name:
        case "beta":
            return trace.beta
        case "queue":
            return trace.accepted(t) - trace.S[t]
        case "bq":
            return trace.bottleneck_queue(t)
        case "A" | "S" | "L":
            column: tuple[Fraction, ...] = getattr(trace if at.flow is None else own, at.name)
            return column[t]
        case "inflight":
            return own.inflight(t)
        case "rate" | "cwnd":
            column = getattr(own, at.name)
            return column[t]
        case "qdel_L":
            return max(0, own.delay[t] - trace.grid.d_steps) * trace.grid.step
    return own.beliefs[at.name][t]


def parse_comparison(text: str, key: str = "--property", default_point: int | None = None) -> Comparison:
    """Parse a comparison. `_HINT` has examples.

    Parameters
    ----------
    text : str, the comparison
    key : str, the command-line option that contains the text, for error messages
    default_point : the sample point of a quantity that is written without ``@``; None: ``@`` is required

    Raises
    ------
    ConfigError : the text is not a comparison
    """
    sides: list[list[re.Match[str]]] = [[]]
    signs: list[str] = []
    at = 0
    while text[at:].strip():
        found = _TOKEN.match(text, at)
        if found is None or len(text) > _LONGEST:
            raise ConfigError(f"cannot be read at `{text[at:].strip()[:40]}`: `{text[:80]}`", key=key, hint=_HINT)
        at = found.end()
        if found["sign"]:
            signs.append("=" if found["sign"] == "==" else found["sign"])
            sides.append([])
        else:
            sides[-1].append(found)
    if not signs:
        hint = _HINT if default_point is None else "write it like `C_L>=69/100` or `queue@1<=4`; C = R = 1"
        raise ConfigError(f"no comparison in: `{text}`", key=key, hint=hint)
    return Comparison(tuple(_side(side, text, key, default_point) for side in sides), tuple(signs), text, key)


def _side(tokens: Sequence[re.Match[str]], text: str, key: str, default_point: int | None) -> Side:
    def wrong(what: str, hint: str = _HINT) -> ConfigError:
        return ConfigError(f"{what}: `{text}`", key=key, hint=hint)

    constant, terms = Fraction(0), list[tuple[Fraction, At]]()
    at = 0
    while at < len(tokens) or not (terms or constant or at):
        sign = 1
        if at < len(tokens) and tokens[at]["op"] in ("+", "-"):
            sign = -1 if tokens[at]["op"] == "-" else 1
            at += 1
        elif at:
            raise wrong(f"a sign is missing before `{tokens[at].group().strip()}`")
        if at == len(tokens) or tokens[at]["op"]:
            raise wrong("a side lacks a term")
        factor, is_number = Fraction(sign), False
        if tokens[at]["number"]:
            factor, is_number = sign * _number(tokens[at]["number"], wrong), True
            at += 1
            if at < len(tokens) and tokens[at]["op"] == "*":
                at += 1
                if at == len(tokens) or not tokens[at]["name"]:
                    raise wrong("nothing to multiply after `*`")
        if at < len(tokens) and tokens[at]["name"]:
            terms.append((factor, _at(tokens[at], wrong, default_point)))
            at += 1
        elif is_number:
            constant += factor
    return Side(constant, tuple(terms))


def _number(word: str, wrong: Complain) -> Fraction:
    try:
        return Fraction(word)
    except (ValueError, ZeroDivisionError):
        raise wrong(f"not a number, `{word}`", "write 4.4 or 22/5") from None


def _at(token: re.Match[str], wrong: Complain, default_point: int | None) -> At:
    name = "bq" if token["name"] == "bottleneck-queue" else token["name"]
    flow = None if token["flow"] is None else int(token["flow"])
    if flow is not None and name in {*FIXED, "queue", "bq"}:
        raise wrong(f"`{name}` is the path's, not a flow's", f"write `{name}` without `.{flow}`")
    if name in FIXED:
        return At(name, None, None)
    point: int | str | None = default_point
    if token["point"] is not None:
        if token["point"] != END and not token["point"].isdigit():
            raise wrong(f"no such point, `@{token['point']}`", "write @0, @1, ... or @end")
        point = END if token["point"] == END else int(token["point"])
    if point is None:
        raise wrong(f"`{name}` at which point?", f"write `{name}@end`, or `{name}@0` for the first point")
    return At(name, flow, point)
