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
#: The families by name, in an order in which they can be attached.
FAMILIES: Mapping[str, Family] = _FAMILIES


def register(family: Family, definition: exact.BeliefDefinition, in_rules: of_rules.BeliefFamily | None = None) -> None:
    """Add a family of beliefs.

    Parameters
    ----------
    family : Family, the encoding for solvers
    definition : its definition in exact fractions, under the same name
    in_rules : the family as rules read it, under the same name; None if rules cannot read it
    """
    exact.define(definition)
    _FAMILIES[family.name] = family
    if in_rules is not None:
        of_rules.register(in_rules)
