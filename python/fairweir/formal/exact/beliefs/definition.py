"""A family of beliefs by definition, in exact fractions: what its encoding is judged by."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from random import Random

from fairweir.formal.beliefs.choices import Terms
from fairweir.formal.encoding.trace import FlowTrace, Trace

#: Beliefs by name, a value at each point.
Columns = dict[str, list[Fraction]]
#: Beliefs by name at one point.
Values = Mapping[str, Fraction]


class BeliefDefinition(ABC):
    """Beliefs of a flow, from its observations.

    Attributes
    ----------
    name : str, of the family
    names : its beliefs
    """

    name: str
    names: tuple[str, ...]

    @abstractmethod
    def columns(self, trace: Trace, flow: FlowTrace, terms: Terms, first: Values) -> Columns:
        """Return the beliefs of a flow at every point, from their first values on.

        Parameters
        ----------
        trace : Trace, whose network the flow is in
        flow : FlowTrace
        terms : Terms, at the start and the end
        first : the values at t = 0, by belief
        """

    @abstractmethod
    def may_start(self, trace: Trace, first: Values) -> bool:
        """Return whether the values are possible at t = 0, stale ones included.

        Parameters
        ----------
        trace : Trace
        first : the values at t = 0, by belief
        """

    @abstractmethod
    def is_consistent(self, trace: Trace, terms: Terms, values: Values, t: int) -> bool:
        """Return whether the trace's network is consistent with the values at t.

        Parameters
        ----------
        trace : Trace
        terms : Terms, under which the beliefs are attached
        values : at t, by belief; C, or C R
        t : int, the point
        """

    def first_values(self, trace: Trace, terms: Terms, part: Fraction, random: Random) -> dict[str, Fraction]:
        """Draw values at t = 0 that the terms admit: consistent with the network, or any.

        Parameters
        ----------
        part : how far into its range the first belief is, 0 to 1
        """
        raise NotImplementedError(f"no random beliefs of {self.name}")

    def may_end(self, trace: Trace, values: Values) -> bool:
        """Return whether the values at the last point are possible, as the synthesis invariant asks."""
        return True

    def gains(self, own: Mapping[str, tuple[Fraction, ...]]) -> bool:
        """Return whether the beliefs admit fewer networks at the last point than at first."""
        return False

    def loses_nothing(self, own: Mapping[str, tuple[Fraction, ...]]) -> bool:
        """Return whether the beliefs admit no more networks at the last point than at first."""
        return True

    def unless_stale(self, trace: Trace, *, kept: bool, harmless: bool, shrinks: bool) -> bool:
        """Return whether the synthesis invariant holds where the first values may be stale.

        Parameters
        ----------
        kept : it holds for values that are not
        harmless : all objectives hold
        shrinks : the beliefs admit fewer networks than at first
        """
        return kept
