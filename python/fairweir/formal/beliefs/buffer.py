"""The bounds beta_L and beta_U of a flow on beta, the size of the bottleneck's buffer, as constraints for solvers.

Both are beliefs: bounds on the network that a flow infers from what it observes. Thesis section 4.1.1 names beta_L,
without a formula. Symbols: C, link rate; R, round-trip propagation delay; D, maximum jitter; units are such that C = R
= 1. C_L and C_U: the flow's bounds on C. A, S, L, Ld: cumulative bytes that the flow sent, that were served, that were
lost, and whose loss the flow knows, at sample point t. qdel_L: the flow's lower bound on the queueing delay.

A flow knows of a loss after R, so it knows now the bytes q = A - L - S that waited R ago. Of these bytes, at most beta
wait in the buffer and at most C D because of jitter, so beta >= q - C_U D. If a byte waited at the bottleneck for
qdel_L, there were C qdel_L bytes before it, so beta >= C_L qdel_L. When bytes are lost, the buffer is full, so beta <=
q. Without jitter, beta_L = beta_U after the first loss.

A trace is the value of each curve at each sample point; a step is the time between two points. A system is the
variables of a trace and the constraints on these variables, which form one question to a solver.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import z3

from fairweir.documents.arguments import words_for_enums
from fairweir.errors import ConfigError
from fairweir.formal.beliefs.choices import Start, Terms, needs_rate
from fairweir.formal.beliefs.family import USUAL, Family
from fairweir.formal.beliefs.samples import Sample, is_largest, is_minimum
from fairweir.formal.encoding.buffers import Buffer
from fairweir.formal.encoding.system import Bit, System

if TYPE_CHECKING:
    from fairweir.formal.models.model import Model


@words_for_enums
def attach(system: System, *, flow: int = 0, start: Start = Start.CONSISTENT) -> None:
    """Add the beliefs ``beta_L`` and ``beta_U``, in C R, to a flow that has C_L and C_U. They are true bounds if the
    system has no other flow.

    Parameters
    ----------
    system : System, with a finite buffer
    flow : int, index of the flow, which must send by rate and have C_L and C_U
    start : Start, whether the bounds may be stale (false) at t = 0

    Raises
    ------
    ConfigError : the buffer is infinite, a window limits the flow, or the flow has no C_L and C_U
    """
    own = system.flows[flow]
    needs_rate(own.sender)
    if system.beta is None:
        raise ConfigError("an infinite buffer has no size to bound", key="buffer", value=str(system.buffer))
    if "ccac" not in own.attached:
        raise ConfigError(
            "bounds on the buffer need bounds on the rate", key="beliefs", hint="attach C_L and C_U first"
        )
    stem = flow if len(system.flows) > 1 else None
    lower, upper = system.reals("beta_L", stem), system.reals("beta_U", stem)
    own.beliefs |= {"beta_L": lower, "beta_U": upper}
    own.attached["buffer"] = Terms(start)
    group = f"beliefs {flow}"
    system.require(group, lower[0] >= 0, upper[0] >= lower[0])
    if start is Start.CONSISTENT:
        system.require(group, lower[0] <= system.beta, upper[0] >= system.beta)
    for t in range(1, system.grid.points):
        system.require(group, *is_largest(lower[t], lower[t - 1], _held(system, flow, t)))
        system.require(group, *is_minimum(upper[t], upper[t - 1], _overflowed(system, flow, t)))


def known_queue(system: System, t: int, flow: int = 0) -> z3.ArithRef:
    """Return A - L - S one R before t, in C R. The flow knows this number at t >= R, because L(t - R) = Ld(t).

    Parameters
    ----------
    t : int, a sample point at or after R
    flow : int, index of the flow
    """
    own, then = system.flows[flow], t - system.grid.r_steps
    return own.A[then] - own.Ld[t] - own.S[then]


def shows_overflow(system: System, t: int, flow: int = 0) -> Bit:
    """Return the condition that a loss in a step of the trace becomes known at t.

    Losses before the trace do not count, because the steps in which they happened are unknown.

    Parameters
    ----------
    t : int, the sample point
    flow : int, index of the flow
    """
    own = system.flows[flow]
    return own.Ld[t] > own.Ld[t - 1] if t > system.grid.r_steps else z3.BoolVal(False)


def _held(system: System, flow: int, t: int) -> list[Sample]:
    """Return lower bounds on beta that hold at t, each with its condition: from the delay at t, and from the queue one
    R earlier.
    """
    own, grid = system.flows[flow], system.grid
    out: list[Sample] = [
        (own.delay[t][k], own.beliefs["C_L"][t] * ((k - grid.d_steps) * grid.step))
        for k in range(grid.d_steps + 1, len(own.delay[t]))
    ]
    if t >= grid.r_steps:
        out.append((z3.BoolVal(True), known_queue(system, t, flow) - own.beliefs["C_U"][t] * grid.jitter))
    return out


def _overflowed(system: System, flow: int, t: int) -> list[Sample]:
    return [(shows_overflow(system, t, flow), known_queue(system, t, flow))] if t > system.grid.r_steps else []


class BufferSize(Family):
    """The family of beta_L and beta_U, bounds on the size of the buffer."""

    name = "buffer"
    names = ("beta_L", "beta_U")
    needs = ("ccac",)
    claims = {
        "beta_L <= beta": lambda system, t: system.flows[0].beliefs["beta_L"][t] <= system.beta,
        "beta <= beta_U": lambda system, t: system.flows[0].beliefs["beta_U"][t] >= system.beta,
    }

    def attach(self, system: System, *, flow: int = 0, terms: Terms = USUAL) -> None:
        """Add beta_L and beta_U to a flow. These beliefs have no timeouts."""
        attach(system, flow=flow, start=terms.start)

    @words_for_enums
    def is_sound_on(self, model: Model, buffer: Buffer) -> bool:
        """Return whether the buffer is finite. On each model, service lags a server of rate C by at most D, so the
        bounds are true.
        """
        return buffer.is_finite

    def consistent(self, system: System, t: int, flow: int = 0) -> list[Bit]:
        """Return the conditions beta_L <= beta and beta <= beta_U at t."""
        own = system.flows[flow].beliefs
        return [own["beta_L"][t] <= system.beta, own["beta_U"][t] >= system.beta]
