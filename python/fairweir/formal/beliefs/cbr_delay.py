"""The bounds C_L_lambda and q_U of a flow on a constant-rate link, as constraints for solvers (thesis section 4.2.2.1).

Both are beliefs: bounds on the network that a flow infers from what it observes. C_L_lambda is a lower bound on the
link rate; q_U is an upper bound on the bytes in the bottleneck's queue. A belief is stale if it was true of an earlier
link only. Symbols: C, link rate; R, round-trip propagation delay; D, maximum jitter; units are such that C = R = 1. A,
S, L: cumulative bytes that the flow sent, that were served and that were lost, at sample point t. T*: the length of the
intervals from which the flow computes C_L_lambda, which is R. alpha: one MSS. beta: size of the buffer.

If no loss and no delay above D is observed, the data sent in an interval of length T* are at most C T* + C D (equation
4.2.2) and at most C T* + beta (4.2.3). The thesis therefore divides the data by T* + D = 2 R, and a probe sends at
twice C_L_lambda. The published code knows delays only to one step, divides by T* + D + 1 step = 3 R, and probes at
three times C_L_lambda. docs/formal/models.md has the results for both.

A trace is the value of each curve at each sample point; a step is the time between two points. A system is the
variables of a trace and the constraints on these variables, which form one question to a solver.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import z3

from fairweir.documents.arguments import words_for_enums
from fairweir.errors import ConfigError
from fairweir.formal.beliefs.choices import Expiry, Resolution, Start, Terms, needs_rate
from fairweir.formal.beliefs.family import USUAL, Family, Variant
from fairweir.formal.beliefs.samples import Sample, is_largest
from fairweir.formal.encoding.buffers import Buffer
from fairweir.formal.encoding.grid import Grid
from fairweir.formal.encoding.system import Bit, System, is_max
from fairweir.formal.models.delay import first_byte_delays

if TYPE_CHECKING:
    from fairweir.formal.models.model import Model

#: At a timeout, C_L_lambda falls, but keeps at least this fraction of its first value (published code).
LARGEST_FALL = Fraction(1, 2)


@words_for_enums
def reach(grid: Grid, resolution: Resolution) -> Fraction:
    """Return T* + D or, if delays are known to one step only, T* + D + 1 step, in R.

    The link can carry C_L_lambda times this length within T*. A step in which the flow sends at a higher rate is a
    probe.

    Parameters
    ----------
    grid : Grid
    resolution : Resolution, the precision with which the flow knows delays
    """
    return 1 + grid.jitter + (grid.step if resolution is Resolution.STEP else 0)


@words_for_enums
def attach(
    system: System,
    *,
    flow: int = 0,
    start: Start = Start.CONSISTENT,
    expiry: Expiry = Expiry.NEVER,
    resolution: Resolution = Resolution.STEP,
) -> None:
    """Add the beliefs ``C_L_lambda`` (in C) and ``q_U`` (in C R) to a flow.

    ``q_U`` bounds the queue of all flows, so it is meaningful only if the system has one flow.

    Parameters
    ----------
    system : System
    flow : int, index of the flow, which must send by rate
    start : Start, whether the bounds may be stale at t = 0
    expiry : Expiry, the condition under which the beliefs time out at the last point
    resolution : Resolution, the precision with which the flow knows delays
    """
    needs_rate(system.flows[flow].sender)
    stem = flow if len(system.flows) > 1 else None
    lower, most = system.reals("C_L_lambda", stem), system.reals("q_U", stem)
    own, last, group = system.flows[flow], system.grid.last, f"beliefs {flow}"
    own.beliefs |= {"C_L_lambda": lower, "q_U": most}
    own.attached["cbr-delay"] = Terms(start, expiry, resolution)
    expires = expiry is not Expiry.NEVER
    kept = z3.Real(f"{lower[last]}_kept") if expires else lower[last]
    system.require(group, lower[0] >= system.alpha, most[0] >= 0)
    if start is Start.CONSISTENT:
        system.require(group, consistent_rate(system, 0, flow), consistent_queue(system, 0, flow))
    quiet = _quiet_steps(system, flow)
    room = reach(system.grid, resolution)
    samples: list[Sample] = []
    for t in range(1, system.grid.points):
        now = _samples(system, flow, t, quiet, room)
        samples += now
        system.require(group, *is_largest(kept if t == last else lower[t], lower[t - 1], now))
        if not (expires and t == last):
            system.require(group, *_is_queue_bound(system, flow, t))
    if expires:
        fresh = z3.Real(f"{lower[last]}_fresh")
        ends = contradicted(system, flow) if expiry is Expiry.ON_CONTRADICTION else _ends(system, flow, room)
        floor = LARGEST_FALL * lower[0]
        system.require(
            f"time-outs {flow}",
            *is_largest(fresh, system.alpha, samples),
            *(z3.Implies(ends, bound) for bound in is_max(lower[last], [fresh, floor])),
            z3.Implies(z3.Not(ends), lower[last] == kept),
            most[last] == own.inflight(last),
        )


def consistent_rate(system: System, t: int, flow: int = 0) -> Bit:
    """Return the condition that C_L_lambda(t) is at most C and at most (C T* + beta) / :func:`reach`.

    Parameters
    ----------
    t : int, the sample point
    flow : int, index of the flow
    """
    own = system.flows[flow]
    lower = own.beliefs["C_L_lambda"][t]
    if system.beta is None:
        return lower <= 1
    return z3.And(lower <= 1, 1 + system.beta >= reach(system.grid, own.attached["cbr-delay"].resolution) * lower)


def consistent_queue(system: System, t: int, flow: int = 0) -> Bit:
    """Return the condition that q_U(t) is at least the bytes in the bottleneck's queue."""
    return system.flows[flow].beliefs["q_U"][t] >= system.bottleneck_queue(t)


