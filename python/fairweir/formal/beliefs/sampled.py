"""Check whether beliefs are true if the network works in steps shorter than R and the flow observes it once per R.

A belief is a bound on the network that a flow infers from what it observes. Symbols: C, link rate; R, round-trip
propagation delay; D, maximum jitter; units are such that C = R = 1. A, S, L: cumulative bytes that the flow sent, that
were served and that were lost. C_L and C_U: bounds on C from acknowledgments. C_L_lambda: lower bound on C from data
that were sent without a loss or a large delay. T*: the length of the intervals for C_L_lambda, which is R.

If a network works in steps of R/2 or R/4, it can waste capacity, lose bytes and drain the queue within one R in ways
that no trace with steps of R shows. A flow that reads its beliefs once per R observes every second or fourth point.

A trace is the value of each curve at each sample point; a step is the time between two points. A system is the
variables of a trace and the constraints on these variables, which form one question to a solver.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import z3

from fairweir.documents.arguments import words_for_enums
from fairweir.formal.beliefs.soundness import Bound
from fairweir.formal.encoding.buffers import Buffer
from fairweir.formal.encoding.grid import Grid
from fairweir.formal.encoding.system import Bit, Curve, System
from fairweir.formal.models import MODELS

#: Kinds of buffers: without losses, with rare losses and with frequent losses.
BUFFERS = (Buffer.INFINITE, Buffer.LARGE, Buffer.ARBITRARY)


@dataclass(frozen=True)
class Sampled:
    """A system with several steps per R, and its curves at the points that a flow observes, one per R; D = R."""

    system: System
    A: Curve
    S: Curve
    L: Curve

    @classmethod
    @words_for_enums
    def of(cls, model: str, points: int, per_r: int, buffer: Buffer) -> Sampled:
        """Build a system of which the flow observes `points` points, with `per_r` steps between two of them.

        Parameters
        ----------
        model : str, a name in `MODELS`
        points : int, number of points that the flow observes, R apart
        per_r : int, number of steps in one R
        buffer : Buffer
        """
        system = MODELS[model].build(Grid((points - 1) * per_r + 1, per_r), buffer)
        flow = system.flows[0]
        return cls(system, flow.A[::per_r], flow.S[::per_r], flow.L[::per_r])

    @property
    def points(self) -> int:
        """The number of points that the flow observes."""
        return len(self.A)

    def accepted(self, t: int) -> z3.ArithRef:
        """Return A - L at an observed point, in C R. A negative t is before the trace."""
        return self.system.flows[0].accepted(t * self.system.grid.per_r)

    def knows_loss(self, t: int) -> Bit:
        """Return the condition that, between the observed points t - 1 and t, the flow learned of losses that happened
        one R earlier.
        """
        return self.L[t - 1] > self.L[t - 2] if self.system.buffer.is_finite and t >= 2 else z3.BoolVal(False)


def bounds(points: int, per_r: int) -> Iterator[Bound]:
    """Yield a question for each belief: whether the bound is true on each trace. Controls are bounds that must fail.

    Parameters
    ----------
    points : int, number of points that the flow observes, R apart
    per_r : int, number of steps in one R
    """
    for buffer in BUFFERS:
        seen = Sampled.of("ccac", points, per_r, buffer)
        yield _bound(seen, per_r, "C_L <= C", max_served(seen), is_sound=True)
        yield _bound(seen, per_r, "C <= C_U", busy_served(seen), is_sound=buffer is Buffer.INFINITE)
    for buffer in BUFFERS:
        seen = Sampled.of("cbr-delay", points, per_r, buffer)
        at_once, later = quiet_sent(seen, wait=0), quiet_sent(seen, wait=1)
        yield _bound(seen, per_r, "C_L_lambda <= C, divisor 2", at_once, is_sound=buffer is not Buffer.ARBITRARY)
        yield _bound(seen, per_r, "C_L_lambda <= C, divisor 2, once losses are known", later, is_sound=True)


def _bound(seen: Sampled, per_r: int, claim: str, holds: Bit, *, is_sound: bool) -> Bound:
    kind = "" if is_sound else "control: "
    name = f"{kind}{seen.system.model} {seen.system.buffer}, R of {per_r} steps seen as one: {claim}"
    return Bound(name, claim, seen.system, holds, is_sound)


def max_served(seen: Sampled) -> Bit:
    """Return the condition that S(t) - S(s) <= C (t - s + D) for all pairs of observed points s < t."""
    spans = [(s, t) for t in range(seen.points) for s in range(t)]
    return z3.And(*(seen.S[t] - seen.S[s] <= t - s + 1 for s, t in spans))


def busy_served(seen: Sampled) -> Bit:
    """Return the condition that S(t) - S(s) >= C (t - s - D) if each R from s to t shows a delay above D or a loss."""
    busy = [z3.BoolVal(False)] + [_is_busy(seen, t) for t in range(1, seen.points)]
    spans = [(s, t) for t in range(seen.points) for s in range(t - 1)]
    return z3.And(*(z3.Implies(z3.And(*busy[s + 1 : t + 1]), seen.S[t] - seen.S[s] >= t - s - 1) for s, t in spans))


def quiet_sent(seen: Sampled, wait: int) -> Bit:
    """Return the condition that data sent within R are at most C (T* + D) = 2 C R if no loss and no large delay is
    observed.

    An interval counts once all data sent by its end have been served.

    Parameters
    ----------
    seen : Sampled
    wait : int, number of R after the end of an interval before it counts; after 1, losses in the interval are known
    """
    claims = []
    for t in range(2, seen.points):
        for end in range(2, t - wait + 1):
            loaded = [_is_loaded(seen, u) for u in range(end, t + 1)]
            counts = z3.And(seen.accepted(end) <= seen.S[t], z3.Not(z3.Or(*loaded)))
            claims.append(z3.Implies(counts, seen.A[end] - seen.A[end - 1] <= 2))
    return z3.And(*claims)


def _is_busy(seen: Sampled, t: int) -> Bit:
    delayed = z3.And(seen.S[t] > seen.S[t - 1], seen.S[t] <= seen.accepted(t - 2))
    return z3.Or(delayed, seen.knows_loss(t))


def _is_loaded(seen: Sampled, t: int) -> Bit:
    delayed = z3.And(seen.S[t] > seen.S[t - 1], seen.S[t - 1] < seen.accepted(t - 2))
    return z3.Or(delayed, seen.knows_loss(t))
