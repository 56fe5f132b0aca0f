"""Compute the number that a property bounds from the curves of a trace or of a packet run.

The functions apply the definitions in Python's fractions, so that the result of a refutation depends on neither the
encoding nor a solver. :mod:`fairweir.formal.encoding.properties` has the encodings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from fairweir.formal.encoding.demands import LARGE_LOSS, QUEUE_PACKETS
from fairweir.formal.encoding.grid import Grid
from fairweir.formal.encoding.trace import Trace


@dataclass(frozen=True)
class Curves:
    """Cumulative curves at the sample points, summed over flows, in C R with C = R = 1.

    Attributes
    ----------
    alpha : MSS, C R
    A, S, L : data sent, served and lost
    Ld : losses known to the senders
    out : data that has left the bottleneck's queue: min(TA, A - L)
    TA : tokens (CCAC); equal to `out` in other models
    served : S of each flow
    blur : error of the curves, C R; losses up to this size are not counted
    """

    grid: Grid
    alpha: Fraction
    A: Sequence[Fraction]
    S: Sequence[Fraction]
    L: Sequence[Fraction]
    Ld: Sequence[Fraction]
    out: Sequence[Fraction]
    TA: Sequence[Fraction]
    served: Sequence[Sequence[Fraction]]
    blur: Fraction = Fraction(0)

    @classmethod
    def of(cls, trace: Trace) -> Curves:
        """Return a trace's curves."""
        known = tuple(sum(column) for column in zip(*(flow.Ld for flow in trace.flows), strict=True))
        out = tuple(min(tokens, sent - lost) for tokens, sent, lost in zip(trace.TA, trace.A, trace.L, strict=True))
        served = [flow.S for flow in trace.flows]
        return cls(trace.grid, trace.alpha, trace.A, trace.S, trace.L, known, out, trace.TA, served)

    def waiting(self, t: int) -> Fraction:
        """Return A - L - S at t."""
        return self.A[t] - self.L[t] - self.S[t]

    def losses(self) -> list[Fraction]:
        """Return the losses of each step."""
        return [self.L[t] - self.L[t - 1] for t in range(1, self.grid.points)]


def utilization(curves: Curves) -> Fraction:
    """Return (S(T) - S(0)) / (C (T - D))."""
    return (curves.S[-1] - curves.S[0]) / (curves.grid.span - curves.grid.jitter)


def queue(curves: Curves) -> Fraction:
    """Return max (A - L - S - 3 alpha) / (C (R + D)) over all points except the first."""
    return max(curves.waiting(t) - QUEUE_PACKETS * curves.alpha for t in range(1, curves.grid.points)) / (
        1 + curves.grid.jitter
    )


def inflight(curves: Curves) -> Fraction:
    """Return max (A - Ld - S) / (C (R + D)) over all points except the first."""
    points = range(1, curves.grid.points)
    return max(curves.A[t] - curves.Ld[t] - curves.S[t] for t in points) / (1 + curves.grid.jitter)


def bottleneck_queue(curves: Curves) -> Fraction:
    """Return (A - L - TA) / (C (R + D)) at the last point."""
    return (curves.A[-1] - curves.L[-1] - curves.TA[-1]) / (1 + curves.grid.jitter)


def loss_events(curves: Curves) -> Fraction:
    """Return the number of steps with losses."""
    return Fraction(sum(lost > curves.blur for lost in curves.losses()))


def large_losses(curves: Curves) -> Fraction:
    """Return the number of steps in which more than 3 alpha was lost."""
    size = max(LARGE_LOSS * curves.alpha, curves.blur)
    return Fraction(sum(lost > size for lost in curves.losses()))


def loss_amount(curves: Curves) -> Fraction:
    """Return (L(T) - L(0) - (T - 1) alpha) / (C (R + D))."""
    return (curves.L[-1] - curves.L[0] - curves.grid.last * curves.alpha) / (1 + curves.grid.jitter)


def share(curves: Curves) -> Fraction:
    """Return the smallest of the flows' amounts of served data, divided by the largest."""
    served = [column[-1] - column[0] for column in curves.served]
    return min(served) / max(served) if max(served) else Fraction(1)


#: The function for each property; it returns a number in the unit of the property's constant.
MEASURES: Mapping[str, Callable[[Curves], Fraction]] = {
    "utilization": utilization,
    "queue": queue,
    "inflight": inflight,
    "bottleneck-queue": bottleneck_queue,
    "loss-events": loss_events,
    "large-losses": large_losses,
    "loss-amount": loss_amount,
    "share": share,
}
