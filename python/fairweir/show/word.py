"""Outcomes in the form that pages show."""

from __future__ import annotations

from dataclasses import dataclass

from fairweir.judging.outcome import Outcome


@dataclass(frozen=True)
class Word:
    """An outcome in the form that pages show."""

    outcome: Outcome

    @property
    def word(self) -> str:
        """The outcome's name, which is also its CSS class."""
        return self.outcome.value

    @property
    def symbol(self) -> str:
        """One character that distinguishes the outcomes without color."""
        return self.outcome.symbol

    @property
    def meaning(self) -> str:
        """Meaning of the outcome, for the legend."""
        return {
            Outcome.HOLDS: "holds",
            Outcome.FAILS: "fails",
            Outcome.UNKNOWN: "unknown: the interval straddles the bound",
            Outcome.INFO: "measured, not judged",
        }[self.outcome]
