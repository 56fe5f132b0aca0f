"""A lemma as a question to the solvers, and its answer as a line of the suite's table.

With a folder, settled answers are kept there by the fingerprint of their question, and not asked again; a refutation's
trace and a proof's certificate go there too.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import z3

from fairweir.errors import SolverError
from fairweir.formal.lemmas.result import Constant, LemmaResult
from fairweir.formal.lemmas.suites import OnProgress, Progress, Request
from fairweir.formal.solve import Answer, Outcome, Question, ask
from fairweir.formal.solvers import Budget
from fairweir.formal.system import System
from fairweir.formal.trace import Trace

#: z3's steps for a certificate: a few times what it takes to find the answer that is certified.
CERTIFICATE_STEPS = 1_000_000_000


@dataclass(frozen=True)
class Inquiry:
    """What is claimed of all traces of a system.

    Attributes
    ----------
    name, claim : str, as in :class:`LemmaResult`
    system : System, with beliefs and senders
    given : further assumptions, as the state in which a trace begins
    then : what holds of each such trace
    expects, constants, note : as in :class:`LemmaResult`
    """

    name: str
    claim: str
    system: System
    given: tuple[z3.BoolRef, ...]
    then: z3.BoolRef
    expects: Outcome = Outcome.PROVED
    constants: tuple[Constant, ...] = ()
    note: str = ""

    @property
    def question(self) -> Question:
        """The question to the solvers."""
        return Question(self.name, [*self.system.assertions(), *self.given], self.then)


def answer(inquiry: Inquiry, request: Request) -> LemmaResult:
    """Ask, or take what the folder has.

    Raises
    ------
    VacuousError : the assumptions contradict each other
    SolverError : a solver is missing, or two contradict each other
    """
    question = inquiry.question
    blank = LemmaResult(inquiry.name, inquiry.claim, Outcome.UNKNOWN, inquiry.expects, inquiry.constants)
    kept = None if request.out is None else _kept(question, request.out)
    if kept is not None and kept.is_file():
        result = _recall(blank, json.loads(kept.read_text(encoding="utf-8")))
    else:
        found = ask(question, Budget(request.budget_s))
        result = replace(blank, outcome=found.outcome, solver=found.solver, cpu_s=found.cpu_s, note=found.reason)
        result = replace(result, files=_trace(inquiry, found, request.out))
        if kept is not None and found.outcome is not Outcome.UNKNOWN:
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(json.dumps(_memory(result)) + "\n", encoding="utf-8")
    if request.certificate and result.outcome is Outcome.PROVED:
        result = _certified(result, question, request.out)
    notes = [inquiry.note, "" if result.outcome is not Outcome.UNKNOWN and not request.certificate else result.note]
    return replace(result, note="; ".join(filter(None, notes)))


def answer_all(
    inquiries: Sequence[Inquiry], request: Request, on_progress: OnProgress, more: int = 0
) -> list[LemmaResult]:
    """Ask one after another; `more` is how many lines of the table come after these."""
    results = []
    total = len(inquiries) + more
    for i, inquiry in enumerate(inquiries):
        on_progress(Progress(inquiry.name, i, total), None)
        results.append(answer(inquiry, request))
        on_progress(Progress(inquiry.name, i + 1, total), results[-1])
    return results


def _kept(question: Question, out: Path) -> Path:
    fingerprint = hashlib.sha256(question.negated().encode()).hexdigest()[:16]
    return out / "answers" / f"{fingerprint}.json"


def _memory(result: LemmaResult) -> dict[str, Any]:
    return {key: result.document()[key] for key in ("outcome", "solver", "cpu_s", "files")}


def _recall(blank: LemmaResult, memory: dict[str, Any]) -> LemmaResult:
    return replace(
        blank,
        outcome=Outcome(memory["outcome"]),
        solver=memory["solver"],
        cpu_s=memory["cpu_s"],
        files=tuple(memory["files"]),
    )


def _stem(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-")


def _trace(inquiry: Inquiry, found: Answer, out: Path | None) -> tuple[str, ...]:
    """Keep a refutation's trace."""
    if out is None or found.outcome is not Outcome.REFUTED:
        return ()
    path = out / "traces" / f"{_stem(inquiry.name)}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(Trace.from_values(inquiry.system, found.values).to_json(), encoding="utf-8")
    return (str(path),)


def _certified(result: LemmaResult, question: Question, out: Path | None) -> LemmaResult:
    """Look for a certificate; a proof without one stays proved, and the note says so."""
    from fairweir.formal.certificate import certify, save

    text = question.negated()
    try:
        certificate = certify(text, CERTIFICATE_STEPS)
    except SolverError as error:
        return replace(result, note=f"no certificate: {error.message}")
    files = result.files
    if out is not None:
        folder = out / "certificates" / _stem(result.name)
        folder.mkdir(parents=True, exist_ok=True)
        files = (*files, *map(str, save(certificate, text, folder)))
    steps = certificate.propagations + certificate.lemmas
    cpu_s = result.cpu_s + certificate.cpu_s
    return replace(result, files=files, cpu_s=cpu_s, note=f"certificate of {steps} steps, checked")
