"""The families of beliefs, by name.

A belief is a bound on the network that a flow infers from what it observes. A family is a group of beliefs that are
computed together. Each family has one file.

A trace is the behavior of a network and its flows: the value of each curve at each sample point.
"""

from __future__ import annotations

from collections.abc import Mapping

from fairweir.ccas import beliefs as of_rules
from fairweir.formal.beliefs.buffer import BufferSize
from fairweir.formal.beliefs.cbr_delay import CbrDelay
from fairweir.formal.beliefs.ccac import Ccac
from fairweir.formal.beliefs.family import Family
from fairweir.formal.exact import beliefs as exact

_FAMILIES: dict[str, Family] = {family.name: family for family in (Ccac(), CbrDelay(), BufferSize())}
#: The families by name. A family that needs another family comes after it.
FAMILIES: Mapping[str, Family] = _FAMILIES


def register(family: Family, definition: exact.BeliefDefinition, in_rules: of_rules.BeliefFamily | None = None) -> None:
    """Add a family of beliefs.

    Parameters
    ----------
    family : Family, the constraints for solvers
    definition : the same family in exact fractions, for the check of traces, with the same name
    in_rules : the same family for rules (congestion control algorithms that read beliefs), with the same name; None if
        rules cannot read the family
    """
    exact.define(definition)
    _FAMILIES[family.name] = family
    if in_rules is not None:
        of_rules.register(in_rules)
