"""Beliefs of a sender that assumes a CBR-delay link: C_L_lambda and q_U (thesis section 4.2.2.1).

Data sent in an interval of length T* = R without delays above D or losses is at most C T* + C D and C T* + beta
(equations 4.2.2, 4.2.3). The thesis divides by T* + D = 2 R and probes at twice the bound. The published code knows
delays only to one step, divides by T* + D + 1 step = 3 R, and probes at three times the bound. docs/formal/models.md
has the results for both.
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

#: At a timeout C_L_lambda falls to no less than this fraction of its first value (published code).
LARGEST_FALL = Fraction(1, 2)


@words_for_enums
def reach(grid: Grid, resolution: Resolution) -> Fraction:
    """Return T* + D, or one step more, in R. C_L_lambda times this is certain to fit into T*; a probe sends more.

    Parameters
    ----------
    grid : Grid
    resolution : Resolution of the flow's delays; if they are known to one step, the result is one step more
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
    """Add the beliefs ``C_L_lambda`` (C) and ``q_U`` (C R) to a flow.

    ``q_U`` bounds the whole bottleneck queue, so it is only meaningful for a single flow.

    Parameters
    ----------
    system : System
    flow : int, index of the flow; it sends by rate
    start : Start, what the bounds may be at t = 0
    expiry : Expiry, when the beliefs are recomputed at the last point
    resolution : Resolution of the flow's delays
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
    """Return whether C_L_lambda(t) admits C and beta.

    Parameters
    ----------
    t : int, the point
    flow : int, index of the flow
    """
    own = system.flows[flow]
    lower = own.beliefs["C_L_lambda"][t]
    if system.beta is None:
        return lower <= 1
    return z3.And(lower <= 1, 1 + system.beta >= reach(system.grid, own.attached["cbr-delay"].resolution) * lower)


def consistent_queue(system: System, t: int, flow: int = 0) -> Bit:
    """Return whether q_U(t) is at least the bytes in the bottleneck's queue."""
    return system.flows[flow].beliefs["q_U"][t] >= system.bottleneck_queue(t)


def _quiet_steps(system: System, flow: int) -> list[Bit]:
    """Return, for each point, whether the step before it showed no loss and no delay above the bound's jitter."""
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
    """Return samples of the rate bound: for each interval that ends by t minus its delay, its condition and its rate.

    All losses in the interval must be known, which takes R. With one step per R, they are already known at the
    interval's end if all data sent by then are served: the queue is empty, so no data were lost in that step.
    """
    own, length = system.flows[flow], system.grid.r_steps
    out = []
    for end in range(length, t + 1 if length == 1 else t - length + 1):
        counts = z3.And(own.accepted(end) <= own.S[t], *quiet[end - length + 1 : t + 1])
        out.append((counts, (own.A[end] - own.A[end - length]) * (1 / room)))
    return out


def _is_queue_bound(system: System, flow: int, t: int) -> list[z3.BoolRef]:
    """Define q_U(t) = min(inflight, max(0, q_U(t-1) + data sent - C_L_lambda(t)))."""
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
    """Return whether C_L_lambda times out at the last point.

    The reasons are a large loss; a probe followed by two R without a probe and an inflight above 2 alpha; or probes
    less than 3 R apart.
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
    """Return whether the trace shows that C_L_lambda is above C, or leaves no room for beta.

    If neither, a step's service leaves at most the data sent in the step and the previous q_U, as the jitter is one
    step; and a step loses at most the data that it sends and that is queued, less the guaranteed capacity, C T* + beta.

    Parameters
    ----------
    system : System, one step per R, D = R
    flow : int, index of the flow, with C_L_lambda and q_U

    Raises
    ------
    ConfigError : the steps of the grid are not R = D
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
    """A lower bound on a constant link rate, and an upper bound on the queue: C_L_lambda and q_U."""

    name = "cbr-delay"
    names = ("C_L_lambda", "q_U")
    variants = tuple(Variant(Terms(resolution=one), f", delays to the {one}") for one in Resolution)
    claims = {
        "C_L_lambda <= C, and with its room below C T* + beta": consistent_rate,
        "bq <= q_U": consistent_queue,
    }

    def attach(self, system: System, *, flow: int = 0, terms: Terms = USUAL) -> None:
        """Add the beliefs to a flow."""
        attach(system, flow=flow, start=terms.start, expiry=terms.expiry, resolution=terms.resolution)

    @words_for_enums
    def is_sound_on(self, model: Model, buffer: Buffer) -> bool:
        """Return whether the queue is served at C while it has bytes."""
        return model.has_constant_rate

    def consistent(self, system: System, t: int, flow: int = 0) -> list[Bit]:
        """Return the conditions under which the bounds admit C, beta and the bottleneck's queue."""
        return [consistent_rate(system, t, flow), consistent_queue(system, t, flow)]

    def may_end(self, system: System) -> list[Bit]:
        """Return the conditions under which the bounds at the last point are possible."""
        own, last = system.flows[0].beliefs, system.grid.last
        return [own["C_L_lambda"][last] >= system.alpha, own["q_U"][last] >= 0]

    def gains(self, system: System) -> Bit:
        """Return whether C_L_lambda is higher at the last point than at the first."""
        lower = system.flows[0].beliefs["C_L_lambda"]
        return lower[system.grid.last] > lower[0]

    def loses_nothing(self, system: System) -> Bit:
        """Return whether C_L_lambda is at the last point at least its first value."""
        lower = system.flows[0].beliefs["C_L_lambda"]
        return lower[system.grid.last] >= lower[0]

    def unless_stale(self, system: System, claim: Bit, harmless: Bit, improves: Bit) -> Bit:
        """Return the condition that C_L_lambda, if it is above C, falls, becomes invalid, or violates no objective."""
        lower, last = system.flows[0].beliefs["C_L_lambda"], system.grid.last
        return z3.If(lower[0] > 1, z3.Or(lower[last] < lower[0], lower[last] < system.alpha, harmless), claim)
