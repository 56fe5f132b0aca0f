"""Claims about every trace, and assumptions; :mod:`fairweir.formal.claims.syntax` parses them.

A claim can be encoded for solvers, and evaluated by definition on a trace. It can also be evaluated on a packet run, if
the run determines all quantities that the claim reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final, Protocol

from fairweir.errors import ConfigError
from fairweir.formal.beliefs.choices import Start
from fairweir.formal.beliefs.families import FAMILIES
from fairweir.formal.claims.comparisons import Comparison
from fairweir.formal.claims.measure import MEASURES, Curves
from fairweir.formal.encoding.demands import Demands, LargeLoss
from fairweir.formal.encoding.properties import PROPERTIES
from fairweir.formal.encoding.trace import Trace
from fairweir.formal.exact.invariant import keeps

if TYPE_CHECKING:
    import z3

    from fairweir.formal.encoding.system import System

KEY: Final = "--property"
#: The property that synthesis requires of candidates (:mod:`fairweir.formal.encoding.invariant`).
INVARIANT: Final = "invariant"
INVARIANT_MEANING: Final = (
    "what synthesis asks of candidates: at the end the beliefs admit the network, and they shrank, or the bounds on "
    "utilization, queue and losses hold, or what breaks one of them moves the right way; may be given other demands"
)


class Claim(Protocol):
    """A claim about every trace."""

    @property
    def text(self) -> str:
        """The claim in its input syntax."""

    @property
    def unit(self) -> str:
        """The unit of the number that :meth:`value` returns."""

    def statement(self, system: System) -> str:
        """Return the claim as an inequality, with its numbers."""

    def over(self, system: System) -> z3.BoolRef:
        """Return the claim as a formula.

        Raises
        ------
        ConfigError : the claim is undefined for the system
        """

    def value(self, seen: Trace | Curves) -> Fraction | None:
        """Return the number that the claim bounds, by definition; None if the claim bounds several numbers or none."""

    def shown(self, seen: Trace | Curves) -> Mapping[str, Fraction]:
        """Return the numbers that the claim reads at sample points, by name."""

    def holds(self, seen: Trace | Curves) -> bool | None:
        """Return whether the claim holds, by definition; None if packets do not determine all its quantities."""

    def weaker(self, margin: Fraction) -> Claim | None:
        """Return the claim with its bounds relaxed by a fraction; None if it has no bound that can be relaxed."""


def _curves(seen: Trace | Curves) -> Curves:
    return Curves.of(seen) if isinstance(seen, Trace) else seen


@dataclass(frozen=True)
class Bound:
    """A property with its bound.

    Attributes
    ----------
    name : str, a name in `PROPERTIES`
    bound : Fraction, in the property's unit
    """

    name: str
    bound: Fraction

    @property
    def text(self) -> str:
        """The claim in its input syntax."""
        return f"{self.name} {'>=' if PROPERTIES[self.name].is_at_least else '<='} {self.bound} {self.unit}".strip()

    @property
    def unit(self) -> str:
        """The bound's unit."""
        return PROPERTIES[self.name].constant.unit

    def statement(self, system: System) -> str:
        """Return the whole inequality."""
        return PROPERTIES[self.name].statement(system.grid, self.bound)

    def over(self, system: System) -> z3.BoolRef:
        """Return the claim as a formula."""
        return PROPERTIES[self.name].claim(system, self.bound)

    def value(self, seen: Trace | Curves) -> Fraction | None:
        """Return the number that the claim bounds; None for the undefined utilization of an empty interval."""
        if self.name == "utilization" and seen.grid.span <= seen.grid.jitter:
            return None
        return MEASURES[self.name](_curves(seen))

    def shown(self, seen: Trace | Curves) -> Mapping[str, Fraction]:
        """Return no numbers: a bound does not refer to single sample points."""
        return {}

    def holds(self, seen: Trace | Curves) -> bool | None:
        """Return whether the number satisfies the bound; the undefined utilization of an empty interval does."""
        value = self.value(seen)
        if value is None:
            return True
        return value >= self.bound if PROPERTIES[self.name].is_at_least else value <= self.bound

    def weaker(self, margin: Fraction) -> Bound | None:
        """Return the claim with its bound relaxed by a fraction; None for a bound of 0."""
        if not self.bound:
            return None
        return Bound(self.name, self.bound * (1 - margin if PROPERTIES[self.name].is_at_least else 1 + margin))


