"""Ask the solvers whether a lemma holds, and return the answer as one line of a table of results.

A lemma is a claim about all traces of one CCA on one network model (a system). A trace lists the values of all
quantities (bytes sent, served and lost, cwnd, ...) at equally spaced points in time; a trace that satisfies the
assumptions but not the claim refutes the lemma. A proof may have a certificate: a file that lets a small program check
the proof without a solver.

If the request names a folder, proofs (with certificates, if requested) and refutations (with traces) are stored in that
folder. The file name is the fingerprint of the question. When the same command runs again, it reads the stored answers
and verifies them. A seal shows that a stored answer was written by this installation and not changed since
(:mod:`fairweir.documents.sealed`).
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import z3

from fairweir.documents import sealed
from fairweir.documents.atomic_write import write_text
from fairweir.documents.sealed import NotBelievedError
from fairweir.errors import ConfigError, SolverError
from fairweir.formal.certificates.checker import RejectedError
from fairweir.formal.encoding.evaluate import Evaluator, assignment
from fairweir.formal.encoding.system import System
from fairweir.formal.encoding.trace import Trace
from fairweir.formal.exact import violations
from fairweir.formal.lemmas.result import About, Constant, LemmaResult
from fairweir.formal.lemmas.suites import OnProgress, Progress, Request
from fairweir.formal.solving.solve import ProofOutcome, Question, ask, control
from fairweir.formal.solving.solvers import Budget

#: Limit on z3's steps in the search for a certificate. The search takes several times as many steps as the answer.
CERTIFICATE_STEPS = 1_000_000_000


@dataclass(frozen=True)
class Inquiry:
    """A claim about all traces of a system that satisfy some assumptions.

    Attributes
    ----------
    name, claim : str, as in :class:`LemmaResult`
    system : System, the constraints of a network model and of the CCA of each flow
    given : assumptions in addition to the system, such as the state in which a trace begins
    then : formula that each trace must satisfy if the trace satisfies `system` and `given`
    expects, constants, note, about : as in :class:`LemmaResult`
    """

    name: str
    claim: str
    system: System
    given: tuple[z3.BoolRef, ...]
    then: z3.BoolRef
    expects: ProofOutcome = ProofOutcome.PROVED
    constants: tuple[Constant, ...] = ()
    note: str = ""
    about: About = About.CCA

    @cached_property
    def question(self) -> Question:
        """The question for the solvers; if the claim is about the network, the sender is arbitrary, not the CCA."""
        anyone = [*self.system.of_any_sender(), *self.given]
        if self.about is not About.CCA:
            return Question(self.name, anyone, self.then)
        return Question(self.name, [*self.system.assertions(), *self.given], self.then, anyone=anyone)

    @cached_property
    def text(self) -> str:
        """The question as SMT-LIB, satisfiable if and only if the lemma is wrong."""
        return self.question.negated()

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of the question and of its controls, which check that the claim is not vacuous."""
        controls = self.question.controls()
        return hashlib.sha256("\0".join([self.text, *controls]).encode()).hexdigest()

    def objections(self, trace: Trace) -> list[str]:
        """Evaluate a trace in exact fractions; return why it does not refute the claim, or an empty list if it does."""
        system = self.system
        found = [str(violation) for violation in violations(trace)]
        if self.about is About.CCA:
            found += [str(violation) for judge in system.decided.values() for violation in judge(trace)]
        try:
            values = assignment(system, trace)
            assumed = [constraint for group in system.assumed for constraint in system.groups[group]]
            found += Evaluator({"assumption": [*self.given, *assumed]}).broken(values)
            if not Evaluator({"lemma": [self.then]}).broken(values):
                found.append("the lemma holds on it")
        except (ValueError, KeyError) as error:
            found.append(f"not a trace of this model: {error}")
        return found