def _quiet_steps(system: System, flow: int) -> list[Bit]:
    """Return, for each t, the condition that in the step up to t the flow saw no loss and no delay above D (or D + 1
    step, if it knows delays to one step only).
    """
    own = system.flows[flow]
    blur = 1 if own.attached["cbr-delay"].resolution is Resolution.STEP else 0
    long = system.grid.d_steps + blur + 1
    bits = first_byte_delays(system, own)
    known = own.L if system.network.knows_losses_at_once else own.Ld
    out: list[Bit] = [z3.BoolVal(True)]
    for t in range(1, system.grid.points):
        delayed = [own.S[t] > own.S[t - 1]]
        delayed += [bits[t][long]] if long < len(bits[t]) else [z3.BoolVal(False)]
        lost = [known[t] > known[t - 1]] if system.buffer.is_finite else []
        out.append(z3.Not(z3.Or(z3.And(*delayed), *lost)))
    return out


def _samples(system: System, flow: int, t: int, quiet: list[Bit], room: Fraction) -> list[Sample]:
    """Return lower bounds on C that become known by t, each with the condition under which it is valid.

    Each bound is from one interval of length T*. The flow must know all losses of the interval, which takes R. If a
    step is one R long, the losses are known at the end of the interval if all data sent by then are served: the queue
    is then empty, so no data were lost in the step.
    """
    own, length = system.flows[flow], system.grid.r_steps
    out = []
    for end in range(length, t + 1 if length == 1 else t - length + 1):
        counts = z3.And(own.accepted(end) <= own.S[t], *quiet[end - length + 1 : t + 1])
        out.append((counts, (own.A[end] - own.A[end - length]) * (1 / room)))
    return out


def _is_queue_bound(system: System, flow: int, t: int) -> list[z3.BoolRef]:
    """Return the constraints that q_U(t) = min(inflight, max(0, q_U(t-1) + data sent in the step - C_L_lambda(t)))."""
    own = system.flows[flow]
    lower, most = own.beliefs["C_L_lambda"], own.beliefs["q_U"]
    left = most[t - 1] + own.A[t] - own.A[t - 1] - lower[t] * system.grid.step
    value, inflight = most[t], own.inflight(t)
    return [
        value <= inflight,
        z3.Or(value <= 0, value <= left),
        z3.Or(value >= inflight, z3.And(value >= 0, value >= left)),
    ]


def _ends(system: System, flow: int, room: Fraction) -> Bit:
    """Return the condition that C_L_lambda times out: its last value is then computed from this trace only.

    One of three reasons suffices: one step loses more than T - 1 MSS (T: number of points); or the last probe ends 2 R
    or more before the end of the trace, where more than 2 alpha are in flight; or two probes are less than 3 R apart.
    """
    own, grid = system.flows[flow], system.grid
    last, spacing = grid.last, 3 * grid.r_steps
    lower = own.beliefs["C_L_lambda"]
    probes = [z3.BoolVal(False), *(own.rate[t] > room * lower[t - 1] for t in range(1, grid.points))]
    large = [own.L[t] - own.L[t - 1] > last * system.alpha for t in range(1, grid.points)]
    calm = 2 * grid.r_steps
    undrained = z3.And(
        z3.Or(*probes[: grid.points - calm]),
        *(z3.Not(probe) for probe in probes[grid.points - calm :]),
        own.inflight(last) > 2 * system.alpha,
    )
    crowded = [z3.And(probes[s], probes[t]) for t in range(1, grid.points) for s in range(max(1, t - spacing + 1), t)]
    return z3.Or(*(large if system.buffer.is_finite else []), undrained, *crowded)


