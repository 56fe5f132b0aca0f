"""A family of beliefs as rules know it: the names that they may read, their units, and how kernel C reads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum


class Unit(Enum):
    """Unit of a form, as powers of data and time."""

    RATE = (1, -1)
    DATA = (1, 0)
    TIME = (0, 1)

    @property
    def noun(self) -> str:
        """The unit in words."""
        return {Unit.RATE: "a rate", Unit.DATA: "an amount of data", Unit.TIME: "a time"}[self]


@dataclass(frozen=True)
class Kernel:
    """How a decision in kernel C gets at a family's beliefs.

    Attributes
    ----------
    header : str, of `bpf/`, which computes them
    floor : str, C; the rate below which a flow never sends: a packet in R, for any alpha of a flow
    arguments : str, C; the parameters of the decision
    atoms : per quantity and power of R that it is multiplied by: the name of its variable, and its value in C
    """

    header: str
    floor: str
    arguments: str
    atoms: Mapping[tuple[str, int], tuple[str, str]]


@dataclass(frozen=True, eq=False)
class BeliefFamily:
    """Beliefs that are computed together, by the name of the network model that they assume.

    Attributes
    ----------
    name : str, as rule files have it
    units : the beliefs that a rule may read, with their units
    kernel : Kernel, or None if kernel C cannot compute them
    """

    name: str
    units: Mapping[str, Unit]
    kernel: Kernel | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The beliefs that a rule may read."""
        return tuple(self.units)

    def __reduce__(self) -> tuple[Callable[[str], BeliefFamily], tuple[str]]:
        """Pickle as a name: a family is one object in every process."""
        return family_named, (self.name,)


#: By the name that rule files write; filled by the package.
REGISTERED: dict[str, BeliefFamily] = {}


def family_named(name: str) -> BeliefFamily:
    """Return the family of that name."""
    return REGISTERED[name]
