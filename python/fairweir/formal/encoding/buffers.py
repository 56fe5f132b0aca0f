"""Bottleneck buffers: the model's choices of beta (thesis section 4.2.1, "Environments")."""

from __future__ import annotations

from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING

from fairweir.documents.arguments import words_for_enums

if TYPE_CHECKING:
    import z3

    from fairweir.formal.encoding.grid import Grid


class Buffer(StrEnum):
    """The buffers of Table 4.1."""

    INFINITE = "infinite"
    """Nothing is ever lost; there are no loss variables."""
    SMALL = "small"
    """beta = C (R + D) / 4, which is C D / 2 when D = R."""
    ARBITRARY = "arbitrary"
    """Any beta above alpha: a buffer holds at least the data sent at the minimum rate."""
    LARGE = "large"
    """Any beta of at least 3 C (R + D)."""

    @property
    def is_finite(self) -> bool:
        """Whether the buffer can overflow."""
        return self is not Buffer.INFINITE


@words_for_enums
def fixed_size(buffer: Buffer, grid: Grid) -> Fraction | None:
    """Return beta in units of C R, or None if the kind of buffer does not fix it.

    Parameters
    ----------
    buffer : Buffer
    grid : Grid, whose D the size depends on
    """
    return (1 + grid.jitter) / 4 if buffer is Buffer.SMALL else None


@words_for_enums
def min_size(buffer: Buffer, grid: Grid) -> Fraction:
    """Return the minimum beta in units of C R; unless beta is fixed, it must also exceed alpha.

    Parameters
    ----------
    buffer : Buffer
    grid : Grid, whose D the size depends on
    """
    return {
        Buffer.INFINITE: Fraction(0),
        Buffer.SMALL: (1 + grid.jitter) / 4,
        Buffer.ARBITRARY: Fraction(0),
        Buffer.LARGE: 3 * (1 + grid.jitter),
    }[buffer]


@words_for_enums
def admits(buffer: Buffer, grid: Grid, beta: z3.ArithRef, alpha: z3.ArithRef) -> list[z3.BoolRef]:
    """Return the constraints on beta and alpha, both in units of C R.

    Parameters
    ----------
    buffer : Buffer
    grid : Grid
    beta : size, C R
    alpha : MSS, C R
    """
    match buffer:
        case Buffer.INFINITE | Buffer.SMALL:
            return []
        case Buffer.ARBITRARY:
            return [beta > alpha]
        case Buffer.LARGE:
            floor = min_size(buffer, grid)
            return [beta > alpha, beta >= floor]
