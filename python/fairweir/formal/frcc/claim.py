"""A claim in the proofs about the CCA FRCC, with the question for the solvers and the expected result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fairweir.formal.lemmas.result import About, ProofOutcome
from fairweir.formal.solving.solve import Question


@dataclass(frozen=True)
class Claim:
    """A step of a proof, which the solvers prove or refute.

    Attributes
    ----------
    about : if it is `About.CCA`, the question also has constraints for an arbitrary sender in place of FRCC
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
