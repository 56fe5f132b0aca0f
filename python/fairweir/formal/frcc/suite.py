"""``fairweir prove frcc``: theorems 7.5.1 and 7.5.2 about the CCA FRCC, their errors in print, and corrections.

Theorem 7.5.1 of the thesis is about a link without jitter, theorem 7.5.2 about a link with jitter. Each step of a proof
is an identity that is checked by algebra, or a lemma or claim that is checked by solvers. The suite also has controls:
claims that are false by a small amount, so that the solvers must refute them.
"""

from __future__ import annotations

from pathlib import Path

from fairweir.documents.atomic_write import write_text
from fairweir.documents.filenames import slug
from fairweir.formal.frcc import published
from fairweir.formal.frcc.algebra import (
    Identity,
    alternate_identities,
    collision_identities,
    fluid_identities,
    main_identities,
)
from fairweir.formal.frcc.claim import Claim
from fairweir.formal.frcc.contraction import inequalities
from fairweir.formal.frcc.lemmas import PUBLISHED, Lemma
from fairweir.formal.frcc.replay import replay
from fairweir.formal.frcc.rounds import seams
from fairweir.formal.lemmas.result import LemmaResult, ProofOutcome
from fairweir.formal.lemmas.suites import OnProgress, Progress, Request
from fairweir.formal.solving.solve import ask
from fairweir.formal.solving.solvers import Budget

Step = Identity | Claim | Lemma


def ideal_link() -> list[Step]:
    """Return the steps for a link without jitter.

    The steps are theorem 7.5.1, rounds with overlapping probes, and fixed points of flows with different propagation
    delays.
    """
    return [
        *main_identities(),
        *alternate_identities(),
        *inequalities(),
        *collision_identities(),
        *fluid_identities(),
    ]


def jittery_link() -> list[Step]:
    """Return the steps of theorem 7.5.2 under the assumptions of its proof, and controls that solvers must refute."""
    return [*published.theorem(), *seams("the lemmas add up", PUBLISHED), *published.controls()]


def faults() -> list[Step]:
    """Return the errors in print, as lemmas that solvers must refute."""
    return [*published.faults()]


def corrections() -> list[Step]:
    """Return the corrected lemmas, and the claims that lead from these lemmas to the theorem."""
    return [*published.put_right()]


def run(request: Request, on_progress: OnProgress) -> list[LemmaResult]:
    """Check all steps, each in less than a second, and return one result per step.

    Raises
    ------
    SolverError : a solver is missing, or two contradict each other
    """
    steps = [*ideal_link(), *jittery_link(), *faults(), *corrections()]
    results: list[LemmaResult] = []
    for number, step in enumerate(steps):
        on_progress(Progress(step.name, number, len(steps)), None)
        result = settle(step, request.budget_s, request.out)
        results.append(result)
        on_progress(Progress(step.name, number + 1, len(steps)), result)
    return results


def settle(step: Step, budget_s: float = 60.0, out: Path | None = None) -> LemmaResult:
    """Check a step by algebra or by the solvers.

    Parameters
    ----------
    step : Identity, Lemma or Claim
    budget_s : float, CPU seconds of each solver
    out : Path, folder in which the solvers' question is stored; None: store nothing
    """
    return step.check() if isinstance(step, Identity) else check(step, budget_s, out)


def check(step: Lemma | Claim, budget_s: float = 60.0, out: Path | None = None) -> LemmaResult:
    """Check one step by solvers.

    The refutation of a lemma counts only if the solver's counterexample can be replayed in exact fractions.

    Parameters
    ----------
    step : Lemma or Claim
    budget_s : float, CPU seconds of each solver
    out : Path, folder for the question as SMT-LIB, which is satisfiable if and only if the claim is wrong

    Raises
    ------
    VacuousError : the step's assumptions contradict each other
    """
    constants = step.constants if isinstance(step, Lemma) else ()
    question = step.question()
    answer = ask(question, Budget(cpu_s=budget_s))
    outcome, note = answer.outcome, step.note
    if outcome in (ProofOutcome.UNKNOWN, ProofOutcome.VACUOUS):
        note = answer.reason
    elif outcome is ProofOutcome.REFUTED and isinstance(step, Lemma):
        played = replay(step, answer.values)
        if played is None:
            outcome, note = ProofOutcome.UNKNOWN, "the solver's counterexample does not replay"
        else:
            note = ": ".join(filter(None, [note, str(played)]))
    files: tuple[str, ...] = ()
    if out is not None:
        file = out / f"frcc-{slug(step.name.replace('/', '-'))}.smt2"
        write_text(file, question.negated())
        files = (str(file),)
    return LemmaResult(
        step.name,
        step.claim,
        outcome,
        step.expects,
        constants,
        answer.solver,
        answer.cpu_s,
        note,
        files,
        about=step.about,
    )
