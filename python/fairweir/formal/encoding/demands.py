"""Constants of properties and of the synthesis invariant. Encodings for solvers and checks of traces read these
numbers.

The synthesis invariant is the condition that each trace of a candidate algorithm must satisfy. A belief is a bound on
the network that a flow infers from what it observes; beliefs shrink if the bounds become tighter.

Symbols: C, link rate; R, round-trip propagation delay; D, maximum jitter; alpha, one MSS; T, number of sample points of
a trace. Sources are section 4.2.1 of the thesis and the published code, which differ for some constants; each constant
names its source.

A trace is the value of each curve at each sample point; a step is the time between two points.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Final

from fairweir.formal.beliefs.choices import Start
from fairweir.formal.encoding.grid import Grid

#: Minimum utilization: bytes served divided by C times the length of the trace. The thesis uses 3/10 for
#: cc_probe_slow, which drains the queue in two of every three R (Table 4.2).
UTILIZATION: Final = Fraction(1, 2)
#: Maximum number of waiting bytes in excess of 3 alpha, in C (R + D). Source: the published code. The thesis instead
#: bounds the bytes in flight by 5 C (R + D).
QUEUE: Final = Fraction(4)
#: Bytes that may wait in addition to `QUEUE`, in alpha. On slow links, 3 MSS can be a large part of C R.
QUEUE_PACKETS: Final = 3
#: The loss of one step is large if it exceeds this number of MSS. Thesis section 4.2.1: "more than 3MSS loss as large".
LARGE_LOSS: Final = 3


def published_large_loss(grid: Grid) -> Fraction:
    """Return the loss of one step, in MSS, above which the published code calls the loss large: T - 1, a trace's steps.

    The synthesis invariant uses this number by default, as the published searches did. Claims about a CCA (congestion
    control algorithm) use `LARGE_LOSS`.
    """
    return Fraction(grid.last)


class LargeLoss(StrEnum):
    """When a large loss violates the synthesis invariant although the beliefs shrink (thesis section 4.2.1, G4, G7)."""

    NEVER = "never"
    ALWAYS = "always"
    LARGE_BUFFERS = "large-buffers"
    """Only if the buffer is at least `Demands.large_buffer`."""


@dataclass(frozen=True)
class Demands:
    """The constants of the synthesis invariant (:mod:`fairweir.formal.encoding.invariant`).

    Attributes
    ----------
    utilization : minimum utilization, as a fraction of C
    queue : maximum queue in excess of 3 MSS, in C (R + D)
    large_loss : when a large loss violates the invariant even if the beliefs shrink
    large_buffer : size from which on a buffer is large, in C (R + D). Thesis: 3, published code: 5
    large_size : number of MSS above which the loss of one step is large; None: `published_large_loss`
    start : whether beliefs may be stale at t = 0, which means true of an earlier link only
    """

    utilization: Fraction = UTILIZATION
    queue: Fraction = QUEUE
    large_loss: LargeLoss = LargeLoss.NEVER
    large_buffer: Fraction = Fraction(3)
    large_size: Fraction | None = None
    start: Start = Start.CONSISTENT

    def large(self, grid: Grid) -> Fraction:
        """Return the number of MSS above which the loss of one step is large."""
        return published_large_loss(grid) if self.large_size is None else self.large_size
