"""Heat map of the audited CCAs and the known CCAs: a row per property, a column per CCA, colored by rank.

The values of the known CCAs are shipped (:mod:`fairweir.audit.profile`). The heat map is a table, not a figure: on a
phone it scrolls with readable numbers, the audited CCAs first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fairweir.audit.profile import PROPERTIES, Known, Property, values_of
from fairweir.show import formats

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairweir.audit.results import CcaResults

SHADES: Final = ("#8fc1de", "#c3dcec", "#f4f4f2", "#f8d9c4", "#f0b48c")
"""From the best rank to the worst; dark text is readable on each."""


@dataclass(frozen=True)
class Cell:
    """A CCA's value of a property."""

    text: str
    shade: str
    """Background color; empty without a value."""
    title: str
    rank: int | None = None
    """1 is the best; equal values share a rank. None without a value."""


@dataclass(frozen=True)
class Heat:
    """The heat map."""

    version: str
    ccas: tuple[str, ...]
    audited: int
    """The number of audited CCAs, which come first."""
    rows: tuple[tuple[Property, tuple[Cell, ...]], ...]


def heat_of(ccas: Sequence[CcaResults], known: Known) -> Heat | None:
    """Return the audited CCAs and the known ones as a heat map; None if no audited CCA has a value of a property."""
    audited = {cca.cca: values_of(cca) for cca in ccas}
    everyone = {**audited, **{name: values for name, values in known.ccas.items() if name not in audited}}
    rows = tuple(
        (one, tuple(_cell(one, name, everyone) for name in everyone))
        for one in PROPERTIES
        if any(one.exhibit in values for values in audited.values())
    )
    return Heat(known.version, tuple(everyone), len(audited), rows) if rows else None


def _cell(one: Property, name: str, everyone: dict[str, dict[str, float]]) -> Cell:
    value = everyone[name].get(one.exhibit)
    if value is None:
        return Cell(formats.ABSENT, "", f"{name}: not run")
    others = [values[one.exhibit] for cca, values in everyone.items() if cca != name and one.exhibit in values]
    better = sum(one.is_better(other, value) for other in others)
    shade = SHADES[round(better / len(others) * (len(SHADES) - 1))] if others else ""
    unit = f" {one.metric.unit}" if one.metric.unit else ""
    return Cell(
        formats.number(value),
        shade,
        f"{name}: {formats.number(value)}{unit}, rank {better + 1} of {len(others) + 1}",
        better + 1,
    )
