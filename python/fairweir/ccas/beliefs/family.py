"""A family of beliefs for rules: the names of the beliefs, their units, and the kernel C that reads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum


class Unit(Enum):
    """Unit of a linear form, as powers of data and time."""

    RATE = (1, -1)
    DATA = (1, 0)
    TIME = (0, 1)

    @property
    def noun(self) -> str:
        """The unit in words."""
        return {Unit.RATE: "a rate", Unit.DATA: "an amount of data", Unit.TIME: "a time"}[self]


@dataclass(frozen=True)
class Kernel:
    """Kernel C with which a rule's decision reads a family's beliefs.

    Attributes
    ----------
    header : str; file in `bpf/` that computes the beliefs
    floor : str, C expression; minimum sending rate: one packet per R, for any alpha
    arguments : str, C; parameters of the decision's function
    atoms : (quantity, power of R by which it is multiplied) -> (name of its variable, C expression of its value)
    """

    header: str
    floor: str
    arguments: str
    atoms: Mapping[tuple[str, int], tuple[str, str]]


@dataclass(frozen=True, eq=False)
class BeliefFamily:
    """Beliefs that are computed together; the family has the name of the network model that they assume.

    Attributes
    ----------
    name : str, as in rule files
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
        """Pickle the name only, because each process has exactly one object per family."""
        return family_named, (self.name,)


#: Name in rule files -> family; `fairweir.ccas.beliefs` fills it.
REGISTERED: dict[str, BeliefFamily] = {}


def family_named(name: str) -> BeliefFamily:
    """Return the family called `name`."""
    return REGISTERED[name]
