"""Outcomes as pages write them."""

from __future__ import annotations

from dataclasses import dataclass

from fairweir.judging.outcome import Outcome


@dataclass(frozen=True)
class Word:
    """An outcome as the page writes it."""

    outcome: Outcome

    @property
    def word(self) -> str:
        """The outcome's name, which is also its CSS class."""
        return self.outcome.value

    @property
    def symbol(self) -> str:
        """One character, readable without colour."""
        return self.outcome.symbol

    @property
    def meaning(self) -> str:
        """For the legend."""
        return {
            Outcome.HOLDS: "holds",
            Outcome.FAILS: "fails",
            Outcome.UNKNOWN: "unknown: the interval straddles the bound",
            Outcome.INFO: "measured, not judged",
        }[self.outcome]
