"""Define families of beliefs for rules: the names of the beliefs, their units, and the kernel C that reads them.

A belief is a bound on a network parameter that a sender computes from what it observed. A rule is a CCA as data, whose
conditions and rates are linear forms (weighted sums) of beliefs. R is the propagation delay, and alpha is one packet
per R.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum


class Unit(Enum):
    """The unit of a linear form: its power of data and its power of time."""

    RATE = (1, -1)
    DATA = (1, 0)
    TIME = (0, 1)

    @property
    def noun(self) -> str:
        """The unit in words."""
        return {Unit.RATE: "a rate", Unit.DATA: "an amount of data", Unit.TIME: "a time"}[self]


@dataclass(frozen=True)
class Kernel:
    """The pieces of kernel C with which the function generated from a rule reads the beliefs of a family.

    Attributes
    ----------
    header : str; the file in `bpf/` that computes the beliefs
    floor : str, C expression of the minimum sending rate, which is one packet per R for any alpha
    arguments : str, the parameters of the generated function, in C
    atoms : (quantity, power of R that multiplies it) -> (name of a C variable, C expression of its value)
    """

    header: str
    floor: str
    arguments: str
    atoms: Mapping[tuple[str, int], tuple[str, str]]


@dataclass(frozen=True, eq=False)
class BeliefFamily:
    """A family: beliefs that are computed together, for one network model.

    Attributes
    ----------
    name : str, name of the family in rule files, which is also the name of the network model
    units : name of each belief that a rule may read -> its unit
    kernel : Kernel; None if kernel C cannot compute the beliefs
    """

    name: str
    units: Mapping[str, Unit]
    kernel: Kernel | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the beliefs that a rule may read."""
        return tuple(self.units)

    def __reduce__(self) -> tuple[Callable[[str], BeliefFamily], tuple[str]]:
        """Pickle only the name, because each process must have exactly one object per family."""
        return family_named, (self.name,)


#: Name of a family in rule files -> the family; the package `fairweir.ccas.beliefs` fills this table.
REGISTERED: dict[str, BeliefFamily] = {}


def family_named(name: str) -> BeliefFamily:
    """Return the family called `name`."""
    return REGISTERED[name]
