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
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
from fairweir.formal.lemmas.steps import Step, settle_all, without_places
from fairweir.formal.lemmas.suites import OnProgress, Request
from fairweir.formal.solving.solve import ProofOutcome, Question, ask, control
from fairweir.formal.solving.solvers import Budget

if TYPE_CHECKING:
    from fairweir.formal.certificates.certificate import Certificate

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


@dataclass(frozen=True)
class Settled:
    """The answer to an inquiry, with the contents of the files in which it can be stored.

    Attributes
    ----------
    result : LemmaResult, without paths
    fingerprint : str, of the inquiry; empty if the answer is not to be stored
    trace : str, the trace that refutes the claim; empty if it is not refuted
    question, certificate : the question and its certificate, if the request asks for certificates; otherwise empty
    """

    result: LemmaResult
    fingerprint: str = ""
    trace: str = field(default="", repr=False)
    question: str = field(default="", repr=False)
    certificate: Certificate | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Ask:
    """The job that settles one inquiry of a suite. A process makes the inquiries of a suite only once.

    Attributes
    ----------
    make : function of a module that returns the inquiries of a request, or the constants that a request seeks
    request : Request, without a folder
    index : int, index in what `make` returns
    value : Fraction, value of the constant, if `make` returns constants
    known : LemmaResult, the stored answer, if only its certificate is missing
    is_stored : bool, whether the answer is to be stored
    """

    make: Callable[[Request], Sequence[Any]]
    request: Request
    index: int
    value: Fraction | None = None
    known: LemmaResult | None = None
    is_stored: bool = False

    @property
    def inquiry(self) -> Inquiry:
        """The inquiry."""
        made = made_by(self.make, self.request)[self.index]
        found: Inquiry = made if self.value is None else made.lemma(self.value)
        return found

    def __call__(self) -> Settled:
        """Settle the inquiry."""
        return settle(self.inquiry, self.request, self.known, is_stored=self.is_stored)


@lru_cache(maxsize=1)
def made_by(make: Callable[[Request], Sequence[Any]], request: Request) -> Sequence[Any]:
    """Return what `make` returns for a request. The latest is cached, because encodings take seconds."""
    return make(request)


def recall(inquiry: Inquiry, request: Request) -> tuple[LemmaResult | None, str]:
    """Return the stored answer, or None; and the reason if a stored answer was rejected."""
    if request.out is None or not (request.out / ANSWERS).is_dir():
        return None, ""
    shelf = _Shelf(inquiry, request.out, inquiry.fingerprint)
    if not shelf.path.exists():
        return None, ""
    try:
        return shelf.recall(_blank(inquiry), Budget(request.budget_s)), ""
    except NotBelievedError as error:
        return None, f"a stored result was rejected and the question was asked again: {error}"


def needs_work(known: LemmaResult, request: Request) -> bool:
    """Return whether the request asks for a certificate that a stored answer does not have."""
    return request.certificate and known.outcome is ProofOutcome.PROVED and known.kept != CERTIFIED


def settle(inquiry: Inquiry, request: Request, known: LemmaResult | None = None, *, is_stored: bool) -> Settled:
    """Ask the solvers, and find a certificate if the request asks for one.

    Parameters
    ----------
    inquiry : Inquiry
    request : Request, with the budget
    known : LemmaResult, the stored answer, if only its certificate is missing
    is_stored : bool, whether the answer is to be stored
    """
    found = _asked(inquiry, request) if known is None else Settled(known)
    if request.certificate and found.result.outcome is ProofOutcome.PROVED:
        found = _certified(found, inquiry)
    return replace(found, fingerprint=inquiry.fingerprint) if is_stored else found


def conclude(settled: Settled, inquiry: Inquiry, request: Request, doubt: str = "") -> LemmaResult:
    """Store an answer in the folder of the request, if there is one, and return the result.

    Parameters
    ----------
    doubt : str, the reason if a stored answer was rejected
    """
    result = settled.result
    if request.out is not None:
        if settled.fingerprint != inquiry.fingerprint:
            hint = "install the same version on all machines"
            raise SolverError(f"`{inquiry.name}`: a worker answered another question", hint=hint)
        result = _Shelf(inquiry, request.out, settled.fingerprint).put(settled)
    return noted(inquiry, result, doubt)


def noted(inquiry: Inquiry, result: LemmaResult, doubt: str = "") -> LemmaResult:
    """Return a result with the inquiry's note, and with the reason if a stored answer was rejected."""
    return replace(result, note=_joined(inquiry.note, doubt, result.note))


