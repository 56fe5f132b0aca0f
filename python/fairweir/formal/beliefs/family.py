"""Base class of a family of beliefs for solvers.

A belief is a bound on the network that a flow infers from what it observes, such as the lower bound C_L on the link
rate. A family is a group of beliefs that are computed together. A belief is sound on a network model if it is true in
each trace of the model. A belief is stale if it was true only of the link before the link changed. Beliefs shrink if
the bounds become tighter, so that they exclude more networks. A system is the variables and constraints of one
question.

The synthesis invariant is the condition that each trace of a candidate algorithm must satisfy; its objectives are
bounds on utilization, queue and losses (:mod:`fairweir.formal.encoding.invariant`).

A trace is the behavior of a network and its flows: the value of each curve at each sample point.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import z3

from fairweir.documents.arguments import words_for_enums
from fairweir.formal.beliefs.choices import Terms
from fairweir.formal.encoding.buffers import Buffer
from fairweir.formal.encoding.system import Bit, System

if TYPE_CHECKING:
    from fairweir.formal.models.model import Model


#: Default options: beliefs are true of the network at t = 0 and never time out.
USUAL = Terms()


@dataclass(frozen=True)
class Variant:
    """Options with which the soundness of a family is checked, and the words for these options in the check's name."""

    terms: Terms = USUAL
    words: str = ""


class Family(ABC):
    """A group of beliefs that are computed together, as constraints for solvers.

    :mod:`fairweir.formal.exact.beliefs` has a second definition of each family, with the same name. It checks traces
    and shares no code with these constraints.

    Attributes
    ----------
    name : str, name of the family
    names : names of the family's beliefs in ``flow.beliefs``
    needs : names of the families that must be attached before this family
    variants : options with which the soundness of the family is checked
    claims : for each bound, by its text, a function from a system and a point to the condition that the bound is true
    """

    name: str
    names: tuple[str, ...]
    needs: tuple[str, ...] = ()
    variants: Sequence[Variant] = (Variant(),)
    claims: Mapping[str, Callable[[System, int], Bit]]

    @abstractmethod
    def attach(self, system: System, *, flow: int = 0, terms: Terms = USUAL) -> None:
        """Add the family's beliefs to a flow, and the constraints on them to the system.

        Parameters
        ----------
        system : System
        flow : int, index of the flow, which must send by rate
        terms : Terms, the options

        Raises
        ------
        ConfigError : the family is not sound for the flow, for the buffer or with the options
        """

    @abstractmethod
    @words_for_enums
    def is_sound_on(self, model: Model, buffer: Buffer) -> bool:
        """Return whether the family's beliefs are sound on a model with the given kind of buffer.

        Parameters
        ----------
        model : Model, the network
        buffer : Buffer, kind of buffer at the bottleneck
        """

    @abstractmethod
    def consistent(self, system: System, t: int, flow: int = 0) -> list[Bit]:
        """Return the conditions that the family's beliefs at t are true of the network.

        Parameters
        ----------
        system : System, to which the family is attached
        t : int, the sample point
        flow : int, index of the flow
        """

    def may_end(self, system: System) -> list[Bit]:
        """Return the conditions that the synthesis invariant sets on the last values of flow 0's beliefs."""
        return []

    def gains(self, system: System) -> Bit:
        """Return the condition that flow 0's beliefs exclude more networks at the last point than at the first."""
        return z3.BoolVal(False)

    def loses_nothing(self, system: System) -> Bit:
        """Return the condition that flow 0's beliefs exclude at least as many networks at the last point as at the
        first.
        """
        return z3.BoolVal(True)

    def unless_stale(self, system: System, claim: Bit, harmless: Bit, improves: Bit) -> Bit:
        """Return the synthesis invariant for beliefs that may be stale at t = 0.

        Parameters
        ----------
        system : System
        claim : the invariant for beliefs that are not stale
        harmless : the condition that the trace satisfies all objectives
        improves : the condition that the beliefs shrink
        """
        return claim
