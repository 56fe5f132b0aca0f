"""Results of lemmas, and of suites."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Any

from fairweir.formal.solving.solve import ProofOutcome

__all__ = ["About", "Constant", "LemmaResult", "ProofOutcome", "conclude"]


@dataclass(frozen=True)
class Constant:
    """A number in a lemma: ours, and the published one if any.

    Attributes
    ----------
    name : str, as "utilization"
    ours : Fraction or str (if it is not a single number, such as "[69, 301]")
    published : the same, or None
    unit : str, as "C", "C(R+D)", "mss"
    """

    name: str
    ours: Fraction | str
    published: Fraction | str | None = None
    unit: str = ""

    @property
    def agrees(self) -> bool:
        """Return whether no different value is published."""
        return self.published is None or self.published == self.ours

    def document(self) -> dict[str, Any]:
        """Return the constant as JSON holds it; numbers as "p/q"."""
        published = None if self.published is None else str(self.published)
        return {"name": self.name, "ours": str(self.ours), "published": published, "unit": self.unit}


class About(StrEnum):
    """Subject of a lemma, and thus what could make it vacuous."""

    CCA = "cca"
    """The CCA's behavior. Proved only if the same question with any sender in its place can be refuted."""
    NETWORK = "network"
    """The network, and inferences about it; asked of any sender, without the CCA."""
    LOGIC = "logic"
    """Arithmetic, or how lemmas add up: no sender occurs in it. Suites have controls that must fail for these."""


@dataclass(frozen=True)
class LemmaResult:
    """A claim and its result.

    Attributes
    ----------
    name : str, short, as "2.1 range"
    claim : str, the statement in words or symbols, with its numbers
    outcome : ProofOutcome
    about : About
    expects : the outcome under which the suite stands; a negative control or a published statement known to be wrong
        expects ``refuted``
    constants : constants of the claim
    solver : str, who answered
    cpu_s : float, CPU seconds of all solvers used
    note : str, an assumption, a reason for ``unknown``, a difference from the published statement
    files : paths of stored questions, traces, certificates
    kept : str, for an answer of an earlier run, how it was verified when it was read again; empty if it is new
    """

    name: str
    claim: str
    outcome: ProofOutcome
    expects: ProofOutcome = ProofOutcome.PROVED
    constants: tuple[Constant, ...] = ()
    solver: str = ""
    cpu_s: float = 0.0
    note: str = ""
    files: tuple[str, ...] = ()
    kept: str = ""
    about: About = field(kw_only=True)

    @property
    def stands(self) -> bool:
        """Whether the solver's answer is the expected one; ``unknown`` and ``vacuous`` never are."""
        return self.outcome is self.expects and self.outcome in (ProofOutcome.PROVED, ProofOutcome.REFUTED)

    def document(self) -> dict[str, Any]:
        """Return the result as JSON holds it."""
        return {
            "name": self.name,
            "claim": self.claim,
            "about": self.about.value,
            "outcome": self.outcome.value,
            "expects": self.expects.value,
            "stands": self.stands,
            "constants": [constant.document() for constant in self.constants],
            "solver": self.solver,
            "cpu_s": round(self.cpu_s, 3),
            "note": self.note,
            "files": list(self.files),
            "kept": self.kept,
        }


def conclude(results: Iterable[LemmaResult]) -> ProofOutcome:
    """Return the outcome of a whole suite.

    Returns
    -------
    ProofOutcome : ``vacuous`` if a lemma is; else ``refuted`` if one has another result than the suite needs; else
        ``unknown`` if one was not settled, or if there is none; else ``proved``
    """
    found = list(results)
    if any(result.outcome is ProofOutcome.VACUOUS for result in found):
        return ProofOutcome.VACUOUS
    if any(not result.stands and result.outcome is not ProofOutcome.UNKNOWN for result in found):
        return ProofOutcome.REFUTED
    if not found or any(not result.stands for result in found):
        return ProofOutcome.UNKNOWN
    return ProofOutcome.PROVED
