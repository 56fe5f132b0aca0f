"""Base class of network models: constraints for solvers, a definition that checks traces, and properties.

Symbols: C, link rate; R, round-trip propagation delay; D, maximum jitter; units are such that C = R = 1. A, S, L:
cumulative bytes sent, served and lost, at sample point t. TA: the bytes that have left the bottleneck's queue or, on a
CCAC link (a token bucket with jitter), the tokens admitted. C_L_lambda and q_U: a sender's lower bound on C and upper
bound on the queue.

A belief is a bound on the network that a flow infers from what it observes. A rule is a congestion control algorithm
whose rate is a function of beliefs. A question is one model with a grid (sample points), a buffer and senders, for
which a solver searches for a trace. A trace is the value of each curve at each sample point.
"""

from __future__ import annotations

import copy
import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

from fairweir.documents.arguments import words_for_enums
from fairweir.formal.encoding.buffers import Buffer
from fairweir.formal.encoding.grid import Grid
from fairweir.formal.encoding.system import Acks, Sender, System
from fairweir.formal.encoding.trace import Trace
from fairweir.formal.exact.definition import Definition
from fairweir.formal.exact.report import Violation
from fairweir.formal.models.delay import delays
from fairweir.formal.models.fifo import in_order
from fairweir.formal.models.loss import tail_drop


@dataclass(frozen=True)
class PacketPath:
    """The simulator's path on which a trace of the model is replayed.

    Attributes
    ----------
    varies : bool, whether the bottleneck's rate follows the trace, as the slope of min(TA, A - L); otherwise the
        bottleneck has the rate C
    delays : bool, whether a second link follows the bottleneck and delays each byte by at most D, such that the bytes
        that have left the second link are S
    """

    varies: bool = False
    delays: bool = True


class Model(ABC):
    """A network model: what the link may do with the bytes that its queue accepts.

    This class adds the constraints that all models share: on arrivals, on losses at a full buffer, on the order in
    which the bytes of several flows are served, and on the delays that flows observe. A subclass defines how TA and S
    depend on arrivals and losses, and defines this twice: in :meth:`constrain` for solvers, and in :meth:`violations`
    (or a `definition`) in exact fractions. The two definitions must share no code, because the definition in fractions
    checks the traces that solvers find.

    Attributes
    ----------
    name : str, name of the model, which its traces contain
    has_jitter : bool, whether D may be above 0; without jitter, bytes wait only in the bottleneck's queue
    knows_losses_at_once : bool, whether senders know of a loss in the step in which the loss happens; otherwise one R
        later
    delays_each_flow : bool, whether each flow's bytes are delayed separately after the queue; the model then sets
        ``system.left``, the bytes of each flow that have left the queue
    has_constant_rate : bool, whether the queue is served at C while it has bytes; C_L_lambda and q_U are then true
    beliefs : str, name of the family of beliefs that rules synthesized for this model read
    packets : PacketPath, the path on which traces are replayed; None: traces are not replayed
    acks : Acks, whether acknowledgments may pause while bytes wait; a question may override this value
    source : str, the user's file that contains the model; None: the model is part of fairweir
    """

    name: str
    has_jitter: bool = True
    knows_losses_at_once: bool = False
    delays_each_flow: bool = False
    has_constant_rate: bool = False
    beliefs: str = "ccac"
    packets: PacketPath | None = None
    acks: Acks = Acks.MAY_PAUSE
    source: str | None = None

    @abstractmethod
    def constrain(self, system: System) -> None:
        """Add the constraints on TA and S to a system, in named groups (:meth:`System.require`).

        A model in which TA differs from S sets ``system.TA``: the bytes that may have left the bottleneck by each
        point. If the method does not set ``system.TA``, TA is S.
        """

    @abstractmethod
    def violations(self, trace: Trace) -> Iterable[Violation]:
        """Yield each condition on TA and S that a trace violates, computed in exact fractions without a solver."""

    @property
    def definition(self) -> Definition:
        """The definition that checks the model's traces."""
        return _Own(self)

    @property
    def summary(self) -> str:
        """The first line of the class's docstring."""
        words = (inspect.getdoc(type(self)) or "").partition("\n")[0].rstrip(".")
        return words if self.acks is Acks.MAY_PAUSE else f"{words}; ACKs never pause, as in the published code"

    @words_for_enums
    def build(
        self, grid: Grid, buffer: Buffer, senders: Sequence[Sender] = (Sender.RATE,), acks: Acks | None = None
    ) -> System:
        """Build a question's variables and constraints.

        Parameters
        ----------
        grid : Grid, the sample points; if the link has no jitter, D = 0 replaces the grid's D
        buffer : Buffer, kind of buffer at the bottleneck
        senders : for each flow, the limit on its sending: a rate or a window
        acks : Acks, whether acknowledgments may pause; None: as the model's `acks` says. Without jitter,
            acknowledgments never pause
        """
        if not self.has_jitter:
            grid, acks = grid.without_jitter(), Acks.MAY_PAUSE
        system = System(self, grid, buffer, senders, self.acks if acks is None else acks)
        self.constrain(system)
        system.require("loss", *tail_drop(system))
        several = len(system.flows) > 1
        if several:
            shares = system.left if self.delays_each_flow else [flow.S for flow in system.flows]
            system.require("order", *in_order(system, system.TA if self.delays_each_flow else system.S, shares))
        for i, flow in enumerate(system.flows):
            system.require("delay", *delays(system, flow, i if several else None))
        return system

    def published(self) -> Self:
        """Return a copy of the model whose acknowledgments never pause while bytes wait, as in the published code."""
        variant = copy.copy(self)
        variant.acks = Acks.STEADY
        return variant


class _Own(Definition):
    """The definition of a model whose `violations` method checks its traces."""

    def __init__(self, model: Model) -> None:
        self.name, self._model = model.name, model
        self.has_jitter, self.delays_each_flow = model.has_jitter, model.delays_each_flow
        self.knows_losses_at_once = model.knows_losses_at_once

    def link(self, trace: Trace) -> Iterable[Violation]:
        """Yield a violation for each condition on TA and S that a trace violates."""
        return self._model.violations(trace)
