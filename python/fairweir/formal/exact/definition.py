"""Base class for the definition of a network model in exact fractions.

Each model is defined twice: as constraints for solvers (the encoding, :mod:`fairweir.formal.models`), and here, by
functions that share no code with the encoding. The functions check the traces that solvers find, and simulate random
traces.

Symbols: C, link rate; R, round-trip propagation delay; D, maximum jitter; units are such that C = R = 1. S: cumulative
bytes that the link has served, at each sample point. TA: cumulative bytes that have left the bottleneck's queue or, on
a CCAC link (a token bucket with jitter), the tokens admitted. `left`: cumulative bytes of one flow that have left the
queue.

A trace is the value of each curve at each sample point; a step is the time between two points.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from fairweir.formal.encoding.trace import FlowTrace, Trace
from fairweir.formal.exact.report import Violation

if TYPE_CHECKING:
    from fairweir.formal.exact.history import History


class Definition(ABC):
    """The behavior that a model allows for the bytes that the link's queue accepts. Losses, delays and the order of
    flows are the same for all models, and defined in :mod:`fairweir.formal.exact.network`.

    Attributes
    ----------
    name : str, name of the model
    has_jitter : bool, whether D may be above 0
    knows_losses_at_once : bool, whether senders know of a loss in the step in which the loss happens; otherwise one R
        later
    delays_each_flow : bool, whether, after the queue, each flow's bytes are delayed separately, so that the flow's
        `left` differs from the flow's S
    """

    name: str
    has_jitter: bool = True
    knows_losses_at_once: bool = False
    delays_each_flow: bool = False

    @abstractmethod
    def link(self, trace: Trace) -> Iterable[Violation]:
        """Yield a violation for each condition of the model on TA and S that a trace violates."""

    def admit(self, history: History, come: Fraction, ahead: Sequence[Sequence[Fraction]]) -> Fraction:
        """Return TA at the next sample point of a random simulation, in C R.

        Parameters
        ----------
        history : History, the simulation up to the current point
        come : cumulative bytes that have arrived by the next point, minus the bytes lost before this step, in C R
        ahead : for each flow, its rates in the steps of the next D, in C; empty if these rates are not known yet
        """
        raise NotImplementedError(f"no random traces of {self.name}")

    def serve(self, history: History, accepted: Fraction) -> bool:
        """Append the next point to each flow's `left` and `served` in a simulation.

        Return False if the model requires the service of bytes that have not arrived.

        Parameters
        ----------
        history : History, the simulation up to the current point
        accepted : cumulative bytes that have entered the queue, in C R
        """
        raise NotImplementedError(f"no random traces of {self.name}")

    def out(self, trace: Trace) -> Sequence[Fraction]:
        """Return the cumulative bytes that have left the first-in, first-out queue, at each point, in C R."""
        return trace.TA if self.delays_each_flow else trace.S

    def share(self, flow: FlowTrace) -> Sequence[Fraction]:
        """Return the cumulative bytes of one flow that have left the queue, at each point, in C R."""
        return flow.left if self.delays_each_flow else flow.S
