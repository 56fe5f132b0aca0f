"""Composition of lemmas for a simple flow whose queue drains by 1 per window, and all possible gaps in such a proof."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
import z3

from fairweir.formal.lemmas.result import ProofOutcome
from fairweir.formal.lemmas.states import ANYWHERE, Amount, Better, Factor, Measure, Progress, State, Transition
from fairweir.formal.lemmas.stitch import Phase, Plan, stitch, summary, windows_to_cover, windows_without_objectives

LONG = State("long queue", lambda s: s["queue"] > 10)
SHORT = ~LONG
QUEUE = Measure(
    "queue", lambda s: s["queue"], Better.DOWN, Amount(lambda _: z3.RealVal(1), "1"), lambda _: z3.RealVal(10)
)
DRAIN = Transition("drain", "toy", LONG, ends=(SHORT,), progress=Progress((QUEUE,)), or_met=True)
STAY = Transition("stay", "toy", SHORT, ends=(SHORT,), meets=True)
PLAN = Plan(
    ("queue", "alpha"),
    frozenset({"alpha"}),
    State("alpha is small", lambda s: z3.And(s["alpha"] > 0, s["alpha"] < 1)),
    (Phase(LONG, DRAIN), Phase(SHORT, STAY)),
)


def gaps(plan: Plan) -> set[str]:
    return {check.name for check in stitch(plan) if check.gap}


def test_a_plan_without_gaps_is_proved() -> None:
    checks = stitch(PLAN)
    assert len(checks) == 8
    assert {result.outcome for result in summary(checks)} == {ProofOutcome.PROVED}


def test_states_that_leave_something_out() -> None:
    empty = State("empty", lambda s: s["queue"] <= 0)
    assert "cover" in gaps(replace(PLAN, phases=(PLAN.phases[0], Phase(empty, STAY))))


def test_a_lemma_that_begins_elsewhere() -> None:
    narrow = replace(DRAIN, start=State("20", lambda s: s["queue"] > 20))
    assert gaps(replace(PLAN, phases=(Phase(LONG, narrow), PLAN.phases[1]))) == {"begin"}


def test_a_window_whose_end_cannot_begin_another() -> None:
    loose = replace(PLAN, fixed=frozenset())
    assert gaps(loose) == {"resume"}


def test_a_lemma_whose_end_is_an_earlier_phase() -> None:
    lapse = replace(STAY, ends=(ANYWHERE,))
    assert gaps(replace(PLAN, phases=(PLAN.phases[0], Phase(SHORT, lapse)))) == {"stay"}
    assert gaps(replace(PLAN, phases=(Phase(SHORT, lapse), Phase(LONG, DRAIN)))) >= {"advance"}


def test_windows_that_meet_the_objectives_but_undo_progress() -> None:
    # As published lemmas have it: "... or steady-state objectives", without a statement about the measures.
    published = replace(DRAIN, loses_none=False)
    found = stitch(replace(PLAN, phases=(Phase(LONG, published), PLAN.phases[1])))
    advance = next(check for check in found if check.name == "advance")
    assert "queue = " in advance.gap
    assert "queue' = " in advance.gap
    unsettled = [result for result in summary(found) if result.outcome is ProofOutcome.UNKNOWN]
    assert [result.name for result in unsettled] == ["stitch: advance"]
    assert unsettled[0].note.startswith("gap in phase 1 (long queue): queue = ")


def test_progress_without_end() -> None:
    endless = replace(QUEUE, limit=lambda _: z3.RealVal(11))
    drain = replace(DRAIN, progress=Progress((endless,)))
    assert gaps(replace(PLAN, phases=(Phase(LONG, drain), PLAN.phases[1]))) == {"limit"}


def test_a_last_phase_without_objectives() -> None:
    idle = replace(STAY, meets=False)
    assert gaps(replace(PLAN, phases=(PLAN.phases[0], Phase(SHORT, idle)))) == {"stay"}


def test_either_of_two_measures_may_improve_if_the_other_does_not_suffer() -> None:
    low = Measure("C_L", lambda s: s["C_L"], Better.UP, Factor(Fraction(17, 10)), lambda _: z3.RealVal(1))
    high = Measure("C_U", lambda s: s["C_U"], Better.DOWN, Factor(Fraction(17, 10)), lambda _: z3.RealVal(1))
    before = {"C_L": z3.RealVal("1/10"), "C_U": z3.RealVal(17)}

    def is_progress(c_l: str, c_u: int) -> bool:
        after = {"C_L": z3.RealVal(c_l), "C_U": z3.RealVal(c_u)}
        return bool(z3.is_true(z3.simplify(Progress((low, high)).made(before, after))))

    assert is_progress("1/10", 10)
    assert is_progress("17/100", 17)
    assert not is_progress("16/100", 11)
    assert not is_progress("17/100", 18)
    assert not is_progress("9/100", 5)


@pytest.mark.parametrize(("ratio", "windows"), [(1, 0), (2, 1), (4, 2), (Fraction(39, 10), 1), (1024, 10)])
def test_windows_that_a_factor_of_two_needs(ratio: Fraction | int, windows: int) -> None:
    doubles = Measure("rate", lambda s: s["x"], Better.UP, Factor(Fraction(2)), lambda _: z3.RealVal(1))
    assert windows_to_cover(doubles, Fraction(ratio)) == windows


def test_windows_of_a_phase_add_up_over_its_measures() -> None:
    assert windows_to_cover(QUEUE, Fraction(7, 2)) == 3
    assert windows_without_objectives([(QUEUE, Fraction(7, 2)), (QUEUE, Fraction(2))]) == 6
