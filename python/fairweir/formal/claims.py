"""Claims as the command line writes them: ``utilization>=0.5``, ``queue<=22/5``, ``invariant``.

And assumptions on where a trace begins: ``C_L>=69/100``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from fairweir.errors import ConfigError
from fairweir.formal.measure import MEASURES, Curves
from fairweir.formal.properties import PROPERTIES
from fairweir.suggestions import did_you_mean

if TYPE_CHECKING:
    import z3

    from fairweir.formal.system import System

#: What synthesis asks of candidates (:mod:`fairweir.formal.invariant`); it has no constant of its own.
INVARIANT = "invariant"
_COMPARISON = re.compile(r"^\s*([A-Za-z_][\w-]*)\s*(?:(>=|<=|=|>|<)\s*(\S+))?\s*$")


@dataclass(frozen=True)
class Claim:
    """A property with its constant.

    Attributes
    ----------
    name : str, of `PROPERTIES`, or :data:`INVARIANT`
    bound : Fraction, None for the invariant
    """

    name: str
    bound: Fraction | None

    @property
    def text(self) -> str:
        """The claim as one writes it."""
        if self.bound is None:
            return self.name
        return f"{self.name} {'>=' if PROPERTIES[self.name].is_at_least else '<='} {self.bound} {self.unit}".strip()

    @property
    def unit(self) -> str:
        """The constant's unit."""
        return "" if self.bound is None else PROPERTIES[self.name].constant.unit

    def over(self, system: System) -> z3.BoolRef:
        """Give the claim as a formula.

        Raises
        ------
        ConfigError : the invariant of flows that have none
        """
        if self.bound is None:
            from fairweir.formal.invariant import Demands, invariant

            if len(system.flows) > 1 or not system.flows[0].attached:
                raise ConfigError(
                    "the invariant is about rules and their beliefs, of a flow that is alone",
                    key="--property",
                    hint="ask for a property with a bound, as utilization>=0.5",
                )
            return invariant(system, Demands())
        return PROPERTIES[self.name].claim(system, self.bound)

    def value(self, curves: Curves) -> Fraction | None:
        """Give the number that the claim bounds; None for the invariant."""
        return None if self.bound is None else MEASURES[self.name](curves)

    def holds(self, value: Fraction) -> bool:
        """Is a number on the good side of the bound?"""
        if self.bound is None:
            raise ValueError("the invariant has no bound")
        return value >= self.bound if PROPERTIES[self.name].is_at_least else value <= self.bound

    def weaker(self, margin: Fraction) -> Claim | None:
        """Give the claim with its bound moved to the easy side by a part of it; None if there is nothing to move."""
        if not self.bound:
            return None
        is_at_least = PROPERTIES[self.name].is_at_least
        return Claim(self.name, self.bound * (1 - margin if is_at_least else 1 + margin))


def parse_claim(text: str) -> Claim:
    """Read a claim; a property alone has its default constant.

    Raises
    ------
    ConfigError : no such property, a bound on the wrong side, or no number
    """
    found = _COMPARISON.match(text)
    known = [*PROPERTIES, INVARIANT]
    if found is None:
        raise ConfigError(f"not a property: `{text}`", key="--property", hint="write as `utilization>=0.5` or `queue`")
    name, sign, number = found.groups()
    if name not in known:
        raise ConfigError(f"no such property: `{name}`", key="--property", hint=did_you_mean(name, known))
    if name == INVARIANT:
        if sign:
            raise ConfigError(f"the invariant takes no bound: `{text}`", key="--property", hint="write `invariant`")
        return Claim(name, None)
    good = ">=" if PROPERTIES[name].is_at_least else "<="
    if sign is None:
        return Claim(name, PROPERTIES[name].constant.default)
    if sign != good:
        raise ConfigError(
            f"`{name}` is bounded the other way: `{text}`", key="--property", hint=f"write {name}{good}..."
        )
    bound = parse_number(number, text, "--property")
    if bound < 0:
        raise ConfigError(f"a bound must not be negative: `{text}`", key="--property")
    return Claim(name, bound)


@dataclass(frozen=True)
class Assumption:
    """A bound on a quantity at the first point: of the flows' beliefs, ``queue``, ``bottleneck-queue`` or ``alpha``."""

    name: str
    sign: str
    bound: Fraction

    @property
    def text(self) -> str:
        """The assumption as one writes it."""
        return f"{self.name} {self.sign} {self.bound} at the start"

    def over(self, system: System) -> list[z3.BoolRef]:
        """Give the assumption as formulas.

        Raises
        ------
        ConfigError : the system has no such quantity
        """
        import z3

        quantities = {
            "alpha": [system.alpha],
            "queue": [system.queue(0)],
            "bottleneck-queue": [system.bottleneck_queue(0)],
        }
        if system.beta is not None:
            quantities["beta"] = [system.beta]
        for name in {name for flow in system.flows for name in flow.beliefs}:
            quantities[name] = [flow.beliefs[name][0] for flow in system.flows if name in flow.beliefs]
        if self.name not in quantities:
            hint = did_you_mean(self.name, sorted(quantities))
            raise ConfigError(f"nothing is called `{self.name}` at the start of a trace", key="--given", hint=hint)
        bound = z3.Q(*self.bound.as_integer_ratio())
        relations = {
            ">=": lambda x: x >= bound,
            "<=": lambda x: x <= bound,
            "=": lambda x: x == bound,
            ">": lambda x: x > bound,
            "<": lambda x: x < bound,
        }
        return [relations[self.sign](quantity) for quantity in quantities[self.name]]


def parse_assumption(text: str) -> Assumption:
    """Read an assumption.

    Raises
    ------
    ConfigError : not one
    """
    found = _COMPARISON.match(text)
    if found is None or found[2] is None:
        raise ConfigError(f"not an assumption: `{text}`", key="--given", hint="write as `C_L>=69/100`; C = R = 1")
    return Assumption(found[1], found[2], parse_number(found[3], text, "--given"))


def parse_number(word: str, text: str, key: str) -> Fraction:
    """Read an exact number: ``4.4``, ``22/5``.

    Raises
    ------
    ConfigError : it is none
    """
    try:
        return Fraction(word)
    except (ValueError, ZeroDivisionError):
        raise ConfigError(f"not a number: `{text}`", key=key, hint="write 4.4 or 22/5") from None
