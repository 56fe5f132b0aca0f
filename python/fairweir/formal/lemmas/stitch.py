"""Check with a solver that the lemmas of a suite imply a statement about runs of any length.

Each lemma is a transition: a claim about one window of time that begins in a given state, proved for all traces of a
CCA on a network model. A snapshot has the quantities of a flow and its link (cwnd, queue, ...) at one point in time. A
plan lists phases, which are states, in the order in which a flow passes them, each phase with its transition. A
transition makes progress in a window if at least one measure (a quantity such as cwnd) improves by a step and no
measure worsens. The objectives are bounds on utilization, queue and losses. The checks are:

- cover: every snapshot at which a window may begin is in at least one phase;
- begin: each phase implies the start state of its transition;
- resume: at the end of each window, another window may begin;
- advance: a window that begins in a phase ends in a later phase; or it ends in the same phase, and either makes
  progress, or meets the objectives and worsens no measure;
- limit: in each phase, every measure has a bound, so only finitely many windows can make progress;
- stay: windows that begin in the last phase end in it and meet the objectives.

Together the checks imply that, from any start, all windows meet the objectives except for a bounded number of windows
(`windows_without_objectives`).
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

#: z3's resource limit (rlimit) for one check, which is a few dozen linear constraints.
RLIMIT = 20_000_000


@dataclass(frozen=True)
class Phase:
    """A state that a flow passes, and the transition that was proved for windows that begin in this state."""

    state: State
    transition: Transition


@dataclass(frozen=True)
class Plan:
    """The transitions of a suite, in the order in which they apply to a flow.

    Attributes
    ----------
    quantities : names of a snapshot's quantities
    fixed : names of quantities of the path, such as alpha (bytes of one packet), which do not change between windows
    may_begin : State, the assumption of all lemmas about the first point of a window
    phases : in the order in which a flow passes them; a flow stays in the last phase
    standing : transitions that apply in every phase, such as "consistent beliefs stay consistent"
    """

    quantities: tuple[str, ...]
    fixed: frozenset[str]
    may_begin: State
    phases: tuple[Phase, ...]
    standing: tuple[Transition, ...] = ()


@dataclass(frozen=True)
class Check:
    """Result of one check of one phase.

    Attributes
    ----------
    name : str, kind of check, such as ``advance``
    phase : str, number and name of the phase
    gap : str, the counterexample, or the reason why the solver gave no answer; empty if the check passed
    cpu_s : float, CPU seconds
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
    """Return one line of the suite's table for each kind of check.

    If a check fails, the outcome of its kind is ``unknown``, and the note has the counterexample.
    """
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
    """Run all checks of a plan, and return one result per check and phase."""
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
    """Return the claims of all lemmas about a window that begins in the phase."""
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
    """Search for a counterexample: snapshots that satisfy all formulas of `impossible`."""
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
    """Return the maximum number of windows in which a measure can improve by its step before it reaches its limit.

    Parameters
    ----------
    measure : Measure
    ratio : initial distance from the measure's limit. If the step is a factor: the larger of the measure's value and
        its limit, divided by the smaller. If the step is an amount: value minus limit, divided by the amount
    """
    if isinstance(measure.step, Factor):
        # The loop is exact; floating-point logarithms provide only its initial value, which is too low.
        by = measure.step.by
        count = max(0, math.floor(math.log(ratio) / math.log(by)) - 2)
        while by ** (count + 1) <= ratio:
            count += 1
        return count
    return math.floor(ratio)


def windows_without_objectives(measures: Iterable[tuple[Measure, Fraction]]) -> int:
    """Return the maximum number of windows in a phase that do not meet the objectives.

    Each of these windows, except the window that leaves the phase, improves at least one measure by its step and
    worsens no measure.

    Parameters
    ----------
    measures : pairs of a measure and its initial distance from its limit (`ratio` in :func:`windows_to_cover`)
    """
    return sum(windows_to_cover(measure, ratio) for measure, ratio in measures) + 1