@dataclass(frozen=True)
class Invariant:
    """The synthesis invariant.

    Attributes
    ----------
    demands : its constants; `Demands.start` is replaced by the system's
    """

    demands: Demands = field(default_factory=Demands)

    @property
    def text(self) -> str:
        """The claim in its input syntax, without the demands that equal the published code's."""
        asked, usual = self.demands, Demands()
        words = {
            f"utilization>={asked.utilization}": asked.utilization != usual.utilization,
            f"queue<={asked.queue}": asked.queue != usual.queue,
            f"large-loss={asked.large_loss}": asked.large_loss != usual.large_loss,
            f"large-buffer={asked.large_buffer}": asked.large_buffer != usual.large_buffer,
            f"large-size={asked.large_size}": asked.large_size != usual.large_size,
        }
        reported = ", ".join(word for word, is_told in words.items() if is_told)
        return f"{INVARIANT}({reported})" if reported else INVARIANT

    @property
    def unit(self) -> str:
        """Empty: the invariant bounds no single number."""
        return ""

    def statement(self, system: System) -> str:
        """Return the parts of the invariant."""
        grid, asked = system.grid, self._of(system)
        names = [name for family in system.flows[0].attached for name in FAMILIES[family].names]
        bounds = {name: PROPERTIES[name].statement for name in ("utilization", "queue", "loss-amount", "loss-events")}
        trend = "rate, queue or bq" if system.network.has_jitter else "rate or queue"
        parts = [
            f"({bounds['utilization'](grid, asked.utilization)}, or {trend} rises)",
            f"({bounds['queue'](grid, asked.queue)}, or {trend} falls)",
        ]
        large = f"no step loses more than {asked.large(grid)} alpha"
        events = grid.span / 2 + 1
        if system.buffer.is_finite:
            parts += [
                f"({words}, or {trend} falls)"
                for words in (bounds["loss-events"](grid, events), large, bounds["loss-amount"](grid, events))
            ]
        text = (
            f"at t = {grid.last} {', '.join(names)} admit the network; and (beliefs shrink, or {' and '.join(parts)})"
        )
        if asked.large_loss is not LargeLoss.NEVER and system.buffer.is_finite:
            where = "" if asked.large_loss is LargeLoss.ALWAYS else f"beta < {asked.large_buffer} C (R + D), or "
            text += f"; and ({where}{large}, or {trend} falls)"
        if asked.start is Start.ANY:
            text += "; bounds that are stale at t = 0 need only move towards C, cross, or do no harm"
        return text

    def over(self, system: System) -> z3.BoolRef:
        """Return the claim as a formula.

        Raises
        ------
        ConfigError : the system has several flows, or its flow has no beliefs; or the demands are about large losses
            and the buffer is infinite
        """
        from fairweir.formal.encoding.invariant import invariant

        if len(system.flows) > 1 or not system.flows[0].attached:
            raise ConfigError(
                "the invariant is about rules and their beliefs, of a flow that is alone",
                key=KEY,
                hint="claim a property with a bound, such as utilization>=0.5",
            )
        if self.demands.large_loss is not LargeLoss.NEVER and not system.buffer.is_finite:
            raise ConfigError(
                f"an infinite buffer loses nothing: `{self.text}`", key=KEY, hint="add --buffer arbitrary"
            )
        return invariant(system, self._of(system))

    def value(self, seen: Trace | Curves) -> Fraction | None:
        """Return None: the invariant bounds no single number."""
        return None

    def shown(self, seen: Trace | Curves) -> Mapping[str, Fraction]:
        """Return the beliefs at the first and the last point."""
        if not isinstance(seen, Trace):
            return {}
        beliefs = seen.flows[0].beliefs.items()
        return {f"{name}@{point}": curve[t] for name, curve in beliefs for point, t in (("0", 0), ("end", -1))}

    def holds(self, seen: Trace | Curves) -> bool | None:
        """Return whether a trace satisfies the invariant; None for packets, which do not determine beliefs."""
        if not isinstance(seen, Trace):
            return None
        return keeps(seen, self._of(seen))

    def weaker(self, margin: Fraction) -> Claim | None:
        """Return None: some parts of the invariant have no bound that could be relaxed."""
        return None

    def _of(self, seen: System | Trace) -> Demands:
        """Return the demands with the attached beliefs' start: whether they may be stale is not part of the claim."""
        starts = {terms.start for terms in seen.flows[0].attached.values()}
        return replace(self.demands, start=Start.ANY if Start.ANY in starts else Start.CONSISTENT)


