"""Constants of claims, and requirements of the synthesis invariant. Encodings and judges share these numbers.

Source: thesis section 4.2.1 and the published code, which differ in places; each constant names its source.
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
#: Maximum number of waiting bytes in excess of 3 alpha, in C (R + D). Published code; the thesis bounds inflight by 5.
QUEUE: Final = Fraction(4)
#: The bytes that may wait in addition to `QUEUE`, in alpha: on slow links, 3 MSS can be a large part of C R.
QUEUE_PACKETS: Final = 3
#: A step that loses more than this many MSS has a large loss. Thesis section 4.2.1: "more than 3MSS loss as large".
LARGE_LOSS: Final = 3


def published_large_loss(grid: Grid) -> Fraction:
    """Return the loss in a step, in MSS, above which the published code calls it large: T - 1, the steps of the trace.

    The synthesis invariant uses it, as the published searches did; claims about a CCA use `LARGE_LOSS`.
    """
    return Fraction(grid.last)


class LargeLoss(StrEnum):
    """When a large loss violates the invariant even if the beliefs shrink (thesis section 4.2.1, G4 and G7)."""

    NEVER = "never"
    ALWAYS = "always"
    LARGE_BUFFERS = "large-buffers"
    """If the buffer is at least `Demands.large_buffer`."""


@dataclass(frozen=True)
class Demands:
    """The constants of the synthesis invariant (:mod:`fairweir.formal.encoding.invariant`).

    Attributes
    ----------
    utilization : minimum utilization, as a fraction of C
    queue : maximum queue in excess of 3 MSS, in C (R + D)
    large_loss : when a large loss is a violation even if the beliefs shrink
    large_buffer : minimum size of a large buffer, in C (R + D). Thesis: 3, published code: 5
    large_size : loss in a step, in MSS, above which it is large; None: `published_large_loss`
    start : whether beliefs may be stale at t = 0
    """

    utilization: Fraction = UTILIZATION
    queue: Fraction = QUEUE
    large_loss: LargeLoss = LargeLoss.NEVER
    large_buffer: Fraction = Fraction(3)
    large_size: Fraction | None = None
    start: Start = Start.CONSISTENT

    def large(self, grid: Grid) -> Fraction:
        """Return the loss in a step, in MSS, above which it is large."""
        return published_large_loss(grid) if self.large_size is None else self.large_size
