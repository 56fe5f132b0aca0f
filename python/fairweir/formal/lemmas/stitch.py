"""Composition of a suite's transitions over any number of windows, checked by a solver.

Given phases in the order in which a flow passes them, each with the transition that was proved from it, the checks are:

- cover: every instant at which a window may begin is in some phase;
- begin: each phase is inside the start of its transition;
- resume: the end of each window is an instant at which a window may begin;
- advance: from a phase, a window ends in a later phase, or in the same one with progress made, or with the objectives
  met and no progress lost; never in an earlier phase;
- limit: in each phase every measure has a bound, so that progress is made in finitely many windows;
- stay: the last phase is never left, and the objectives hold in it.

Together they imply: from any start, all windows but a bounded number (`windows_without_objectives`) meet the
objectives.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import z3

from fairweir.formal.lemmas.result import About, LemmaResult, ProofOutcome
from fairweir.formal.lemmas.states import Factor, Measure, Snapshot, State, Transition

#: A solver's steps for one check; they are a few dozen linear constraints each.
RLIMIT = 20_000_000


@dataclass(frozen=True)
class Phase:
    """A part of a flow's way, and the transition from it."""

    state: State
    transition: Transition


@dataclass(frozen=True)
class Plan:
    """Transitions to be composed.

    Attributes
    ----------
    quantities : names in a snapshot; those in `fixed` do not change between windows
    fixed : names of the path's own quantities, as alpha
    may_begin : State in which the lemmas let a window begin
    phases : in order; the last is where a flow stays
    standing : transitions that were proved of every window, as "consistent beliefs stay consistent"
    """

    quantities: tuple[str, ...]
    fixed: frozenset[str]
    may_begin: State
    phases: tuple[Phase, ...]
    standing: tuple[Transition, ...] = ()


@dataclass(frozen=True)
class Check:
    """One check of one phase.

    Attributes
    ----------
    name : str, which of the checks
    phase : str, where
    gap : str, the counterexample; empty if there is none
    cpu_s : float
    """

    name: str
    phase: str
    gap: str
    cpu_s: float


_MEANINGS = {
    "cover": "the states cover everything",
    "begin": "the phase is where its lemma begins",
    "resume": "a window's end may begin the next",
    "advance": "phases never go back; progress accumulates",
    "limit": "progress has an end",
    "stay": "the last state is never left, objectives hold",
}


def summary(checks: Sequence[Check]) -> list[LemmaResult]:
    """Return the checks as lines of the suite's table, one per kind; a gap makes the suite unknown, and is named."""
    results = []
    for name, meaning in _MEANINGS.items():
        own = [check for check in checks if check.name == name]
        gaps = [f"gap in {check.phase}: {check.gap}" for check in own if check.gap]
        outcome = ProofOutcome.UNKNOWN if gaps else ProofOutcome.PROVED
        cpu_s = sum(check.cpu_s for check in own)
        note = "; ".join(gaps)
        results.append(
            LemmaResult(f"stitch: {name}", meaning, outcome, solver="z3", cpu_s=cpu_s, note=note, about=About.LOGIC)
        )
    return results


def stitch(plan: Plan) -> list[Check]:
    """Make all checks of a plan."""
    before = _snapshot(plan, "")
    after = _snapshot(plan, "'")
    same = [before[name] == after[name] for name in plan.fixed]
    now = plan.may_begin.holds(before)
    checks = [_check("cover", "all", [now, *(z3.Not(phase.state.holds(before)) for phase in plan.phases)], before)]
    for i, phase in enumerate(plan.phases):
        where = f"phase {i + 1} ({phase.state.name})"
        here = [now, phase.state.holds(before)]
        starts = phase.transition.start.holds(before)
        checks.append(_check("begin", where, [*here, z3.Not(starts)], before))
        met = z3.Bool("objectives met")
        window = [*here, *same, *_claims(plan, phase, before, after, met)]
        checks.append(_check("resume", where, [*window, z3.Not(plan.may_begin.holds(after))], before, after))
        is_last = i == len(plan.phases) - 1
        onward = [z3.And(phase.state.holds(after), met)] if is_last else _onward(plan, i, before, after, met)
        name = "stay" if is_last else "advance"
        checks.append(_check(name, where, [*window, z3.Not(z3.Or(*onward))], before, after))
        if not is_last:
            bounds = [measure.is_within(before) for measure in _measures(phase)]
            checks.append(_check("limit", where, [*here, z3.Not(z3.And(*bounds))], before))
    return checks


def _claims(plan: Plan, phase: Phase, before: Snapshot, after: Snapshot, met: z3.BoolRef) -> list[z3.BoolRef]:
    """Return the knowledge about a window that begins in the phase."""
    known = [phase.transition.claim(before, after, met)]
    return known + [z3.Implies(t.start.holds(before), t.claim(before, after, met)) for t in plan.standing]


def _onward(plan: Plan, i: int, before: Snapshot, after: Snapshot, met: z3.BoolRef) -> list[z3.BoolRef]:
    phase = plan.phases[i]
    later = [p.state.holds(after) for p in plan.phases[i + 1 :]]
    progress = phase.transition.progress
    if progress is None:
        return later
    stays = phase.state.holds(after)
    moved, idle = progress.made(before, after), z3.And(met, progress.kept(before, after))
    return [*later, z3.And(stays, z3.Or(moved, idle))]


def _measures(phase: Phase) -> tuple[Measure, ...]:
    return phase.transition.progress.measures if phase.transition.progress else ()


def _snapshot(plan: Plan, mark: str) -> Snapshot:
    return {name: z3.Real(name + mark) for name in plan.quantities}


def _check(name: str, where: str, impossible: list[z3.BoolRef], *shown: Snapshot) -> Check:
    """Search for a counterexample."""
    began = time.process_time()
    solver = z3.Solver()
    solver.set("rlimit", RLIMIT)
    solver.add(*impossible)
    answer = solver.check()
    gap = ""
    if answer == z3.sat:
        model = solver.model()
        gap = ", ".join(f"{term} = {model.eval(term, model_completion=True)}" for one in shown for term in one.values())
    elif answer != z3.unsat:
        gap = f"the solver gave no answer: {solver.reason_unknown()}"
    return Check(name, where, gap, time.process_time() - began)


def windows_to_cover(measure: Measure, ratio: Fraction) -> int:
    """Return the maximum number of windows in which a measure can improve, if it begins at `ratio` from its limit.

    Parameters
    ----------
    ratio : for a factor, the ratio to its limit (or its inverse); for an amount, the distance in units of it
    """
    if isinstance(measure.step, Factor):
        # Exact: floating logarithms only provide the first guess.
        by = measure.step.by
        count = max(0, math.floor(math.log(ratio) / math.log(by)) - 2)
        while by ** (count + 1) <= ratio:
            count += 1
        return count
    return math.floor(ratio)


def windows_without_objectives(measures: Iterable[tuple[Measure, Fraction]]) -> int:
    """Return the maximum length of a phase in windows, without windows that meet the objectives.

    Each such window improves at least one of the measures by its step and worsens none; the one that leaves the phase
    is added.
    """
    return sum(windows_to_cover(measure, ratio) for measure, ratio in measures) + 1
