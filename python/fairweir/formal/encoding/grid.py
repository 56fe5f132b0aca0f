"""The sample points of a trace: how many there are, and how many lie within a round trip and within the jitter.

Symbols: C, link rate; R, round-trip propagation delay; D, maximum jitter; T, number of sample points. All formal models
use units in which C = R = 1. The unit of data is therefore C R, and the unit of rates is C.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from fairweir.errors import ConfigError


@dataclass(frozen=True)
class Grid:
    """The sample points of a trace: ``t = 0 .. points - 1``.

    Parameters
    ----------
    points : int, T. A trace of T points has T - 1 steps between them
    per_r : int, number of steps in one R
    jitter : Fraction, D in units of R; must be a whole number of steps

    Raises
    ------
    ConfigError : there are fewer than two points, there is no step in one R, or D is not a whole number of steps
    """

    points: int
    per_r: int = 1
    jitter: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        if self.points < 2:
            raise ConfigError(
                f"a trace needs at least 2 points: `{self.points}`",
                key="points",
                hint="5 points have 4 steps between them",
            )
        if self.per_r < 1:
            raise ConfigError(f"one R needs at least 1 step: `{self.per_r}`", key="per_r")
        steps = Fraction(self.jitter) * self.per_r
        if steps < 0 or steps.denominator != 1:
            raise ConfigError(
                f"the jitter must be a whole number of steps: `{self.jitter}` R of {self.per_r} steps each",
                key="jitter",
                hint=f"write a multiple of 1/{self.per_r}, or use more steps per R",
            )

    @property
    def last(self) -> int:
        """The index of the last sample point."""
        return self.points - 1

    @property
    def step(self) -> Fraction:
        """The time between two points, in R; also the data that the link can serve in that time, in C R."""
        return Fraction(1, self.per_r)

    @property
    def r_steps(self) -> int:
        """The number of steps in R, the delay of feedback; also the index of the first point at which the sender
        decides.
        """
        return self.per_r

    @property
    def d_steps(self) -> int:
        """The number of steps in D."""
        return int(self.jitter * self.per_r)

    @property
    def span(self) -> Fraction:
        """The time from the first to the last point, in R."""
        return self.last * self.step

    def without_jitter(self) -> Grid:
        """Return the same sample points with D = 0, for links without jitter."""
        return replace(self, jitter=Fraction(0))
