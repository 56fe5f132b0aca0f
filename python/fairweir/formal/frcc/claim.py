"""A question about FRCC for the solvers, with its expected result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fairweir.formal.lemmas.result import About, ProofOutcome
from fairweir.formal.solving.solve import Question


@dataclass(frozen=True)
class Claim:
    """A step of a proof that the solvers decide.

    Attributes
    ----------
    about : for `About.CCA`, the question also defines the behavior of any sender in the CCA's place
    """

    name: str
    claim: str
    ask: Callable[[], Question]
    about: About
    expects: ProofOutcome = ProofOutcome.PROVED
    note: str = ""

    def question(self) -> Question:
        """Return the question for the solvers."""
        return self.ask()
