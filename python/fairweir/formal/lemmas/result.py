"""The result of a lemma, and the outcome of a suite, which is a set of lemmas that together imply a theorem.

Solvers prove or refute a lemma: a claim about all behaviors of a CCA on a network model.
"""

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
    """A number in a lemma: fairweir's value, and the published value if there is one.

    Attributes
    ----------
    name : str, such as "utilization"
    ours : Fraction; or str if the constant is not a single number, such as "[69, 301]"
    published : Fraction or str as for `ours`; None if no value is published
    unit : str, such as "C", "C(R+D)", "mss"
    """

    name: str
    ours: Fraction | str
    published: Fraction | str | None = None
    unit: str = ""

    @property
    def agrees(self) -> bool:
        """Whether the published value, if there is one, equals fairweir's."""
        return self.published is None or self.published == self.ours

    def document(self) -> dict[str, Any]:
        """Return the constant as a JSON object, with numbers as "p/q"."""
        published = None if self.published is None else str(self.published)
        return {"name": self.name, "ours": str(self.ours), "published": published, "unit": self.unit}


class About(StrEnum):
    """Subject of a lemma, which determines how fairweir checks that the lemma is not vacuous."""

    CCA = "cca"
    """The CCA's behavior. The lemma counts as proved only if it is refuted for an arbitrary sender."""
    NETWORK = "network"
    """The network, and inferences about it. The lemma is asked of an arbitrary sender, without the CCA."""
    LOGIC = "logic"
    """Arithmetic, or the composition of lemmas, without a sender. Suites contain false claims that must be refuted."""


@dataclass(frozen=True)
class LemmaResult:
    """A lemma and its result.

    Attributes
    ----------
    name : str, a short name such as "2.1 range"
    claim : str, the lemma in words or symbols, with its numbers
    outcome : ProofOutcome
    expects : the expected outcome; ``refuted`` for a deliberately false claim (a control), and for a published
        statement that is known to be wrong
    constants : constants in the claim
    solver : str, the solver that answered
    cpu_s : float, CPU seconds of all solvers used
    note : str, an assumption, a reason for ``unknown``, or a difference from the published statement
    files : paths of the stored question, of the trace that refutes the lemma, and of the proof's certificate
    kept : str, the check that the stored answer of an earlier run passed; empty if this run asked the solvers
    about : About, the subject
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
        """Whether the outcome is the expected one, and is ``proved`` or ``refuted``."""
        return self.outcome is self.expects and self.outcome in (ProofOutcome.PROVED, ProofOutcome.REFUTED)

    def document(self) -> dict[str, Any]:
        """Return the result as a JSON object."""
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
    """Return the outcome of a suite from the results of its lemmas.

    Returns
    -------
    ProofOutcome : ``vacuous`` if any lemma is vacuous; otherwise ``refuted`` if any lemma was proved or refuted
        contrary to expectation; otherwise ``unknown`` if any lemma is unknown or if `results` is empty; otherwise
        ``proved``
    """
    found = list(results)
    if any(result.outcome is ProofOutcome.VACUOUS for result in found):
        return ProofOutcome.VACUOUS
    if any(not result.stands and result.outcome is not ProofOutcome.UNKNOWN for result in found):
        return ProofOutcome.REFUTED
    if not found or any(not result.stands for result in found):
        return ProofOutcome.UNKNOWN
    return ProofOutcome.PROVED