def _blank(inquiry: Inquiry) -> LemmaResult:
    return LemmaResult(
        inquiry.name, inquiry.claim, ProofOutcome.UNKNOWN, inquiry.expects, inquiry.constants, about=inquiry.about
    )


def _joined(*notes: str) -> str:
    return "; ".join(filter(None, notes))


def _asked(inquiry: Inquiry, request: Request) -> Settled:
    found = ask(inquiry.question, Budget(request.budget_s))
    note = found.reason if found.outcome in (ProofOutcome.UNKNOWN, ProofOutcome.VACUOUS) else ""
    blank = _blank(inquiry)
    result = replace(blank, outcome=found.outcome, solver=found.solver, cpu_s=found.cpu_s, note=note)
    if found.outcome is not ProofOutcome.REFUTED:
        return Settled(result)
    trace = Trace.from_values(inquiry.system, found.values)
    if wrong := inquiry.objections(trace):
        note = f"the solver's trace does not replay: {wrong[0]} ({len(wrong)} in all)"
        return Settled(replace(result, outcome=ProofOutcome.UNKNOWN, note=note))
    return Settled(result, trace=trace.to_json())


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

    def __init__(self, inquiry: Inquiry, out: Path, fingerprint: str) -> None:
        self.inquiry = inquiry
        self.fingerprint = fingerprint
        stem = f"{_stem(inquiry.name)}.{self.fingerprint[:8]}"
        self.path = out / ANSWERS / f"{self.fingerprint[:16]}.json"
        self.trace = out / "traces" / f"{stem}.json"
        self.certificate = out / "certificates" / stem

    def put(self, settled: Settled) -> LemmaResult:
        """Store an answer and its files, and return the result with their paths."""
        result, files = settled.result, list[str]()
        if settled.trace:
            write_text(self.trace, settled.trace)
            files.append(str(self.trace))
        if settled.certificate is not None:
            from fairweir.formal.certificates.certificate import save

            self.certificate.mkdir(parents=True, exist_ok=True)
            files += map(str, save(settled.certificate, settled.question, self.certificate))
        result = replace(result, files=(*result.files, *files))
        self._keep(result)
        return result

    def _keep(self, result: LemmaResult) -> None:
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


#: Folder of stored answers in the folder of a request.
ANSWERS = "answers"
#: File names in a certificate's folder.
QUESTION, PROOF = "question.smt2", "certificate.txt"


def answer_all(
    make: Callable[[Request], Sequence[Inquiry]], request: Request, on_progress: OnProgress
) -> list[LemmaResult]:
    """Return one result per inquiry of a suite, in the order of the inquiries.

    Parameters
    ----------
    make : function of a module that returns the inquiries of a request
    request : Request
    on_progress : as of :func:`settle_all`
    """
    bare = without_places(request)
    return answer_jobs([Ask(make, bare, index) for index in range(len(made_by(make, bare)))], request, on_progress)


def answer_jobs(
    jobs: Sequence[Ask], request: Request, on_progress: OnProgress = lambda at, result: None
) -> list[LemmaResult]:
    """Return the results of jobs, in their order. Stored answers are verified here, and new answers are stored here."""

    def step(job: Ask) -> Step | LemmaResult:
        inquiry = job.inquiry
        known, doubt = recall(inquiry, request)
        if known is not None and not needs_work(known, request):
            return noted(inquiry, known)
        job = replace(job, known=known, is_stored=request.out is not None)
        return Step(inquiry.name, job, lambda found: conclude(found, inquiry, request, doubt))

    return settle_all((step(job) for job in jobs), request, on_progress, len(jobs))


def _stem(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-")


def _certified(settled: Settled, inquiry: Inquiry) -> Settled:
    """Return the answer with a certificate; if none is found, the answer stays proved and its note says why."""
    from fairweir.formal.certificates.certificate import certify

    result = settled.result
    try:
        certificate = certify(inquiry.text, CERTIFICATE_STEPS)
    except SolverError as error:
        return replace(settled, result=replace(result, note=_joined(result.note, f"no certificate: {error.message}")))
    steps = certificate.propagations + certificate.lemmas
    cpu_s = result.cpu_s + certificate.cpu_s
    result = replace(result, cpu_s=cpu_s, kept="", note=f"certificate of {steps} steps, checked")
    return replace(settled, result=result, question=inquiry.text, certificate=certificate)
