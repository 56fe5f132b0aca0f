"""A network model by definition, in exact fractions: what its encoding is judged by."""

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
    """Behaviour that a link may have for the bytes that its queue accepts; losses, delays and the order of flows
    follow.

    Attributes
    ----------
    name : str, of the model
    has_jitter : bool, D may be above 0
    knows_losses_at_once : bool, senders know of a loss in its step, else an R later
    delays_each_flow : bool, after the queue every flow's bytes wait for a delay of their own: its `left` is not its S
    """

    name: str
    has_jitter: bool = True
    knows_losses_at_once: bool = False
    delays_each_flow: bool = False

    @abstractmethod
    def link(self, trace: Trace) -> Iterable[Violation]:
        """Check TA and S of a trace."""

    def admit(self, history: History, come: Fraction, ahead: Sequence[Sequence[Fraction]]) -> Fraction:
        """Return TA at the next point of a random history, C R.

        Parameters
        ----------
        come : bytes that have come and were not lost before this step, C R
        ahead : per flow, its rates in the next D, C; empty if they are not known yet
        """
        raise NotImplementedError(f"no random traces of {self.name}")

    def serve(self, history: History, accepted: Fraction) -> bool:
        """Extend every flow's `left` and `served` by a point; return whether the bytes promised so far have come.

        Parameters
        ----------
        accepted : bytes that have entered the queue, C R
        """
        raise NotImplementedError(f"no random traces of {self.name}")

    def out(self, trace: Trace) -> Sequence[Fraction]:
        """Return the curve whose bytes leave in their order of arrival, C R."""
        return trace.TA if self.delays_each_flow else trace.S

    def share(self, flow: FlowTrace) -> Sequence[Fraction]:
        """Return a flow's part of :meth:`out`, C R."""
        return flow.left if self.delays_each_flow else flow.S
