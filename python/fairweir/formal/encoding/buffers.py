"""Kinds of bottleneck buffers, each with the sizes that it may have (thesis section 4.2.1, "Environments").

Symbols: C, link rate; R, round-trip propagation delay; D, maximum jitter; beta, size of the buffer; alpha, one MSS.
Sizes are in units of C R.
"""

from __future__ import annotations

from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING

from fairweir.documents.arguments import words_for_enums

if TYPE_CHECKING:
    import z3

    from fairweir.formal.encoding.grid import Grid


class Buffer(StrEnum):
    """The kinds of buffers of table 4.1 of the thesis."""

    INFINITE = "infinite"
    """An unlimited buffer: no byte is ever lost, so a question has no variables for losses."""
    SMALL = "small"
    """beta = C (R + D) / 4, which is C D / 2 when D = R."""
    ARBITRARY = "arbitrary"
    """Any beta above alpha: a buffer holds at least what a flow sends within R at its minimum rate."""
    LARGE = "large"
    """Any beta of at least 3 C (R + D)."""

    @property
    def is_finite(self) -> bool:
        """Whether the buffer can overflow."""
        return self is not Buffer.INFINITE


@words_for_enums
def fixed_size(buffer: Buffer, grid: Grid) -> Fraction | None:
    """Return beta in units of C R; None if the kind of buffer allows several sizes.

    Parameters
    ----------
    buffer : Buffer
    grid : Grid, which contains D
    """
    return (1 + grid.jitter) / 4 if buffer is Buffer.SMALL else None


@words_for_enums
def min_size(buffer: Buffer, grid: Grid) -> Fraction:
    """Return the lower bound on beta in units of C R. Unless the kind of buffer has one size only, beta must also
    exceed alpha.

    Parameters
    ----------
    buffer : Buffer
    grid : Grid, which contains D
    """
    return {
        Buffer.INFINITE: Fraction(0),
        Buffer.SMALL: (1 + grid.jitter) / 4,
        Buffer.ARBITRARY: Fraction(0),
        Buffer.LARGE: 3 * (1 + grid.jitter),
    }[buffer]


@words_for_enums
def admits(buffer: Buffer, grid: Grid, beta: z3.ArithRef, alpha: z3.ArithRef) -> list[z3.BoolRef]:
    """Return the constraints that a kind of buffer sets on beta and alpha, both in units of C R.

    Parameters
    ----------
    buffer : Buffer
    grid : Grid
    beta : variable for the size
    alpha : variable for one MSS
    """
    match buffer:
        case Buffer.INFINITE | Buffer.SMALL:
            return []
        case Buffer.ARBITRARY:
            return [beta > alpha]
        case Buffer.LARGE:
            floor = min_size(buffer, grid)
            return [beta > alpha, beta >= floor]
