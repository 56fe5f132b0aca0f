"""The families of beliefs, by name; one file per family."""

from __future__ import annotations

from collections.abc import Mapping

from fairweir.ccas import beliefs as of_rules
from fairweir.formal.beliefs.buffer import BufferSize
from fairweir.formal.beliefs.cbr_delay import CbrDelay
from fairweir.formal.beliefs.ccac import Ccac
from fairweir.formal.beliefs.family import Family
from fairweir.formal.exact import beliefs as exact

_FAMILIES: dict[str, Family] = {family.name: family for family in (Ccac(), CbrDelay(), BufferSize())}
#: In an order in which they can be attached.
FAMILIES: Mapping[str, Family] = _FAMILIES


def register(family: Family, definition: exact.BeliefDefinition, in_rules: of_rules.BeliefFamily | None = None) -> None:
    """Add a family, with what judges it.

    Parameters
    ----------
    family : Family, for solvers
    definition : of the same name, for exact fractions
    in_rules : of the same name, which rules can read; None: they cannot
    """
    exact.define(definition)
    _FAMILIES[family.name] = family
    if in_rules is not None:
        of_rules.register(in_rules)
