"""``fairweir prove frcc``: theorems 7.5.1 and 7.5.2 about the CCA FRCC, their errors in print, and corrections.

Theorem 7.5.1 of the thesis is about a link without jitter, theorem 7.5.2 about a link with jitter. Each step of a proof
is an identity that is checked by algebra, or a lemma or claim that is checked by solvers. The suite also has controls:
claims that are false by a small amount, so that the solvers must refute them.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
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
from fairweir.formal.lemmas.steps import Step, settle_all
from fairweir.formal.lemmas.suites import OnProgress, Request
from fairweir.formal.solving.solve import ask
from fairweir.formal.solving.solvers import Budget

Part = Identity | Claim | Lemma
"""A step of a proof."""


def ideal_link() -> list[Part]:
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


def jittery_link() -> list[Part]:
    """Return the steps of theorem 7.5.2 under the assumptions of its proof, and controls that solvers must refute."""
    return [*published.theorem(), *seams("the lemmas add up", PUBLISHED), *published.controls()]


def faults() -> list[Part]:
    """Return the errors in print, as lemmas that solvers must refute."""
    return [*published.faults()]


def corrections() -> list[Part]:
    """Return the corrected lemmas, and the claims that lead from these lemmas to the theorem."""
    return [*published.put_right()]


def run(request: Request, on_progress: OnProgress) -> list[LemmaResult]:
    """Check all steps, each in less than a second, and return one result per step.

    Raises
    ------
    SolverError : a solver is missing, or two contradict each other
    """

    def conclude(place: int, result: LemmaResult) -> LemmaResult:
        return stored(parts()[place], result, request.out)

    steps = [
        Step(part.name, partial(_settled, place, request.budget_s), partial(conclude, place))
        for place, part in enumerate(parts())
    ]
    return settle_all(steps, request, on_progress, len(steps))


@cache
def parts() -> tuple[Part, ...]:
    """Return all steps, in the order of the table of results."""
    return (*ideal_link(), *jittery_link(), *faults(), *corrections())


def _settled(place: int, budget_s: float) -> LemmaResult:
    return settle(parts()[place], budget_s)


def settle(part: Part, budget_s: float = 60.0) -> LemmaResult:
    """Check a step by algebra or by the solvers.

    Parameters
    ----------
    part : Identity, Lemma or Claim
    budget_s : float, CPU seconds of each solver
    """
    return part.check() if isinstance(part, Identity) else check(part, budget_s)


def stored(part: Part, result: LemmaResult, out: Path | None) -> LemmaResult:
    """Write the solvers' question, which is satisfiable if and only if the claim is wrong; return the result with it.

    Parameters
    ----------
    out : Path, folder for the question as SMT-LIB; None: store nothing
    """
    if out is None or isinstance(part, Identity):
        return result
    file = out / f"frcc-{slug(part.name.replace('/', '-'))}.smt2"
    write_text(file, part.question().negated())
    return replace(result, files=(str(file),))


def check(step: Lemma | Claim, budget_s: float = 60.0) -> LemmaResult:
    """Check one step by solvers.

    The refutation of a lemma counts only if the solver's counterexample can be replayed in exact fractions.

    Parameters
    ----------
    step : Lemma or Claim
    budget_s : float, CPU seconds of each solver

    Raises
    ------
    VacuousError : the step's assumptions contradict each other
    """
    constants = step.constants if isinstance(step, Lemma) else ()
    answer = ask(step.question(), Budget(cpu_s=budget_s))
    outcome, note = answer.outcome, step.note
    if outcome in (ProofOutcome.UNKNOWN, ProofOutcome.VACUOUS):
        note = answer.reason
    elif outcome is ProofOutcome.REFUTED and isinstance(step, Lemma):
        played = replay(step, answer.values)
        if played is None:
            outcome, note = ProofOutcome.UNKNOWN, "the solver's counterexample does not replay"
        else:
            note = ": ".join(filter(None, [note, str(played)]))
    return LemmaResult(
        step.name,
        step.claim,
        outcome,
        step.expects,
        constants,
        answer.solver,
        answer.cpu_s,
        note,
        about=step.about,
    )