def answer(inquiry: Inquiry, request: Request) -> LemmaResult:
    """Return the result of a lemma: the stored answer if this answer can be verified, otherwise the solvers' answer.

    Parameters
    ----------
    inquiry : Inquiry
    request : Request, with the budget and the folder of stored answers

    Raises
    ------
    VacuousError : the assumptions contradict each other
    SolverError : a solver is missing, or two contradict each other
    """
    blank = LemmaResult(
        inquiry.name, inquiry.claim, ProofOutcome.UNKNOWN, inquiry.expects, inquiry.constants, about=inquiry.about
    )
    shelf = None if request.out is None else _Shelf(inquiry, request.out)
    result, doubt = None, ""
    if shelf is not None and shelf.path.exists():
        try:
            result = shelf.recall(blank, Budget(request.budget_s))
        except NotBelievedError as error:
            doubt = f"a stored result was rejected and the question was asked again: {error}"
    if result is None:
        result = _asked(inquiry, request, blank, shelf)
    if request.certificate and result.outcome is ProofOutcome.PROVED and result.kept != CERTIFIED:
        result = _certified(result, inquiry, shelf)
    if shelf is not None and (not result.kept or request.certificate) and result.kept != CERTIFIED:
        shelf.keep(result)
    return replace(result, note="; ".join(filter(None, [inquiry.note, doubt, result.note])))


def _asked(inquiry: Inquiry, request: Request, blank: LemmaResult, shelf: _Shelf | None) -> LemmaResult:
    found = ask(inquiry.question, Budget(request.budget_s))
    note = found.reason if found.outcome in (ProofOutcome.UNKNOWN, ProofOutcome.VACUOUS) else ""
    result = replace(blank, outcome=found.outcome, solver=found.solver, cpu_s=found.cpu_s, note=note)
    if found.outcome is not ProofOutcome.REFUTED:
        return result
    trace = Trace.from_values(inquiry.system, found.values)
    if wrong := inquiry.objections(trace):
        note = f"the solver's trace does not replay: {wrong[0]} ({len(wrong)} in all)"
        return replace(result, outcome=ProofOutcome.UNKNOWN, note=note)
    if shelf is None:
        return result
    write_text(shelf.trace, trace.to_json())
    return replace(result, files=(str(shelf.trace),))


def elsewhere(inquiries: Iterable[Inquiry]) -> list[Inquiry]:
    """Return the inquiries whose expected outcome is ``proved``, for a model other than the suite's default.

    On another model, false claims (controls) and published errors are not relevant, so they are not asked.
    """
    return [inquiry for inquiry in inquiries if inquiry.expects is ProofOutcome.PROVED]


#: Values of :attr:`LemmaResult.kept`: how a stored answer was verified when this run read it.
CERTIFIED = "certificate checked again"
JUDGED = "trace judged again"
UNCHECKED = "not re-checked"


def weakest_check(results: Iterable[LemmaResult]) -> str:
    """Return the check that the stored answers among `results` passed.

    Returns
    -------
    str : `UNCHECKED` if any stored answer was not verified; empty if no result was stored; otherwise one of the checks
        that were made
    """
    found = {result.kept for result in results}
    return UNCHECKED if UNCHECKED in found else max(found, default="")


