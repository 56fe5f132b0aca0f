"""Claims about every trace of a question, and assumptions; :mod:`fairweir.formal.claims.syntax` parses them.

A trace is the value of each curve, such as bytes sent, at each sample point. A system is the variables and constraints
of a question to a solver. A packet run is a replay of a trace in the simulator. A belief is a bound on the network that
a flow infers from what it observes. The synthesis invariant is the condition that each trace of a candidate algorithm
must satisfy.

Each claim can be encoded for solvers, and evaluated in exact fractions on a trace. A claim can be evaluated on a packet
run if the run determines all quantities that the claim reads.
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
#: The name of the synthesis invariant (:mod:`fairweir.formal.encoding.invariant`) as a claim.
INVARIANT: Final = "invariant"
INVARIANT_MEANING: Final = (
    "what synthesis asks of candidates: at the end the beliefs admit the network, and they shrank, or the bounds on "
    "utilization, queue and losses hold, or what breaks one of them moves the right way; may be given other demands"
)


class Claim(Protocol):
    """A claim about every trace."""

    @property
    def text(self) -> str:
        """The claim in the syntax of the command line."""

    @property
    def unit(self) -> str:
        """The unit of the number that :meth:`value` returns; empty if there is no such number."""

    def statement(self, system: System) -> str:
        """Return the claim as text: an inequality with numbers."""

    def over(self, system: System) -> z3.BoolRef:
        """Return the claim as a condition for solvers on the system's variables.

        Raises
        ------
        ConfigError : the system lacks a quantity that the claim reads
        """

    def value(self, seen: Trace | Curves) -> Fraction | None:
        """Return the value of the quantity that the claim bounds, in :attr:`unit`; None if there is not exactly one
        such quantity.
        """

    def shown(self, seen: Trace | Curves) -> Mapping[str, Fraction]:
        """Return the values of the quantities that the claim reads at sample points, by name."""

    def holds(self, seen: Trace | Curves) -> bool | None:
        """Return whether the trace or run satisfies the claim; None if a run does not determine all quantities that the
        claim reads.
        """

    def weaker(self, margin: Fraction) -> Claim | None:
        """Return the claim with its bounds relaxed by the fraction `margin`; None if no bound can be relaxed."""


def _curves(seen: Trace | Curves) -> Curves:
    return Curves.of(seen) if isinstance(seen, Trace) else seen


@dataclass(frozen=True)
class Bound:
    """The claim that a property, such as utilization, satisfies a bound.

    Attributes
    ----------
    name : str, name of a property in `PROPERTIES`
    bound : Fraction, the bound in the property's unit
    """

    name: str
    bound: Fraction

    @property
    def text(self) -> str:
        """The claim in the syntax of the command line."""
        return f"{self.name} {'>=' if PROPERTIES[self.name].is_at_least else '<='} {self.bound} {self.unit}".strip()

    @property
    def unit(self) -> str:
        """The bound's unit."""
        return PROPERTIES[self.name].constant.unit

    def statement(self, system: System) -> str:
        """Return the inequality as text, with numbers."""
        return PROPERTIES[self.name].statement(system.grid, self.bound)

    def over(self, system: System) -> z3.BoolRef:
        """Return the claim as a condition for solvers."""
        return PROPERTIES[self.name].claim(system, self.bound)

    def value(self, seen: Trace | Curves) -> Fraction | None:
        """Return the value of the property; None for the utilization of a trace that is not longer than the jitter."""
        if self.name == "utilization" and seen.grid.span <= seen.grid.jitter:
            return None
        return MEASURES[self.name](_curves(seen))

    def shown(self, seen: Trace | Curves) -> Mapping[str, Fraction]:
        """Return an empty mapping: the claim does not refer to single sample points."""
        return {}

    def holds(self, seen: Trace | Curves) -> bool | None:
        """Return whether the property satisfies the bound. If the property is undefined, the claim holds."""
        value = self.value(seen)
        if value is None:
            return True
        return value >= self.bound if PROPERTIES[self.name].is_at_least else value <= self.bound

    def weaker(self, margin: Fraction) -> Bound | None:
        """Return the claim with its bound relaxed by the fraction `margin`; None if the bound is 0."""
        if not self.bound:
            return None
        return Bound(self.name, self.bound * (1 - margin if PROPERTIES[self.name].is_at_least else 1 + margin))


@dataclass(frozen=True)
class Invariant:
    """The claim that a trace satisfies the synthesis invariant.

    Attributes
    ----------
    demands : Demands, the invariant's constants; the system, not `Demands.start`, says whether initial beliefs may be
        stale (true only of an earlier link)
    """

    demands: Demands = field(default_factory=Demands)

    @property
    def text(self) -> str:
        """The claim in the syntax of the command line, without the constants that equal those of the published code."""
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
        """Empty, because the invariant has several bounds."""
        return ""

    def statement(self, system: System) -> str:
        """Return the parts of the invariant as text, with numbers."""
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
        """Return the invariant as a condition for solvers.

        Raises
        ------
        ConfigError : the system has several flows; or its flow has no beliefs; or `demands` forbids large losses, but
            the buffer is infinite
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
        """Return None, because the invariant has several bounds."""
        return None

    def shown(self, seen: Trace | Curves) -> Mapping[str, Fraction]:
        """Return the values of the beliefs at the first and at the last point, by name."""
        if not isinstance(seen, Trace):
            return {}
        beliefs = seen.flows[0].beliefs.items()
        return {f"{name}@{point}": curve[t] for name, curve in beliefs for point, t in (("0", 0), ("end", -1))}

    def holds(self, seen: Trace | Curves) -> bool | None:
        """Return whether a trace satisfies the invariant; None for a packet run, which does not determine beliefs."""
        if not isinstance(seen, Trace):
            return None
        return keeps(seen, self._of(seen))

    def weaker(self, margin: Fraction) -> Claim | None:
        """Return None, because some parts of the invariant have no bound that could be relaxed."""
        return None

    def _of(self, seen: System | Trace) -> Demands:
        """Return `demands`, with `start` set according to the options of the flow's beliefs."""
        starts = {terms.start for terms in seen.flows[0].attached.values()}
        return replace(self.demands, start=Start.ANY if Start.ANY in starts else Start.CONSISTENT)