def contradicted(system: System, flow: int = 0) -> Bit:
    """Return the condition that the trace shows C_L_lambda to be false: above C, or too large for C T* + beta.

    If C_L_lambda is true, two bounds hold, because the jitter is one step. After a step, the data in flight are at most
    the data sent in the step and the previous q_U. A step loses at most the data that it sends plus q_U, minus
    C_L_lambda times :func:`reach`. The trace contradicts C_L_lambda if one of the two bounds fails.

    Parameters
    ----------
    system : System, with steps of length R = D
    flow : int, index of a flow that has C_L_lambda and q_U

    Raises
    ------
    ConfigError : the length of a step is not R = D
    """
    own, grid = system.flows[flow], system.grid
    if (grid.r_steps, grid.d_steps) != (1, 1):
        raise ConfigError("contradicted beliefs are known for steps of R = D only", key="per-r")
    room = reach(grid, own.attached["cbr-delay"].resolution)
    lower, most = own.beliefs["C_L_lambda"], own.beliefs["q_U"]
    found: list[Bit] = []
    for t in range(1, grid.points):
        sent = own.A[t] - own.A[t - 1]
        found.append(own.inflight(t) > sent + most[t - 1])
        if system.buffer.is_finite and t < grid.last:
            lost = own.Ld[t + 1] - own.Ld[t]
            found.append(z3.And(lost > 0, lost > most[t - 1] + sent - room * lower[t - 1]))
    return z3.Or(*found)


class CbrDelay(Family):
    """The family of C_L_lambda, a lower bound on a constant link rate, and q_U, an upper bound on the queue."""

    name = "cbr-delay"
    names = ("C_L_lambda", "q_U")
    variants = tuple(Variant(Terms(resolution=one), f", delays to the {one}") for one in Resolution)
    claims = {
        "C_L_lambda <= C, and with its room below C T* + beta": consistent_rate,
        "bq <= q_U": consistent_queue,
    }

    def attach(self, system: System, *, flow: int = 0, terms: Terms = USUAL) -> None:
        """Add C_L_lambda and q_U to a flow."""
        attach(system, flow=flow, start=terms.start, expiry=terms.expiry, resolution=terms.resolution)

    @words_for_enums
    def is_sound_on(self, model: Model, buffer: Buffer) -> bool:
        """Return whether the model's link serves the queue at C while the queue has bytes."""
        return model.has_constant_rate

    def consistent(self, system: System, t: int, flow: int = 0) -> list[Bit]:
        """Return the conditions that C_L_lambda(t) and q_U(t) are true of the network."""
        return [consistent_rate(system, t, flow), consistent_queue(system, t, flow)]

    def may_end(self, system: System) -> list[Bit]:
        """Return the conditions C_L_lambda >= alpha and q_U >= 0 at the last point."""
        own, last = system.flows[0].beliefs, system.grid.last
        return [own["C_L_lambda"][last] >= system.alpha, own["q_U"][last] >= 0]

    def gains(self, system: System) -> Bit:
        """Return the condition that C_L_lambda is higher at the last point than at the first."""
        lower = system.flows[0].beliefs["C_L_lambda"]
        return lower[system.grid.last] > lower[0]

    def loses_nothing(self, system: System) -> Bit:
        """Return the condition that the last value of C_L_lambda is at least its first value."""
        lower = system.flows[0].beliefs["C_L_lambda"]
        return lower[system.grid.last] >= lower[0]

    def unless_stale(self, system: System, claim: Bit, harmless: Bit, improves: Bit) -> Bit:
        """Return the synthesis invariant, which each trace of a candidate algorithm must satisfy, for a stale
        C_L_lambda.

        If the initial C_L_lambda is above C, one of three conditions suffices: C_L_lambda falls, C_L_lambda ends below
        alpha, or the trace satisfies all objectives (`harmless`). Otherwise the result is `claim`, the invariant
        without stale beliefs.
        """
        lower, last = system.flows[0].beliefs["C_L_lambda"], system.grid.last
        return z3.If(lower[0] > 1, z3.Or(lower[last] < lower[0], lower[last] < system.alpha, harmless), claim)
