"""Define the outcomes of claims, and judge whether a measured interval satisfies a threshold.

A claim is a metric with a threshold, such as "throughput ratio at most 2". Audits and reproductions use the four
outcomes of this file. Proofs (proved, refuted, vacuous, unknown), the search for starvation and contracts have other
outcomes; an audit converts the outcomes of the search and of contracts to these four.
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
    """The verdict on a claim."""

    HOLDS = "holds"
    FAILS = "fails"
    UNKNOWN = "unknown"
    INFO = "info"
    """The metric is shown but not judged, because there is no agreed threshold."""

    @property
    def symbol(self) -> str:
        """One character for the outcome, so that outcomes can be distinguished without color."""
        return {"holds": "✓", "fails": "✗", "unknown": "?", "info": "·"}[self.value]


class Direction(StrEnum):
    """The side of a threshold on which values satisfy the claim."""

    AT_MOST = "at_most"
    AT_LEAST = "at_least"


class Threshold(BaseModel):
    """A bound on a metric, with the reason for the bound's value and its source."""

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
    """An estimate, with its confidence interval over seeds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    value: float
    lo: float
    hi: float

    def outcome(self, threshold: Threshold) -> Outcome:
        """Return the outcome of a claim with this threshold.

        Parameters
        ----------
        threshold : Threshold, in the interval's unit

        Returns
        -------
        Outcome : ``holds`` if the whole interval satisfies the bound, ``fails`` if the whole interval violates it, and
            ``unknown`` if the interval contains values on both sides
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