@dataclass(frozen=True)
class AtPoints:
    """The claim that a comparison of quantities at sample points is true."""

    comparison: Comparison

    @property
    def text(self) -> str:
        """The claim in the syntax of the command line."""
        return self.comparison.text

    @property
    def unit(self) -> str:
        """Empty, because the compared quantities may have any unit."""
        return ""

    def statement(self, system: System) -> str:
        """Return the comparison as text, with the last point as a number."""
        text = self.comparison.text.replace("@end", f"@{system.grid.last}")
        return f"{text}, C = R = 1{self.comparison.remarks(system)}"

    def over(self, system: System) -> z3.BoolRef:
        """Return the comparison as a condition for solvers."""
        import z3

        return z3.And(*self.comparison.over(system))

    def value(self, seen: Trace | Curves) -> Fraction | None:
        """Return the value of the quantity that the comparison reads; None if it reads several quantities."""
        found = self.shown(seen)
        return next(iter(found.values())) if len(found) == 1 else None

    def shown(self, seen: Trace | Curves) -> Mapping[str, Fraction]:
        """Return the values of the quantities that the comparison reads, by name."""
        return self.comparison.values(seen) or {}

    def holds(self, seen: Trace | Curves) -> bool | None:
        """Return whether the comparison is true; None if a packet run does not determine all its quantities."""
        return self.comparison.holds(seen)

    def weaker(self, margin: Fraction) -> AtPoints | None:
        """Return the comparison with its constants relaxed by the fraction `margin`; None if no constant can be
        relaxed.
        """
        found = self.comparison.weaker(margin)
        return None if found is None else AtPoints(found)


@dataclass(frozen=True)
class Joined:
    """The claim that all (``and``) or at least one (``or``) of several claims hold."""

    word: str
    parts: tuple[Claim, ...]

    @property
    def text(self) -> str:
        """The claim in the syntax of the command line."""
        return f" {self.word} ".join(part.text for part in self.parts)

    @property
    def unit(self) -> str:
        """Empty, because the claim has several bounds."""
        return ""

    def statement(self, system: System) -> str:
        """Return the joined claims as text, each in brackets."""
        return f" {self.word} ".join(f"[{part.statement(system)}]" for part in self.parts)

    def over(self, system: System) -> z3.BoolRef:
        """Return the claim as a condition for solvers."""
        import z3

        formulas = [part.over(system) for part in self.parts]
        return z3.Or(*formulas) if self.word == "or" else z3.And(*formulas)

    def value(self, seen: Trace | Curves) -> Fraction | None:
        """Return None, because the claim has several bounds."""
        return None

    def shown(self, seen: Trace | Curves) -> Mapping[str, Fraction]:
        """Return the values of the quantities that the joined claims read or bound, by name."""
        found: dict[str, Fraction] = {}
        for part in self.parts:
            found |= part.shown(seen)
            value = part.value(seen) if isinstance(part, Bound) else None
            if value is not None and isinstance(part, Bound):
                found[part.name] = value
        return found

    def holds(self, seen: Trace | Curves) -> bool | None:
        """Return whether the claim holds; None if a packet run does not determine the answer."""
        found = [part.holds(seen) for part in self.parts]
        decides = self.word == "or"
        if decides in found:
            return decides
        return None if None in found else not decides

    def weaker(self, margin: Fraction) -> Claim | None:
        """Return the claim with the bounds of its parts relaxed by the fraction `margin`; None if no bound can be
        relaxed.
        """
        moved = [part.weaker(margin) for part in self.parts]
        if all(part is None for part in moved):
            return None
        return Joined(self.word, tuple(new or old for new, old in zip(moved, self.parts, strict=True)))


def parts(claim: Claim) -> list[Claim]:
    """Return the claims that a conjunction (``and``) joins; an empty list if the claim is not a conjunction."""
    if not isinstance(claim, Joined) or claim.word != "and":
        return []
    return [inner for part in claim.parts for inner in (parts(part) or [part])]


@dataclass(frozen=True)
class Assumption:
    """A comparison that a question assumes. A quantity that is written without a sample point is at the first point."""

    comparison: Comparison
    written: str
    is_at_start: bool

    @property
    def text(self) -> str:
        """The assumption in the syntax of the command line."""
        return f"{self.written} at the start" if self.is_at_start else self.comparison.text

    def over(self, system: System) -> list[z3.BoolRef]:
        """Return the assumption as conditions for solvers.

        Raises
        ------
        ConfigError : the system lacks a quantity that the assumption reads
        """
        return self.comparison.over(system, is_assumed=True)
