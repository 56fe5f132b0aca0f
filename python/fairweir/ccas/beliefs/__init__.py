"""Families of beliefs that rules read, one file per family; `fairweir.formal.beliefs` has what they are."""

from __future__ import annotations

from collections.abc import Mapping

from fairweir.ccas.beliefs.cbr_delay import CBR_DELAY
from fairweir.ccas.beliefs.ccac import CCAC
from fairweir.ccas.beliefs.family import REGISTERED, BeliefFamily, Kernel, Unit, family_named

REGISTERED.update({family.name: family for family in (CCAC, CBR_DELAY)})
_QUANTITIES: dict[str, Unit] = {**CCAC.units, **CBR_DELAY.units, "alpha": Unit.RATE}
#: By the name that rule files write.
FAMILIES: Mapping[str, BeliefFamily] = REGISTERED
#: Names of quantities, with their powers of data and time. MSS is alpha times R and is an abbreviation.
QUANTITIES: Mapping[str, Unit] = _QUANTITIES


def register(family: BeliefFamily) -> None:
    """Let rules read a family's beliefs from now on."""
    REGISTERED[family.name] = family
    _QUANTITIES.update(family.units)


__all__ = ["CBR_DELAY", "CCAC", "FAMILIES", "QUANTITIES", "BeliefFamily", "Kernel", "Unit", "family_named", "register"]
