"""Definitions of beliefs in exact fractions; one file per family (thesis sections 4.1.1, 4.2.2.1).

A belief is a bound on the network that a flow infers from what it observes. A family is a group of beliefs that are
computed together. The constraints that encode beliefs for solvers are in :mod:`fairweir.formal.beliefs`.
"""

from __future__ import annotations

from fairweir.errors import ConfigError
from fairweir.formal.encoding.trace import FlowTrace
from fairweir.formal.exact.beliefs.buffer import BufferSize
from fairweir.formal.exact.beliefs.cbr_delay import CbrDelay
from fairweir.formal.exact.beliefs.ccac import Ccac
from fairweir.formal.exact.beliefs.definition import BeliefDefinition, Columns, Values

#: Families by name; :func:`fairweir.formal.beliefs.families.register` adds to them. If a flow has several families, the
#: last of these families, in the order of this dict, decides whether a trace with stale initial beliefs satisfies the
#: synthesis invariant.
_DEFINITIONS: dict[str, BeliefDefinition] = {one.name: one for one in (BufferSize(), Ccac(), CbrDelay())}


def define(definition: BeliefDefinition) -> None:
    """Register the definition that judges a family's beliefs."""
    _DEFINITIONS[definition.name] = definition


def beliefs_named(family: str) -> BeliefDefinition:
    """Return the definition of a family.

    Raises
    ------
    ConfigError : there is no such family
    """
    if family not in _DEFINITIONS:
        known = ", ".join(_DEFINITIONS)
        raise ConfigError(f"unknown family of beliefs: `{family}`", key="attached", hint=f"known are {known}")
    return _DEFINITIONS[family]


def attached_to(flow: FlowTrace) -> list[BeliefDefinition]:
    """Return the definitions of a flow's beliefs.

    Raises
    ------
    ConfigError : there is no such family
    """
    families = [beliefs_named(name) for name in flow.attached]
    return [one for one in _DEFINITIONS.values() if one in families]


__all__ = ["BeliefDefinition", "Columns", "Values", "attached_to", "beliefs_named", "define"]
