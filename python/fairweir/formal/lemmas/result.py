"""What came of a lemma, and of a suite of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fairweir.formal.solve import Outcome

__all__ = ["Constant", "LemmaResult", "Outcome", "conclude"]


@dataclass(frozen=True)
class Constant:
    """A number in a lemma: ours, and the published one if there is one.

    Attributes
    ----------
    name : str, as "utilization"
    ours : Fraction or str (what is not one number, as "[69, 301]")
    published : the same, or None
    unit : str, as "C", "C(R+D)", "mss"
    """

    name: str
    ours: Fraction | str
    published: Fraction | str | None = None
    unit: str = ""

    @property
    def agrees(self) -> bool:
        """Is nothing else published?"""
        return self.published is None or self.published == self.ours

    def document(self) -> dict[str, Any]:
        """Give the constant as JSON holds it; numbers as "p/q"."""
        published = None if self.published is None else str(self.published)
        return {"name": self.name, "ours": str(self.ours), "published": published, "unit": self.unit}


@dataclass(frozen=True)
class LemmaResult:
    """A claim, and what became of it.

    Attributes
    ----------
    name : str, short, as "2.1 range"
    claim : str, the statement in words or symbols, with its numbers
    outcome : Outcome
    expects : the outcome under which the suite stands; a negative control or a published statement known to be wrong
        expects ``refuted``
    constants : those of the claim
    solver : str, who answered
    cpu_s : float, CPU seconds of all solvers that were asked
    note : str, an assumption, a reason for ``unknown``, a difference from what is published
    files : paths of what was kept: questions, traces, certificates
    """

    name: str
    claim: str
    outcome: Outcome
    expects: Outcome = Outcome.PROVED
    constants: tuple[Constant, ...] = ()
    solver: str = ""
    cpu_s: float = 0.0
    note: str = ""
    files: tuple[str, ...] = ()

    @property
    def stands(self) -> bool:
        """Did the solver answer as the suite needs it? ``unknown`` never does."""
        return self.outcome is self.expects and self.outcome is not Outcome.UNKNOWN

    def document(self) -> dict[str, Any]:
        """Give the result as JSON holds it."""
        return {
            "name": self.name,
            "claim": self.claim,
            "outcome": self.outcome.value,
            "expects": self.expects.value,
            "stands": self.stands,
            "constants": [constant.document() for constant in self.constants],
            "solver": self.solver,
            "cpu_s": round(self.cpu_s, 3),
            "note": self.note,
            "files": list(self.files),
        }


def conclude(results: Iterable[LemmaResult]) -> Outcome:
    """Give the outcome of a whole suite.

    Returns
    -------
    Outcome : ``refuted`` if a lemma came out against what the suite needs; else ``unknown`` if one was not settled,
        or if there is none; else ``proved``
    """
    found = list(results)
    if any(not result.stands and result.outcome is not Outcome.UNKNOWN for result in found):
        return Outcome.REFUTED
    if not found or any(not result.stands for result in found):
        return Outcome.UNKNOWN
    return Outcome.PROVED
