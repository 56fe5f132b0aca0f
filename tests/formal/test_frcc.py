"""FRCC's theorems: compare results of solvers and sympy with exact rounds."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
import sympy as sp
import z3

from fairweir.formal.frcc import algebra, published
from fairweir.formal.frcc.claim import Claim
from fairweir.formal.frcc.contraction import inequalities
from fairweir.formal.frcc.encoding import factor_rule, possible, seen
from fairweir.formal.frcc.jittery import (
    AS_THE_TEXT_HAS_IT,
    EITHER,
    KERNEL,
    PROVED,
    STATED,
    Bend,
    Jitter,
    State,
    any_bend,
    bend_for,
    factor,
    step,
)
from fairweir.formal.frcc.lemmas import PUBLISHED, Lemma, Range, all_in
from fairweir.formal.frcc.replay import replay
from fairweir.formal.frcc.rounds import max_rounds, rounds_to_band, seams, steps_of
from fairweir.formal.frcc.suite import check, stored
from fairweir.formal.lemmas.result import ProofOutcome
from fairweir.formal.solving.solve import Question, VacuousError, ask
from fairweir.formal.solving.solvers import Budget, Race

LEMMAS = [*published.theorem(), *published.put_right()]
WRONG = [*published.controls(), *published.faults()]
VARIANTS = {"proved": PROVED, "stated": STATED, "either": EITHER, "text": AS_THE_TEXT_HAS_IT, "kernel": KERNEL}


def draw(jitter: Jitter, dice: random.Random) -> tuple[State, tuple[Bend, Bend]]:
    """Draw a state, often near the ends of the ranges, and errors."""
    count = dice.choice([Fraction(33, 5), Fraction(2), Fraction(dice.randrange(1010, 40_000), 1000)])
    n_t = dice.choice([Fraction(15, 100), Fraction(33, 10), Fraction(dice.randrange(1, 12_000), 1000)])
    r = jitter.r_below * Fraction(dice.randrange(1, 1000), 1000)
    return State(1 / count, n_t, r), (any_bend(jitter, dice), any_bend(jitter, dice))


def rounds(jitter: Jitter, number: int, seed: int) -> list[tuple[State, tuple[Fraction, Fraction], State]]:
    """Return random rounds: state before, factors of the windows, state after."""
    dice = random.Random(seed)  # noqa: S311
    played = []
    for _ in range(number):
        state, bends = draw(jitter, dice)
        first, second = (factor(jitter, s, state.n_t, b) for s, b in zip(state.shares, bends, strict=True))
        played.append((state, (first, second), step(jitter, state, bends)))
    return played


@pytest.mark.parametrize("jitter", VARIANTS.values(), ids=VARIANTS)
def test_no_round_leaves_the_encoding_and_both_agree_on_what_follows(jitter: Jitter) -> None:
    for state, factors, after in rounds(jitter, 1500, seed=1):
        at = seen(state, factors)
        assert all(possible(jitter, at)), (state, factors)
        assert at.n_t_after == after.n_t
        assert at.n_c_after_at_most(0, 1 / after.share)
        assert at.n_c_after_at_least(0, 1 / after.share)
        assert not at.n_c_after_at_most(1, 1 / (1 - after.share) * Fraction(999, 1000))
        assert at.n_c_falls(0, after.share / state.share)
        assert not at.n_c_falls(0, after.share / state.share * Fraction(1001, 1000))


@pytest.mark.parametrize("jitter", VARIANTS.values(), ids=VARIANTS)
def test_the_encoding_admits_nothing_that_jitter_cannot_bring_about(jitter: Jitter) -> None:
    dice = random.Random(2)  # noqa: S311
    found = 0
    for _ in range(600):
        share, n_t = Fraction(dice.randrange(1, 100), 100), Fraction(dice.randrange(1, 400), 100)
        wanted = jitter.decrease + (jitter.increase - jitter.decrease) * Fraction(dice.randrange(101), 100)
        is_possible = all(factor_rule(jitter, share, n_t, wanted))
        assert is_possible == (bend_for(jitter, share, n_t, wanted) is not None), (share, n_t, wanted)
        found += is_possible
    assert 50 < found < 550


@pytest.mark.parametrize("lemma", LEMMAS, ids=lambda lemma: lemma.name)
def test_a_lemma_that_holds(lemma: Lemma) -> None:
    result = check(lemma)
    assert result.outcome is ProofOutcome.PROVED, result
    for state, factors, _ in rounds(lemma.jitter, 400, seed=3):
        at = seen(state, factors)
        assert not lemma.given(at) or lemma.then(at), (state, factors)


@pytest.mark.parametrize("lemma", WRONG, ids=lambda lemma: lemma.name)
def test_a_lemma_that_is_wrong_is_refuted_by_a_round_that_can_be_run(lemma: Lemma) -> None:
    result = check(lemma)
    assert result.outcome is ProofOutcome.REFUTED, result
    assert result.stands


def test_lemmas_do_not_mind_which_flow_is_which() -> None:
    for lemma in [*LEMMAS, *WRONG]:
        for state, factors, _ in rounds(lemma.jitter, 100, seed=4):
            at, turned = seen(state, factors), seen(replace(state, share=1 - state.share), factors[::-1])
            assert (lemma.given(at), lemma.then(at)) == (lemma.given(turned), lemma.then(turned))


def test_both_solvers_agree_on_theorem_7_5_2() -> None:
    for lemma in (LEMMAS[0], LEMMAS[3], LEMMAS[4]):
        assert ask(lemma.question(), Budget(cpu_s=20), until=Race.ALL).outcome is ProofOutcome.PROVED


def test_the_stated_direction_of_gamma_r_breaks_c6_at_the_state_the_specs_tell() -> None:
    bend = Bend(rate=Fraction(1, 2), delay=Fraction(0), excess=Fraction(-1))
    before = State(Fraction(1, 2), Fraction(33, 10), Fraction(19, 10))
    assert factor(STATED, before.share, before.n_t, bend) == Fraction(13, 10)
    assert step(STATED, before, (bend, bend)).n_t == Fraction(486, 100)


def test_the_largest_ratio_is_a_flow_count_less_one() -> None:
    assert PUBLISHED.ratio == Fraction(56, 10)
    share = 1 / PUBLISHED.n_c_high
    assert (1 - share) / share == PUBLISHED.ratio
    assert published.IN_THE_STATED_DIRECTION.ratio == Fraction(48, 10)


def test_constants_are_the_best_of_their_kind() -> None:
    stated = published.IN_THE_STATED_DIRECTION
    for change in ({"n_c_high": Fraction(57, 10)}, {"n_t_low": Fraction(201, 1000)}, {"n_t_high": Fraction(589, 100)}):
        outcomes = [check(lemma).outcome for lemma in published.bounded("c", STATED, replace(stated, **change))]
        assert ProofOutcome.REFUTED in outcomes, change


def test_numbers_that_jitter_cannot_bring_about_do_not_count_as_a_refutation() -> None:
    lemma = WRONG[0]
    values = dict(ask(lemma.question()).values)
    assert replay(lemma, values) is not None
    assert replay(lemma, {**values, "factor1": Fraction(2)}) is None
    assert replay(lemma, {**values, "share": Fraction(1, 2)}) is None


def test_questions_are_stored_for_other_solvers(tmp_path: Path) -> None:
    for lemma, verdict in ((LEMMAS[0], z3.unsat), (WRONG[0], z3.sat)):
        (file,) = stored(lemma, check(lemma), tmp_path).files
        solver = z3.Solver()
        solver.from_file(file)
        assert solver.check() == verdict


def test_contradicting_assumptions_prove_nothing() -> None:
    lemma = LEMMAS[0]
    question = lemma.question()
    with pytest.raises(VacuousError, match="contradict"):
        ask(Question("vacuous", [*question.assumptions, ~question.assumptions[0]], question.claim, logic="QF_NRA"))


@pytest.mark.parametrize("inequality", inequalities(), ids=lambda one: one.name)
def test_factors_of_the_ideal_link(inequality: Claim) -> None:
    assert check(inequality).stands


@pytest.mark.parametrize("within", [PUBLISHED, published.IN_THE_STATED_DIRECTION], ids=["published", "stated"])
def test_the_lemmas_add_up_and_do_not_without_c8(within: Range) -> None:
    results = [check(seam) for seam in seams("s", within)]
    assert all(result.stands for result in results), results
    assert [result.outcome for result in results] == [ProofOutcome.PROVED] * 3 + [ProofOutcome.REFUTED]


def test_rounds_are_counted_exactly() -> None:
    assert steps_of(Fraction(2), Fraction(8)) == 3
    assert steps_of(Fraction(2), Fraction(801, 100)) == 4
    assert steps_of(Fraction(2), Fraction(1)) == 0
    # From N_T = 0.15 to the band's 1.8 in steps of 1.01.
    assert Fraction(101, 100) ** 249 < 12 <= Fraction(101, 100) ** 250
    assert rounds_to_band(PUBLISHED) == 250
    assert max_rounds(PUBLISHED, Fraction(33, 5), Fraction(1)) == 0
    assert max_rounds(PUBLISHED, Fraction(33, 5), Fraction(33, 1000)) == steps_of(PUBLISHED.sigma, Fraction(150, 33))


def test_no_run_takes_more_rounds_than_counted() -> None:
    dice = random.Random(7)  # noqa: S311
    for _ in range(20):
        state = State(
            Fraction(dice.choice([1, 3, 97, 99]), 100), Fraction(dice.randrange(1, 900), 100), Fraction(19, 10)
        )
        n_c = 1 / min(state.shares)
        most = max_rounds(PUBLISHED, n_c, state.n_t)
        rounds_left = most
        while not all_in(PUBLISHED)(seen(state, (Fraction(1), Fraction(1)))):
            assert rounds_left > 0
            rounds_left -= 1
            state = step(PROVED, state, (any_bend(PROVED, dice), any_bend(PROVED, dice)))
            # The state is rounded, because the digits of exact fractions double in each round.
            state = State(round(state.share, 9), round(state.n_t, 9), state.r)


IDENTITIES = [
    *algebra.main_identities(),
    *algebra.alternate_identities(),
    *algebra.collision_identities(),
    *algebra.fluid_identities()[:2],
]


@pytest.mark.parametrize("identity", IDENTITIES, ids=lambda identity: identity.name)
def test_an_identity_holds_and_a_changed_one_does_not(identity: algebra.Identity) -> None:
    assert identity.check().outcome is ProofOutcome.PROVED
    changed = replace(identity, right=identity.right * sp.Rational(1001, 1000) + sp.Rational(1, 1000))
    assert changed.check().outcome is ProofOutcome.REFUTED


def test_many_flows_played_window_by_window_follow_the_derived_round() -> None:
    dice = random.Random(5)  # noqa: S311
    for update in (algebra.main_update, algebra.alternate_update):
        to = algebra.transition(update)
        for flows in (2, 3, 7):
            weights = [Fraction(dice.randrange(1, 50)) for _ in range(flows)]
            r, theta, n_t, alpha = (Fraction(dice.randrange(1, 40), 10) for _ in range(4))
            alpha /= 4
            shares = [weight / sum(weights) for weight in weights]
            values = {algebra.R: r, algebra.THETA: theta, algebra.N_T: n_t, algebra.ALPHA: alpha, algebra.N_G: flows}
            at = {symbol: sp.Rational(str(value)) for symbol, value in values.items()}
            windows = []
            for share in shares:
                n_c = 1 / share
                target = (r + theta * n_c) / (r + theta * n_t) if update is algebra.main_update else n_c / n_t
                windows.append(share * (r + theta * n_t) * (1 - alpha + alpha * target))
            assert to.n_t.subs(at) == sp.Rational(str((sum(windows) - r) / theta))
            for share, window in zip(shares, windows, strict=True):
                derived = to.share.subs({**at, algebra.X: sp.Rational(str(share))})
                assert derived == sp.Rational(str(window / sum(windows)))
