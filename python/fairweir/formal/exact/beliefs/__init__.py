"""Definitions of beliefs in exact fractions, which check the beliefs in traces (thesis sections 4.1.1 and 4.2.2.1).

A belief is a bound on the network that a flow infers from what it observes. A family is a group of beliefs that are
computed together; each family has one file. :mod:`fairweir.formal.beliefs` has the same families as constraints for
solvers. The synthesis invariant is the condition that each trace of a synthesized algorithm must satisfy
(:mod:`fairweir.formal.exact.invariant`).
"""

from __future__ import annotations

from fairweir.errors import ConfigError
from fairweir.formal.encoding.trace import FlowTrace
from fairweir.formal.exact.beliefs.buffer import BufferSize
from fairweir.formal.exact.beliefs.cbr_delay import CbrDelay
from fairweir.formal.exact.beliefs.ccac import Ccac
from fairweir.formal.exact.beliefs.definition import BeliefDefinition, Columns, Values

#: Definitions of families by name; :func:`fairweir.formal.beliefs.families.register` adds to them. Beliefs are stale
#: if they were true of an earlier link only. If the initial beliefs of a flow may be stale, the flow's last family, in
#: the order of this dict, decides whether the trace satisfies the synthesis invariant.
_DEFINITIONS: dict[str, BeliefDefinition] = {one.name: one for one in (BufferSize(), Ccac(), CbrDelay())}


def define(definition: BeliefDefinition) -> None:
    """Register the definition of a family of beliefs."""
    _DEFINITIONS[definition.name] = definition


def beliefs_named(family: str) -> BeliefDefinition:
    """Return the definition of a family, by the family's name.

    Raises
    ------
    ConfigError : no family has this name
    """
    if family not in _DEFINITIONS:
        known = ", ".join(_DEFINITIONS)
        raise ConfigError(f"unknown family of beliefs: `{family}`", key="attached", hint=f"known are {known}")
    return _DEFINITIONS[family]


def attached_to(flow: FlowTrace) -> list[BeliefDefinition]:
    """Return the definitions of the families whose beliefs a flow has.

    Raises
    ------
    ConfigError : no family has this name
    """
    families = [beliefs_named(name) for name in flow.attached]
    return [one for one in _DEFINITIONS.values() if one in families]


__all__ = ["BeliefDefinition", "Columns", "Values", "attached_to", "beliefs_named", "define"]
