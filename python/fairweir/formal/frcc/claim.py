"""One question about FRCC for the solvers, and what should come out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fairweir.formal.lemmas.result import Outcome
from fairweir.formal.solve import Question


@dataclass(frozen=True)
class Claim:
    """A step of a proof that the solvers settle."""

    name: str
    claim: str
    ask: Callable[[], Question]
    expects: Outcome = Outcome.PROVED
    note: str = ""

    def question(self) -> Question:
        """Give what is asked of the solvers."""
        return self.ask()