@dataclass(frozen=True)
class AtPoints:
    """A comparison of quantities at sample points."""

    comparison: Comparison

    @property
    def text(self) -> str:
        """The claim in its input syntax."""
        return self.comparison.text

    @property
    def unit(self) -> str:
        """Empty: the sides may have any unit."""
        return ""

    def statement(self, system: System) -> str:
        """Return the comparison, with its last point as a number."""
        text = self.comparison.text.replace("@end", f"@{system.grid.last}")
        return f"{text}, C = R = 1{self.comparison.remarks(system)}"

    def over(self, system: System) -> z3.BoolRef:
        """Return the claim as a formula."""
        import z3

        return z3.And(*self.comparison.over(system))

    def value(self, seen: Trace | Curves) -> Fraction | None:
        """Return the number that the comparison reads, if it reads only one; otherwise None."""
        found = self.shown(seen)
        return next(iter(found.values())) if len(found) == 1 else None

    def shown(self, seen: Trace | Curves) -> Mapping[str, Fraction]:
        """Return the numbers that the comparison reads."""
        return self.comparison.values(seen) or {}

    def holds(self, seen: Trace | Curves) -> bool | None:
        """Return whether the comparison holds."""
        return self.comparison.holds(seen)

    def weaker(self, margin: Fraction) -> AtPoints | None:
        """Return the comparison with its constants relaxed; None if it has none that can be relaxed."""
        found = self.comparison.weaker(margin)
        return None if found is None else AtPoints(found)


@dataclass(frozen=True)
class Joined:
    """Claims of which all must hold (``and``), or at least one (``or``)."""

    word: str
    parts: tuple[Claim, ...]

    @property
    def text(self) -> str:
        """The claim in its input syntax."""
        return f" {self.word} ".join(part.text for part in self.parts)

    @property
    def unit(self) -> str:
        """Empty: the claim bounds several numbers."""
        return ""

    def statement(self, system: System) -> str:
        """Return the parts, each in brackets."""
        return f" {self.word} ".join(f"[{part.statement(system)}]" for part in self.parts)

    def over(self, system: System) -> z3.BoolRef:
        """Return the claim as a formula."""
        import z3

        formulas = [part.over(system) for part in self.parts]
        return z3.Or(*formulas) if self.word == "or" else z3.And(*formulas)

    def value(self, seen: Trace | Curves) -> Fraction | None:
        """Return None: the claim bounds several numbers."""
        return None

    def shown(self, seen: Trace | Curves) -> Mapping[str, Fraction]:
        """Return the numbers that the parts read or bound."""
        found: dict[str, Fraction] = {}
        for part in self.parts:
            found |= part.shown(seen)
            value = part.value(seen) if isinstance(part, Bound) else None
            if value is not None and isinstance(part, Bound):
                found[part.name] = value
        return found

    def holds(self, seen: Trace | Curves) -> bool | None:
        """Return whether the claim holds; None if packets do not determine the parts that decide it."""
        found = [part.holds(seen) for part in self.parts]
        decides = self.word == "or"
        if decides in found:
            return decides
        return None if None in found else not decides

    def weaker(self, margin: Fraction) -> Claim | None:
        """Return the claim with the bounds of its parts relaxed; None if no part has a bound that can be relaxed."""
        moved = [part.weaker(margin) for part in self.parts]
        if all(part is None for part in moved):
            return None
        return Joined(self.word, tuple(new or old for new, old in zip(moved, self.parts, strict=True)))


def parts(claim: Claim) -> list[Claim]:
    """Return the claims of a conjunction; an empty list for any other claim."""
    if not isinstance(claim, Joined) or claim.word != "and":
        return []
    return [inner for part in claim.parts for inner in (parts(part) or [part])]


@dataclass(frozen=True)
class Assumption:
    """An assumed comparison. A quantity without a sample point refers to the first one."""

    comparison: Comparison
    written: str
    is_at_start: bool

    @property
    def text(self) -> str:
        """The assumption in its input syntax."""
        return f"{self.written} at the start" if self.is_at_start else self.comparison.text

    def over(self, system: System) -> list[z3.BoolRef]:
        """Return the assumption as formulas.

        Raises
        ------
        ConfigError : the system has no such quantity
        """
        return self.comparison.over(system, is_assumed=True)
