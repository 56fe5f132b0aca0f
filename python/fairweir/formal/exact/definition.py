"""The definition of a network model, in exact fractions. It judges the model's encoding."""

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
    """The behavior of a link for bytes that its queue accepts. Losses, delays and the order of flows follow from it.

    Attributes
    ----------
    name : str, name of the model
    has_jitter : bool, whether D may be above 0
    knows_losses_at_once : bool, whether senders know of a loss in the step in which it happens, else one R later
    delays_each_flow : bool, whether each flow has a delay of its own after the queue, so that its `left` is not its S
    """

    name: str
    has_jitter: bool = True
    knows_losses_at_once: bool = False
    delays_each_flow: bool = False

    @abstractmethod
    def link(self, trace: Trace) -> Iterable[Violation]:
        """Check TA and S of a trace."""

    def admit(self, history: History, come: Fraction, ahead: Sequence[Sequence[Fraction]]) -> Fraction:
        """Return TA at the next point of a random history, in C R.

        Parameters
        ----------
        come : bytes that have arrived and were not lost before this step, in C R
        ahead : for each flow, its rates in the next D, in C; empty if they are not known yet
        """
        raise NotImplementedError(f"no random traces of {self.name}")

    def serve(self, history: History, accepted: Fraction) -> bool:
        """Extend every flow's `left` and `served` by a point. Return False if bytes that must be served have not
        arrived.

        Parameters
        ----------
        accepted : bytes that have entered the queue, in C R
        """
        raise NotImplementedError(f"no random traces of {self.name}")

    def out(self, trace: Trace) -> Sequence[Fraction]:
        """Return the cumulative output of the first-in first-out queue, in C R."""
        return trace.TA if self.delays_each_flow else trace.S

    def share(self, flow: FlowTrace) -> Sequence[Fraction]:
        """Return a flow's part of :meth:`out`, in C R."""
        return flow.left if self.delays_each_flow else flow.S
