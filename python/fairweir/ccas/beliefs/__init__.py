"""The families of beliefs that rules can read, one per file.

A belief is a bound on a network parameter that a sender computes from what it observed. A family has the beliefs that
assume one network model. A rule is a CCA as data. `fairweir.formal.beliefs` defines how beliefs are computed.
"""

from __future__ import annotations

from collections.abc import Mapping

from fairweir.ccas.beliefs.cbr_delay import CBR_DELAY
from fairweir.ccas.beliefs.ccac import CCAC
from fairweir.ccas.beliefs.family import REGISTERED, BeliefFamily, Kernel, Unit, family_named

REGISTERED.update({family.name: family for family in (CCAC, CBR_DELAY)})
_QUANTITIES: dict[str, Unit] = {**CCAC.units, **CBR_DELAY.units, "alpha": Unit.RATE}
#: Name of a family in rule files -> the family.
FAMILIES: Mapping[str, BeliefFamily] = REGISTERED
#: Name of each belief, and of alpha -> its unit. MSS is not in this table, because it is an abbreviation of alpha R.
QUANTITIES: Mapping[str, Unit] = _QUANTITIES


def register(family: BeliefFamily) -> None:
    """Register a family, so that rules can read its beliefs."""
    REGISTERED[family.name] = family
    _QUANTITIES.update(family.units)


__all__ = ["CBR_DELAY", "CCAC", "FAMILIES", "QUANTITIES", "BeliefFamily", "Kernel", "Unit", "family_named", "register"]
