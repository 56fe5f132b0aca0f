"""Constants of claims, and demands of the synthesis invariant. Only numbers: encodings and judges share them.

Source: thesis section 4.2.1 and the published code, which differ in places; each constant names its source.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Final

from fairweir.formal.beliefs.choices import Start
from fairweir.formal.encoding.grid import Grid

#: Minimum part of C that is served over the trace; 3/10 for cc_probe_slow, which drains two R of three (Table 4.2).
UTILIZATION: Final = Fraction(1, 2)
#: All waiting bytes, in C (R + D), beyond 3 alpha. Published code; the thesis has 5 for inflight.
QUEUE: Final = Fraction(4)
#: Bytes that may wait in addition to `QUEUE`, in alpha: not expressible in C R on slow links.
QUEUE_PACKETS: Final = 3
#: A step that loses more than this many MSS has a large loss. Thesis section 4.2.1: "more than 3MSS loss as large".
LARGE_LOSS: Final = 3


def published_large_loss(grid: Grid) -> Fraction:
    """Return the MSS above which a step's loss is large in the published code: T - 1, the steps of the trace.

    The synthesis invariant uses it, as the published searches did; claims about a CCA use `LARGE_LOSS`.
    """
    return Fraction(grid.last)


class LargeLoss(StrEnum):
    """When a large loss is held against a CCA although its beliefs shrink (thesis section 4.2.1, G4 and G7)."""

    NEVER = "never"
    ALWAYS = "always"
    LARGE_BUFFERS = "large-buffers"
    """If the buffer is large: `Demands.large_buffer`."""


@dataclass(frozen=True)
class Demands:
    """The constants of the synthesis invariant (:mod:`fairweir.formal.encoding.invariant`).

    Attributes
    ----------
    utilization : minimum part of C that is served
    queue : maximum queue, C (R + D), beyond 3 MSS
    large_loss : when a large loss counts although beliefs shrink
    large_buffer : C (R + D); from there on a buffer is large. Thesis: 3, published code: 5
    large_size : MSS in a step above which a loss is large; None: `published_large_loss`
    start : may beliefs be stale at first?
    """

    utilization: Fraction = UTILIZATION
    queue: Fraction = QUEUE
    large_loss: LargeLoss = LargeLoss.NEVER
    large_buffer: Fraction = Fraction(3)
    large_size: Fraction | None = None
    start: Start = Start.CONSISTENT

    def large(self, grid: Grid) -> Fraction:
        """Return the MSS in a step above which a loss is large."""
        return published_large_loss(grid) if self.large_size is None else self.large_size
