"""Compute the number that a property bounds, such as the utilization, from the curves of a trace or of a packet run.

A trace is the value of each curve at each sample point; a packet run is a replay of a trace in the simulator. The
functions compute in fractions, so that the check of a counterexample depends on neither a solver nor the constraints in
:mod:`fairweir.formal.encoding.properties`. Each function returns a number in the unit of the property's constant.

Symbols: C, link rate; R, round-trip propagation delay; D, maximum jitter; units are such that C = R = 1. A, S, L, Ld:
cumulative bytes sent, served, lost, and known to be lost by their sender, at sample point t. TA: cumulative bytes that
have left the bottleneck's queue or, on a CCAC link (a token bucket with jitter), the tokens admitted. alpha: one MSS.
T: number of sample points.
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
    """Cumulative curves at the sample points, summed over all flows, in units of C R.

    Attributes
    ----------
    alpha : one MSS, C R
    A, S, L : bytes sent, served and lost
    Ld : bytes known to be lost by their sender
    out : bytes that have left the bottleneck's queue, min(TA, A - L)
    TA : tokens (CCAC); in other models, equal to `out`
    served : S of each flow
    blur : possible error of the curves, C R; losses up to this size are not counted
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
        """Return the curves of a trace."""
        known = tuple(sum(column) for column in zip(*(flow.Ld for flow in trace.flows), strict=True))
        out = tuple(min(tokens, sent - lost) for tokens, sent, lost in zip(trace.TA, trace.A, trace.L, strict=True))
        served = [flow.S for flow in trace.flows]
        return cls(trace.grid, trace.alpha, trace.A, trace.S, trace.L, known, out, trace.TA, served)

    def waiting(self, t: int) -> Fraction:
        """Return A - L - S at t: all bytes that wait, in C R."""
        return self.A[t] - self.L[t] - self.S[t]

    def losses(self) -> list[Fraction]:
        """Return the bytes lost in each step, in C R."""
        return [self.L[t] - self.L[t - 1] for t in range(1, self.grid.points)]


def utilization(curves: Curves) -> Fraction:
    """Return the bytes served in the trace, divided by C times the length of the trace minus D."""
    return (curves.S[-1] - curves.S[0]) / (curves.grid.span - curves.grid.jitter)


def queue(curves: Curves) -> Fraction:
    """Return the maximum of (A - L - S - 3 alpha) / (C (R + D)) over all points except the first."""
    return max(curves.waiting(t) - QUEUE_PACKETS * curves.alpha for t in range(1, curves.grid.points)) / (
        1 + curves.grid.jitter
    )


def inflight(curves: Curves) -> Fraction:
    """Return the maximum of (A - Ld - S) / (C (R + D)) over all points except the first."""
    points = range(1, curves.grid.points)
    return max(curves.A[t] - curves.Ld[t] - curves.S[t] for t in points) / (1 + curves.grid.jitter)


def bottleneck_queue(curves: Curves) -> Fraction:
    """Return (A - L - TA) / (C (R + D)) at the last point."""
    return (curves.A[-1] - curves.L[-1] - curves.TA[-1]) / (1 + curves.grid.jitter)


def loss_events(curves: Curves) -> Fraction:
    """Return the number of steps with losses."""
    return Fraction(sum(lost > curves.blur for lost in curves.losses()))


def large_losses(curves: Curves) -> Fraction:
    """Return the number of steps that lose more than 3 alpha."""
    size = max(LARGE_LOSS * curves.alpha, curves.blur)
    return Fraction(sum(lost > size for lost in curves.losses()))


def loss_amount(curves: Curves) -> Fraction:
    """Return the bytes lost in the trace minus (T - 1) alpha, divided by C (R + D)."""
    return (curves.L[-1] - curves.L[0] - curves.grid.last * curves.alpha) / (1 + curves.grid.jitter)


def share(curves: Curves) -> Fraction:
    """Return the bytes served to the flow with the least service, divided by those to the flow with the most."""
    served = [column[-1] - column[0] for column in curves.served]
    return min(served) / max(served) if max(served) else Fraction(1)


#: For each property, by name, the function that computes its value.
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
