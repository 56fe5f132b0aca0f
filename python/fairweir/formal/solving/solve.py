"""Ask the SMT solvers z3 and yices whether assumptions imply a claim.

``ask`` runs z3 and yices in parallel on one SMT-LIB text. The answer is ``proved``, ``refuted`` with exact values,
``vacuous``, or ``unknown`` with the reason. A claim is proved only if two further texts, the controls, are satisfiable.
The first control is the assumptions alone, because contradictory assumptions imply every claim. The second control is
for claims about a CCA: the negated claim with an arbitrary sender in place of the CCA, because a claim that no sender
can violate does not characterize the CCA.

Each solver answers each question in a separate process. Synthesis asks thousands of questions of a few milliseconds;
`Prepared` writes the assumptions that these questions share only once. One solver process for many questions, with push
and pop, was not faster (docs/formal/verify.md).
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from fairweir.documents.arguments import words_for_enums
from fairweir.documents.results import results_folder
from fairweir.errors import SolverError
from fairweir.formal.solving.smtlib import Value, assert_all, declared, values
from fairweir.formal.solving.solvers import ALL_SOLVERS, Budget, Race, Reply, Satisfiable, SolverName, race, version
from fairweir.judging.outcome import Outcome
from fairweir.play import scratch

if TYPE_CHECKING:
    import z3

#: Default folder for questions on which the solvers contradict each other.
CONTRADICTIONS = results_folder("contradictions")


#: The reason in the answer if a claim is vacuous because it is also proved for an arbitrary sender.
NO_SENDER = (
    "no sender can violate it: it is proved for an unconstrained sender too, so it does not characterise the CCA"
)


class ProofOutcome(StrEnum):
    """Answer of the solvers to the question whether assumptions imply a claim."""

    PROVED = "proved"
    REFUTED = "refuted"
    UNKNOWN = "unknown"
    VACUOUS = "vacuous"
    """The claim holds trivially: no sender can violate it, or the assumptions contradict each other."""

    @property
    def verdict(self) -> Outcome:
        """The verdict of an audit: ``holds`` if proved, ``fails`` if refuted, and otherwise ``unknown``."""
        return {"proved": Outcome.HOLDS, "refuted": Outcome.FAILS}.get(self.value, Outcome.UNKNOWN)


class VacuousError(SolverError):
    """The assumptions contradict each other, so that anything follows from them."""


@dataclass(frozen=True)
class Question:
    """The question whether assumptions imply a claim.

    Attributes
    ----------
    name : str, name of the question in tables and files
    assumptions : z3's Booleans
    claim : z3's Boolean
    variables : z3's constants that do not occur in the formulas, but whose values a refutation must include
    logic : str, the logic of SMT-LIB: "QF_LRA" (linear), or "QF_NRA" if the formulas have products of unknowns
    anyone : the assumptions about an arbitrary sender in place of the CCA; None: the claim is not about a CCA
    """

    name: str
    assumptions: Sequence[z3.BoolRef]
    claim: z3.BoolRef
    variables: Sequence[z3.ExprRef] = ()
    logic: str = "QF_LRA"
    anyone: Sequence[z3.BoolRef] | None = None

    def negated(self) -> str:
        """Return the SMT-LIB text that is satisfiable if and only if the claim is wrong."""
        return Prepared(self.assumptions, self.variables, self.logic).script([~self.claim])

    def controls(self) -> list[str]:
        """Return the SMT-LIB texts that must be satisfiable if the claim is not vacuous.

        The first text has the assumptions; the second, if `anyone` is given, has an arbitrary sender and the negated
        claim.
        """
        texts = [Prepared(self.assumptions, self.variables, self.logic).script([])]
        if self.anyone is not None:
            texts.append(Prepared(self.anyone, (), self.logic).script([~self.claim]))
        return texts


@dataclass(frozen=True)
class Answer:
    """Result of a question.

    Attributes
    ----------
    outcome : ProofOutcome
    values : dict from constant to exact value, of a refutation; else empty
    solver : str, name and version of the solver that answered
    cpu_s : float, CPU seconds of all solvers together, including the controls
    reason : str, why the claim is unknown or vacuous, or a problem in addition to an answer, such as a killed solver
    fingerprint : str, fingerprint of the question's text
    control_cpu_s : float, CPU seconds of the controls
    """

    outcome: ProofOutcome
    values: Mapping[str, Value] = field(default_factory=dict, repr=False)
    solver: str = ""
    cpu_s: float = 0.0
    reason: str = ""
    fingerprint: str = ""
    control_cpu_s: float = 0.0


@dataclass(frozen=True)
class Check:
    """The solvers' answer to the question whether assertions are satisfiable together.

    Attributes
    ----------
    verdict : Satisfiable
    values : dict from constant to exact value; empty unless the verdict is ``sat``
    solver : str, name and version of the solver that answered
    cpu_s : float, CPU seconds of all solvers together
    reason : str, why the verdict is unknown, or a problem in addition to an answer
    """

    verdict: Satisfiable
    values: Mapping[str, Value] = field(default_factory=dict, repr=False)
    solver: str = ""
    cpu_s: float = 0.0
    reason: str = ""


class Prepared:
    """Assertions that many questions share. Their SMT-LIB text is written only once.

    Parameters
    ----------
    assertions : z3's Booleans
    variables : z3's constants that do not occur in the assertions, but whose values are requested
    logic : str, the logic of SMT-LIB, such as "QF_LRA"
    """

    def __init__(
        self, assertions: Iterable[z3.BoolRef], variables: Iterable[z3.ExprRef] = (), logic: str = "QF_LRA"
    ) -> None:
        self._logic = logic
        text = assert_all(assertions)
        self._sorts = declared(text)
        for variable in variables:
            name = variable.sexpr()
            if name not in self._sorts:
                self._sorts[name] = variable.sort().sexpr()
                text += f"(declare-fun {name} () {self._sorts[name]})\n"
        self._text = text

    def script(self, further: Iterable[z3.BoolRef]) -> str:
        """Return the SMT-LIB text that asks for values which satisfy the prepared and the `further` assertions."""
        more = assert_all(further, self._sorts)
        names = " ".join([*self._sorts, *declared(more)])
        wanted = f"(get-value ({names}))\n" if names else ""
        return f"(set-logic {self._logic})\n{self._text}{more}(check-sat)\n{wanted}"

    @words_for_enums
    def check(
        self,
        further: Iterable[z3.BoolRef] = (),
        budget: Budget | None = None,
        solvers: Sequence[SolverName] = ALL_SOLVERS,
        until: Race = Race.FIRST,
    ) -> Check:
        """Return whether the prepared and the `further` assertions can be satisfied together.

        Parameters
        ----------
        further : assertions in addition to the prepared ones
        budget : Budget of each solver
        solvers : the solvers to run, in the order in which they start
        until : Race, whether the first answer ends the race, or all solvers finish and their answers are compared

        Raises
        ------
        SolverError : a solver is missing or rejects the input, or two solvers contradict each other
        """
        return check_text(self.script(further), budget, solvers, until)


@words_for_enums
def check_text(
    text: str,
    budget: Budget | None = None,
    solvers: Sequence[SolverName] = ALL_SOLVERS,
    until: Race = Race.FIRST,
) -> Check:
    """Return whether the assertions in a text of :meth:`Prepared.script` can be satisfied together.

    Parameters
    ----------
    text : SMT-LIB 2
    budget : Budget of each solver
    solvers : the solvers to run, in the order in which they start
    until : Race, whether the first answer ends the race, or all solvers finish and their answers are compared

    Raises
    ------
    SolverError : a solver is missing or rejects the input, or two solvers contradict each other. In the last case,
        question and answers are stored in :data:`CONTRADICTIONS`
    """
    with _workplace() as folder:
        query = folder / "query.smt2"
        query.write_text(text, encoding="utf-8")
        replies = race(query, budget or Budget(), solvers, until)
    cpu_s = sum(reply.cpu_s for reply in replies)
    troubles = "; ".join(reply.reason for reply in replies if reply.reason and "another one" not in reply.reason)
    winner = next((reply for reply in replies if reply.verdict is not Satisfiable.UNKNOWN), None)
    if winner is None:
        return Check(Satisfiable.UNKNOWN, cpu_s=cpu_s, reason=troubles)
    return Check(winner.verdict, _values(winner, text), version(winner.solver), cpu_s, troubles)


@words_for_enums
def ask(
    question: Question,
    budget: Budget | None = None,
    solvers: Sequence[SolverName] = ALL_SOLVERS,
    until: Race = Race.FIRST,
) -> Answer:
    """Ask the solvers whether the assumptions imply the claim.

    Parameters
    ----------
    question : Question
    budget : Budget of each solver, for the question and for each control
    solvers : the solvers to run, in the order in which they start
    until : Race, whether the first answer ends the race, or all solvers finish and their answers are compared

    Returns
    -------
    Answer: proved only if the controls are satisfiable; refuted with exact values; vacuous if every sender satisfies
    the claim; otherwise unknown with the reason

    Raises
    ------
    VacuousError : the assumptions contradict each other
    SolverError : a solver is missing or rejects the input, or two solvers contradict each other
    """
    prepared = Prepared(question.assumptions, question.variables, question.logic)
    text = prepared.script([~question.claim])
    fingerprint = hashlib.sha256(text.encode()).hexdigest()[:16]
    found = check_text(text, budget, solvers, until)
    if found.verdict is Satisfiable.SAT:
        return Answer(ProofOutcome.REFUTED, found.values, found.solver, found.cpu_s, found.reason, fingerprint)
    if found.verdict is Satisfiable.UNKNOWN:
        return Answer(ProofOutcome.UNKNOWN, cpu_s=found.cpu_s, reason=found.reason, fingerprint=fingerprint)
    checked = control(question, budget, solvers)
    reason = "; ".join(filter(None, [checked.reason, found.reason]))
    cpu_s = found.cpu_s + checked.cpu_s
    return Answer(checked.outcome, {}, found.solver, cpu_s, reason, fingerprint, checked.cpu_s)


@words_for_enums
def control(question: Question, budget: Budget | None = None, solvers: Sequence[SolverName] = ALL_SOLVERS) -> Answer:
    """Check the controls of a claim that is already proved.

    Parameters
    ----------
    question : Question whose claim is proved
    budget : Budget of each solver
    solvers : the solvers to run, in the order in which they start

    Returns
    -------
    Answer: proved if the controls are satisfiable; vacuous if no sender can violate the claim; unknown if the solvers
    do not answer a control

    Raises
    ------
    VacuousError : the assumptions contradict each other
    SolverError : a solver is missing or rejects the input, or two solvers contradict each other
    """
    checks: list[Check] = []
    for text in question.controls():
        checks.append(check_text(text, budget, solvers))
        if checks[-1].verdict is not Satisfiable.SAT:
            break
    if checks[0].verdict is Satisfiable.UNSAT:
        raise VacuousError(
            f"vacuous: the assumptions of `{question.name}` contradict each other",
            hint="contradictory assumptions imply any claim, so this proves nothing; look for a bound that excludes "
            "every trace",
        )
    outcome, reason = _controlled(checks)
    reason = "; ".join(filter(None, [reason, *(check.reason for check in checks)]))
    return Answer(outcome, solver=checks[-1].solver, cpu_s=sum(check.cpu_s for check in checks), reason=reason)


def _controlled(controls: Sequence[Check]) -> tuple[ProofOutcome, str]:
    """Return the outcome of a proved claim, and a reason, from the answers to :meth:`Question.controls`."""
    last = controls[-1]
    if last.verdict is Satisfiable.SAT:
        return ProofOutcome.PROVED, ""
    if len(controls) == 1:
        return ProofOutcome.UNKNOWN, "no trace is known that satisfies the assumptions"
    if last.verdict is Satisfiable.UNSAT:
        return ProofOutcome.VACUOUS, NO_SENDER
    return ProofOutcome.UNKNOWN, "it holds, but it is not known whether any sender could violate it"


def _values(reply: Reply, text: str) -> dict[str, Value]:
    if reply.verdict is not Satisfiable.SAT:
        return {}
    names = list(declared(text))
    return values(reply.rest, names) if names else {}


@contextmanager
def _workplace() -> Iterator[Path]:
    """Yield a folder for one question; the folder is removed afterwards, unless the solvers contradict each other."""
    folder = scratch.new_folder("fairweir-question-")
    try:
        yield folder
    except SolverError as error:
        if getattr(error, "is_contradiction", False):
            kept = CONTRADICTIONS / folder.name
            shutil.copytree(folder, kept)
            error.source = str(kept)
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)
