"""A network model: its encoding for solvers, its definition that judges traces, and what follows from it."""

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
    """The elements of the simulator that a trace of the model is replayed on.

    Attributes
    ----------
    varies : bool, the bottleneck's rate is the slope of min(TA, A - L); else C while bytes wait
    delays : bool, a second link behind it serves according to S, at most D later
    """

    varies: bool = False
    delays: bool = True


class Model(ABC):
    """A network model: what its link may do with the bytes that its queue accepts.

    Arrivals, losses at a full buffer, the order of several flows and the delays they see are those of every model, and
    are added here. A subclass says how TA and S relate to them, twice: :meth:`constrain` for solvers, and
    :meth:`violations` (or a `definition`) for exact fractions. The two must share no code, as one judges the other.

    Attributes
    ----------
    name : str, of the model; a trace carries it
    has_jitter : bool, D may be above 0; without, the bottleneck's queue is all that waits
    knows_losses_at_once : bool, senders know of a loss in its step, else an R later
    delays_each_flow : bool, ``system.left`` is set: each flow's bytes wait for a delay of their own after the queue
    has_constant_rate : bool, the queue is served at C while it has bytes, so that C_L_lambda and q_U are sound
    beliefs : str, the family of beliefs with which rules for this model are synthesised
    packets : PacketPath, on what traces are replayed; None: they are not
    acks : Acks, whether acknowledgements may pause unless a question says
    source : str, the user's file, or None
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

        A model with tokens or a queue of its own sets ``system.TA``, the bytes that may have left the bottleneck at
        each point; without, TA is S.
        """

    @abstractmethod
    def violations(self, trace: Trace) -> Iterable[Violation]:
        """Check TA and S of a trace by definition, in exact fractions and without solver or encoding."""

    @property
    def definition(self) -> Definition:
        """The judge of its traces."""
        return _Own(self)

    @property
    def summary(self) -> str:
        """One line: the start of the class's docstring."""
        words = (inspect.getdoc(type(self)) or "").partition("\n")[0].rstrip(".")
        return words if self.acks is Acks.MAY_PAUSE else f"{words}; ACKs never pause, as in the published code"

    @words_for_enums
    def build(
        self, grid: Grid, buffer: Buffer, senders: Sequence[Sender] = (Sender.RATE,), acks: Acks | None = None
    ) -> System:
        """Build a question's variables and constraints.

        Parameters
        ----------
        grid : Grid; its D counts as 0 on a link without jitter
        buffer : Buffer, at the bottleneck
        senders : constraint on each flow's arrivals, one per flow
        acks : Acks, or None for the model's own; without jitter they have nothing to pause for
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
        """Return the model with acknowledgements that never pause, as in the published code."""
        variant = copy.copy(self)
        variant.acks = Acks.STEADY
        return variant


class _Own(Definition):
    """The definition of a model that judges its traces itself."""

    def __init__(self, model: Model) -> None:
        self.name, self._model = model.name, model
        self.has_jitter, self.delays_each_flow = model.has_jitter, model.delays_each_flow
        self.knows_losses_at_once = model.knows_losses_at_once

    def link(self, trace: Trace) -> Iterable[Violation]:
        """Check TA and S of a trace."""
        return self._model.violations(trace)
