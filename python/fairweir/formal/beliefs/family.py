"""A family of beliefs for solvers: its encoding, its claims, and the models on which they are sound."""

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


#: Beliefs admit the network at t = 0 and never time out.
USUAL = Terms()


@dataclass(frozen=True)
class Variant:
    """Terms under which a family's bounds are checked, and the text for them in the check's name."""

    terms: Terms = USUAL
    words: str = ""


class Family(ABC):
    """Beliefs that are computed together.

    :mod:`fairweir.formal.exact.beliefs` has the definition of the same name, which judges traces and shares no code
    with this encoding.

    Attributes
    ----------
    name : str
    names : names of the family's beliefs in ``flow.beliefs``
    needs : families that must be attached before this one
    variants : terms under which the bounds are checked
    claims : for each bound, by its text, a function that returns whether it admits the network at a point
    """

    name: str
    names: tuple[str, ...]
    needs: tuple[str, ...] = ()
    variants: Sequence[Variant] = (Variant(),)
    claims: Mapping[str, Callable[[System, int], Bit]]

    @abstractmethod
    def attach(self, system: System, *, flow: int = 0, terms: Terms = USUAL) -> None:
        """Add the beliefs to a flow, with their constraints.

        Parameters
        ----------
        flow : int, index of the flow; it sends by rate
        terms : Terms, at the start and the end of a trace

        Raises
        ------
        ConfigError : the flow, the buffer or the terms are such that the beliefs would not be sound
        """

    @abstractmethod
    @words_for_enums
    def is_sound_on(self, model: Model, buffer: Buffer) -> bool:
        """Return whether no trace of a model with such a buffer violates the bounds.

        Parameters
        ----------
        model : Model, the network
        buffer : Buffer, at its bottleneck
        """

    @abstractmethod
    def consistent(self, system: System, t: int, flow: int = 0) -> list[Bit]:
        """Return the conditions under which the beliefs admit the network at t.

        Parameters
        ----------
        system : System, to which the family is attached
        t : int, the point
        flow : int, index of the flow
        """

    def may_end(self, system: System) -> list[Bit]:
        """Return the conditions on the last values of flow 0 that the synthesis invariant adds."""
        return []

    def gains(self, system: System) -> Bit:
        """Return whether flow 0's beliefs admit fewer networks at the last point than at the first."""
        return z3.BoolVal(False)

    def loses_nothing(self, system: System) -> Bit:
        """Return whether flow 0's beliefs admit at most as many networks at the last point as at the first."""
        return z3.BoolVal(True)

    def unless_stale(self, system: System, claim: Bit, harmless: Bit, improves: Bit) -> Bit:
        """Return the synthesis invariant for beliefs that may be stale at t = 0.

        Parameters
        ----------
        claim : the invariant for beliefs that are not stale
        harmless : whether all objectives hold
        improves : whether the beliefs shrink
        """
        return claim
