"""Outcomes of claims, thresholds with their reasons, and the judgment of an interval by a threshold.

Audits and reproductions use these four outcomes. Proofs (proved, refuted, vacuous, unknown), the starvation hunt and
contracts have other outcomes; an audit converts those of the hunt and of the contract to these four.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from fairweir.documents.arguments import words_for_enums
from fairweir.documents.digits import plain

if TYPE_CHECKING:
    from collections.abc import Iterable


class Outcome(StrEnum):
    """Verdict on a claim."""

    HOLDS = "holds"
    FAILS = "fails"
    UNKNOWN = "unknown"
    INFO = "info"
    """Measured and shown but not judged, because there is no agreed threshold."""

    @property
    def symbol(self) -> str:
        """One character that distinguishes the outcomes without color."""
        return {"holds": "✓", "fails": "✗", "unknown": "?", "info": "·"}[self.value]


class Direction(StrEnum):
    """The side of a threshold that satisfies the claim."""

    AT_MOST = "at_most"
    AT_LEAST = "at_least"


class Threshold(BaseModel):
    """A bound, with the reason and the source for its value."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    bound: float
    direction: Direction
    reason: str
    source: str

    def admits(self, value: float) -> bool:
        """Return whether `value` satisfies the bound."""
        return value <= self.bound if self.direction is Direction.AT_MOST else value >= self.bound

    def __str__(self) -> str:
        sign = "≤" if self.direction is Direction.AT_MOST else "≥"
        return f"{sign} {plain(self.bound)}"


class Interval(BaseModel):
    """An estimate and its confidence interval, over seeds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    value: float
    lo: float
    hi: float

    def outcome(self, threshold: Threshold) -> Outcome:
        """Return whether the whole interval satisfies or violates a threshold.

        Parameters
        ----------
        threshold : Threshold, in the interval's unit

        Returns
        -------
        Outcome : ``holds`` or ``fails``; ``unknown`` if the interval contains values on both sides of the bound
        """
        lo_good, hi_good = threshold.admits(self.lo), threshold.admits(self.hi)
        if lo_good and hi_good:
            return Outcome.HOLDS
        if not lo_good and not hi_good:
            return Outcome.FAILS
        return Outcome.UNKNOWN


@words_for_enums
def combine(outcomes: Iterable[Outcome]) -> Outcome:
    """Return the combined outcome of several claims.

    It is ``fails`` if any claim fails; else ``unknown`` if any is unknown; else ``holds`` if any holds; else ``info``.
    """
    seen = set(outcomes)
    for outcome in (Outcome.FAILS, Outcome.UNKNOWN, Outcome.HOLDS):
        if outcome in seen:
            return outcome
    return Outcome.INFO
