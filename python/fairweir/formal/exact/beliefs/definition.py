"""Base class of the definitions of beliefs, in exact fractions.

A belief is a bound on the network that a flow infers from what it observes, such as a lower bound on the link rate. A
family is a group of beliefs that are computed together. Each family is defined twice: as constraints for solvers (the
encoding, :mod:`fairweir.formal.beliefs`), and here, as a function of a trace, which checks what the encoding returns. A
belief is stale if the link has changed since it was inferred. The synthesis invariant is the condition that each trace
of a synthesized algorithm must satisfy (:mod:`fairweir.formal.exact.invariant`).

Units: C, the link rate, and R, the round-trip propagation delay, are 1.

A trace is the value of each curve at each sample point; a step is the time between two points.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from random import Random

from fairweir.formal.beliefs.choices import Terms
from fairweir.formal.encoding.trace import FlowTrace, Trace

#: For each belief by name, its value at each point.
Columns = dict[str, list[Fraction]]
#: For each belief by name, its value at one point.
Values = Mapping[str, Fraction]


class BeliefDefinition(ABC):
    """The definition of one family of beliefs.

    Attributes
    ----------
    name : str, name of the family
    names : names of the family's beliefs
    """

    name: str
    names: tuple[str, ...]

    @abstractmethod
    def columns(self, trace: Trace, flow: FlowTrace, terms: Terms, first: Values) -> Columns:
        """Return the beliefs of a flow at every point, computed from their initial values.

        Parameters
        ----------
        trace : Trace, the trace of which the flow is a part
        flow : FlowTrace
        terms : Terms, the family's options: initial values, timeouts, resolution of delays
        first : for each belief by name, its value at t = 0
        """

    @abstractmethod
    def may_start(self, trace: Trace, first: Values) -> bool:
        """Return whether the values are possible at t = 0; stale values are possible.

        Parameters
        ----------
        trace : Trace
        first : for each belief by name, its value at t = 0
        """

    @abstractmethod
    def is_consistent(self, trace: Trace, terms: Terms, values: Values, t: int) -> bool:
        """Return whether the beliefs' values at t are true bounds on the trace's network.

        Parameters
        ----------
        trace : Trace
        terms : Terms, the family's options: initial values, timeouts, resolution of delays
        values : for each belief by name, its value at t, in C or C R
        t : int, the sample point
        """

    def first_values(self, trace: Trace, terms: Terms, part: Fraction, random: Random) -> dict[str, Fraction]:
        """Draw initial values: true of the trace's network, or arbitrary if the terms permit it.

        Parameters
        ----------
        trace : Trace
        terms : Terms, the family's options
        part : position of the family's first belief in the range of its possible values, from 0 to 1
        random : Random, source of random numbers
        """
        raise NotImplementedError(f"no random beliefs of {self.name}")

    def may_end(self, trace: Trace, values: Values) -> bool:
        """Return whether the values at the last point are possible, as the synthesis invariant requires."""
        return True

    def gains(self, own: Mapping[str, tuple[Fraction, ...]]) -> bool:
        """Return whether the beliefs exclude more networks at the last point than at the first."""
        return False

    def loses_nothing(self, own: Mapping[str, tuple[Fraction, ...]]) -> bool:
        """Return whether the beliefs exclude at least as many networks at the last point as at the first."""
        return True

    def unless_stale(self, trace: Trace, *, kept: bool, harmless: bool, shrinks: bool) -> bool:
        """Return whether the synthesis invariant holds if the initial values may be stale.

        Parameters
        ----------
        trace : Trace
        kept : whether the invariant holds for values that are not stale
        harmless : whether the trace satisfies the objectives of the invariant: utilization, queue and losses
        shrinks : whether the beliefs exclude more networks at the last point than at the first
        """
        return kept