class _Shelf:
    """The files in which the answer to one question is stored."""

    def __init__(self, inquiry: Inquiry, out: Path) -> None:
        self.inquiry = inquiry
        self.fingerprint = inquiry.fingerprint
        stem = f"{_stem(inquiry.name)}.{self.fingerprint[:8]}"
        self.path = out / "answers" / f"{self.fingerprint[:16]}.json"
        self.trace = out / "traces" / f"{stem}.json"
        self.certificate = out / "certificates" / stem

    def keep(self, result: LemmaResult) -> None:
        """Store an answer with a seal; an answer that is ``unknown`` or ``vacuous`` is not stored."""
        if result.outcome not in (ProofOutcome.PROVED, ProofOutcome.REFUTED):
            return
        document = {
            "question": self.fingerprint,
            "outcome": result.outcome.value,
            "solver": result.solver,
            "cpu_s": result.cpu_s,
            "has_certificate": (self.certificate / PROOF).exists(),
        }
        sealed.write(self.path, document)

    def recall(self, blank: LemmaResult, budget: Budget) -> LemmaResult:
        """Return the stored answer.

        Raises
        ------
        NotBelievedError : the stored answer cannot be verified
        """
        document = sealed.read(self.path)
        solver, cpu_s = document.get("solver"), document.get("cpu_s")
        if document.get("question") != self.fingerprint:
            raise NotBelievedError(f"{self.path} answers another question")
        if not isinstance(solver, str) or not isinstance(cpu_s, float | int) or not 0 <= cpu_s < math.inf:
            raise NotBelievedError(f"{self.path} is damaged")
        known = replace(blank, solver=solver, cpu_s=float(cpu_s))
        match document.get("outcome"):
            case ProofOutcome.REFUTED.value:
                self._judge()
                if not sealed.is_sealed(document):
                    known = replace(blank, solver="exact evaluator")
                return replace(known, outcome=ProofOutcome.REFUTED, kept=JUDGED, files=(str(self.trace),))
            case ProofOutcome.PROVED.value:
                return self._proof(known, budget, document)
        raise NotBelievedError(f"{self.path} is damaged: no such outcome")

    def _judge(self) -> None:
        try:
            trace = Trace.from_json(sealed.read_text(self.trace), source=str(self.trace))
            wrong = self.inquiry.objections(trace)
        except ConfigError as error:
            raise NotBelievedError(f"{self.trace} is damaged: {error.message}") from None
        except (ValueError, KeyError, IndexError, TypeError, ZeroDivisionError) as error:
            raise NotBelievedError(f"{self.trace} is not a trace of this question: {error}") from None
        if wrong:
            raise NotBelievedError(f"{self.trace} does not refute it: {wrong[0]}")

    def _proof(self, known: LemmaResult, budget: Budget, document: dict[str, object]) -> LemmaResult:
        is_sealed, proof, asked = sealed.is_sealed(document), self.certificate / PROOF, self.certificate / QUESTION
        if document.get("has_certificate") is True or proof.exists():
            from fairweir.formal.certificates.certificate import accept

            try:
                steps = accept(self.inquiry.text, sealed.read_text(proof).removesuffix("\n").split("\n"))
            except RejectedError as error:
                raise NotBelievedError(f"{proof} is rejected: {error}") from None
            # Checkers other than `accept` read the question from the file, so the file must have the same question.
            if sealed.read_text(asked) != self.inquiry.text:
                raise NotBelievedError(f"{asked} is not the question of {proof}")
            if not is_sealed:
                # The certificate shows that the lemma holds, but not that the lemma is not vacuous; without a seal, the
                # solvers check the controls again. The stored solver and CPU time cannot be verified without a seal.
                if (found := control(self.inquiry.question, budget)).outcome is not ProofOutcome.PROVED:
                    raise NotBelievedError(f"{self.path}: {found.reason}")
                known = replace(known, solver="checkers", cpu_s=0.0)
            files = (str(asked), str(proof))
            note = f"certificate of {steps} steps, checked again"
            return replace(known, outcome=ProofOutcome.PROVED, kept=CERTIFIED, files=files, note=note)
        if not is_sealed:
            raise NotBelievedError(f"{self.path} was changed, or was not written by this installation")
        note = f"{UNCHECKED}: an earlier run's proof without a certificate"
        return replace(known, outcome=ProofOutcome.PROVED, kept=UNCHECKED, note=note)


#: File names in a certificate's folder.
QUESTION, PROOF = "question.smt2", "certificate.txt"


def answer_all(
    inquiries: Sequence[Inquiry], request: Request, on_progress: OnProgress, more: int = 0
) -> list[LemmaResult]:
    """Return one result per inquiry, in the same order.

    Parameters
    ----------
    inquiries : in the order of the lines in the table of results
    request : Request
    on_progress : called before and after each inquiry
    more : int, number of lines that the caller will add to the table; the reported total includes these lines
    """
    results = []
    total = len(inquiries) + more
    for i, inquiry in enumerate(inquiries):
        on_progress(Progress(inquiry.name, i, total), None)
        results.append(answer(inquiry, request))
        on_progress(Progress(inquiry.name, i + 1, total), results[-1])
    return results


def _stem(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-")


def _certified(result: LemmaResult, inquiry: Inquiry, shelf: _Shelf | None) -> LemmaResult:
    """Return `result` with a certificate; if no certificate is found, `result` stays proved and its note says why."""
    from fairweir.formal.certificates.certificate import certify, save

    try:
        certificate = certify(inquiry.text, CERTIFICATE_STEPS)
    except SolverError as error:
        return replace(result, note="; ".join(filter(None, [result.note, f"no certificate: {error.message}"])))
    files = result.files
    if shelf is not None:
        shelf.certificate.mkdir(parents=True, exist_ok=True)
        files = (*files, *map(str, save(certificate, inquiry.text, shelf.certificate)))
    steps = certificate.propagations + certificate.lemmas
    cpu_s = result.cpu_s + certificate.cpu_s
    return replace(result, files=files, cpu_s=cpu_s, kept="", note=f"certificate of {steps} steps, checked")
