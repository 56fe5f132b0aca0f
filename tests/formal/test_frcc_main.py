"""FRCC's main update beyond the paper: compare attractors with rounds, and run controls that must fail."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairweir.errors import ConfigError
from fairweir.formal.frcc.claim import Claim
from fairweir.formal.frcc.main import suite as main_suite
from fairweir.formal.frcc.main.check import escapes, play, sample
from fairweir.formal.frcc.main.controls import controls, fair
from fairweir.formal.frcc.main.hand import lemmas
from fairweir.formal.frcc.main.rule import THESIS, Errors, after_round, factor, printed_factor
from fairweir.formal.frcc.main.update import UNRANKED, Attractor, Case, attractor
from fairweir.formal.frcc.suite import check
from fairweir.formal.lemmas.result import LemmaResult, ProofOutcome, conclude
from fairweir.formal.lemmas.suites import Progress, Request
from fairweir.formal.solving.solve import ask

COARSE = Case(Fraction(1), Fraction(11, 10), odds_step=Fraction(1, 20), nt_step=Fraction(1, 20))
NO_ERRORS = Errors(Fraction(0), Fraction(1), Fraction(0))


def found(case: Case) -> Attractor:
    """Return an attractor that exists."""
    result = attractor(case)
    assert isinstance(result, Attractor), result
    return result


@pytest.fixture(scope="module")
def coarse() -> Attractor:
    """Return a case with two flows and few cells."""
    return found(COARSE)


def dice() -> random.Random:
    """Return a generator with a fixed seed."""
    return random.Random(7)  # noqa: S311


@given(st.fractions(Fraction(1, 50), 20), st.integers(2, 5))
def test_the_fair_point_rests_without_errors(r: Fraction, flows: int) -> None:
    cwnd = fair(r, flows)
    assert after_round(THESIS, cwnd, r, [NO_ERRORS] * flows) == cwnd


@given(
    st.fractions(Fraction(1, 20), Fraction(19, 20)), st.fractions(Fraction(1, 2), 6), st.fractions(Fraction(1, 50), 20)
)
def test_without_errors_a_flow_aims_at_the_delay_of_its_flow_count(share: Fraction, n_t: Fraction, r: Fraction) -> None:
    aim = (r + 1 / share) / (r + n_t)
    assert factor(THESIS, share, n_t, r, NO_ERRORS) == min(max(aim, THESIS.slowest), THESIS.fastest)


def test_printed_clamps_bound_the_estimate_not_cwnd() -> None:
    r, n_t, share = Fraction(10), Fraction(1), Fraction(1, 10)
    assert factor(THESIS, share, n_t, r, NO_ERRORS) == THESIS.fastest
    assert printed_factor(THESIS, share, n_t, r, NO_ERRORS) == (r + Fraction(13, 10)) / (r + 1)


def test_no_round_leaves_the_attractor_or_goes_to_a_higher_rank(coarse: Attractor) -> None:
    assert not list(escapes(coarse, THESIS, sample(coarse, 12, dice())))


def test_runs_reach_the_attractor_and_stay(coarse: Attractor) -> None:
    runs = play(coarse, 6_000, dice(), restart_every=500)
    assert runs.strays == 0
    assert runs.latest < 100
    # the result of the search is at least as tight
    assert 3 < runs.worst_ratio <= coarse.found.worst_ratio < 6


def test_an_attractor_cut_short_is_found_out() -> None:
    cut = found(COARSE)
    columns = len(cut.odds) - 1
    for cell, rank in enumerate(cut.rank):
        if rank == 0 and (cut.odds[cell % columns] > 3 or cut.odds[cell % columns + 1] < 1 / 3):
            cut.rank[cell] = UNRANKED
    assert next(escapes(cut, THESIS, sample(cut, 40, dice())), None) is not None
    assert play(cut, 4_000, dice()).strays > 0


def test_a_rank_that_does_not_fall_is_found_out(coarse: Attractor) -> None:
    flat = found(COARSE)
    outside = [cell for cell, rank in enumerate(flat.rank) if 2 <= rank < UNRANKED]
    for cell in outside:
        flat.rank[cell] = 1
    assert next(escapes(flat, THESIS, outside[:: len(outside) // 20]), None) is not None


def test_corners_are_in_their_cell(coarse: Attractor) -> None:
    for cell in sample(coarse, 10, dice()):
        for cwnd, r in coarse.corners(cell):
            assert cell in coarse.cells_at(cwnd, r)


def test_three_flows() -> None:
    assumed = replace(THESIS, rate_under=Fraction(5, 6))
    three = found(replace(COARSE, flows=3, assumed=assumed, odds_step=Fraction(1, 10), nt_step=Fraction(1, 15)))
    assert not list(escapes(three, assumed, sample(three, 1, dice())))
    assert play(three, 2_000, dice()).strays == 0


def test_one_flow_after_another() -> None:
    turns = found(replace(COARSE, schedule="sequential"))
    runs = play(turns, 4_000, dice())
    assert runs.strays == 0
    assert 3 < runs.worst_ratio <= turns.found.worst_ratio


def test_every_control_fails_by_an_exact_run() -> None:
    results = [control.check() for control in controls()]
    assert [result.outcome for result in results] == [ProofOutcome.REFUTED] * len(results)
    assert all(result.stands for result in results)


@pytest.mark.parametrize("lemma", lemmas(), ids=lambda lemma: lemma.name)
def test_lemmas_by_hand(lemma: Claim) -> None:
    assert check(lemma).outcome is ProofOutcome.PROVED


def test_the_floor_needs_the_bound_on_n_t() -> None:
    claimed, blurred = lemmas()[0], lemmas(replace(THESIS, nt_over=Fraction(1)))[0]
    question = blurred.question()
    question = replace(question, claim=claimed.question().claim)
    assert ask(question).outcome is ProofOutcome.REFUTED


def test_uncovered_results_have_a_reason() -> None:
    blurred = attractor(replace(COARSE, assumed=replace(THESIS, nt_over=Fraction(1))))
    assert isinstance(blurred, str)
    assert "no floor of N_T" in blurred
    too_coarse = attractor(replace(COARSE, odds_step=Fraction(1), nt_step=Fraction(1)))
    assert too_coarse == "the attractor reaches beyond the cells"


def test_an_invalid_case_is_rejected_with_its_key() -> None:
    with pytest.raises(ConfigError, match="must not end before it starts: `1/2`") as refused:
        attractor(replace(COARSE, r_high=Fraction(1, 2)))
    assert refused.value.key == "rtprop"


def test_a_search_can_be_interrupted() -> None:
    def stop(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        attractor(COARSE, stop)


def test_a_suite_keeps_what_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ranges = [COARSE, replace(COARSE, r_low=Fraction(11, 10), r_high=Fraction(6, 5))]
    request = Request(out=tmp_path, certificate=True)
    seen: list[str] = []

    def on_progress(at: Progress, result: object) -> None:
        if result is not None:
            seen.append(at.doing)

    def prove() -> list[LemmaResult]:
        return main_suite.run(request, on_progress, ranges, [], main_suite.Effort(1, 200))

    first = prove()
    assert conclude(first) is ProofOutcome.PROVED
    assert len(seen) == len(first)
    assert "1 to 1.2" in first[-1].name
    cells = json.loads(next(tmp_path.glob("*-cells.json")).read_text())
    assert sum(end - start for start, end in cells["runs"]) == cells["found"]["attractor_cells"]
    searched: list[Case] = []

    def spy(case: Case) -> Attractor | str:
        searched.append(case)
        return attractor(case)

    monkeypatch.setattr(main_suite, "attractor", spy)
    again = prove()
    assert [r.constants for r in again] == [r.constants for r in first]
    assert not searched
    assert [r.kept for r in again].count("not re-checked") == len(ranges) + 1
    # A stored file that was edited, is damaged, belongs to another case or has other cells is reported, and the search
    # is repeated.
    one, other = sorted(path for path in tmp_path.glob("*.json") if "cells" not in path.name)
    cells = one.with_name(f"{one.stem}-cells.json")
    edits = [
        (one, one.read_text().replace('"ours": "4.', '"ours": "3.'), "was changed"),
        (one, other.read_text(), "answers another question"),
        (cells, cells.read_text().replace("1", "2", 1), "was changed"),
    ]
    for number, (path, text, why) in enumerate(edits, 1):
        assert path.read_text() != text
        path.write_text(text)
        results = prove()
        assert len(searched) == number
        assert [r.constants for r in results] == [r.constants for r in first]
        assert sum(why in r.note for r in results) == 1


def test_results_and_their_order_do_not_depend_on_the_number_of_processes() -> None:
    ranges = [COARSE, replace(COARSE, r_low=Fraction(11, 10), r_high=Fraction(6, 5))]
    ended: list[int] = []

    def prove(workers: int) -> list[LemmaResult]:
        ended.clear()
        found = main_suite.run(
            Request(workers=workers),
            lambda at, result: ended.append(at.place) if result is not None else None,
            ranges,
            [],
            main_suite.Effort(1, 200),
        )
        return [replace(result, cpu_s=0.0, solver="") for result in found]

    one = prove(1)
    assert prove(2) == one
    assert sorted(ended) == list(range(len(one)))


def test_a_gap_or_an_open_range_concludes_nothing() -> None:
    apart = [COARSE, replace(COARSE, r_low=Fraction(2), r_high=Fraction(21, 10))]
    results = main_suite.run(Request(), lambda at, result: None, apart, [], main_suite.Effort(0, 0))
    assert results[-1].outcome is ProofOutcome.UNKNOWN
    open_range = [replace(COARSE, assumed=replace(THESIS, nt_over=Fraction(1)))]
    results = main_suite.run(Request(), lambda at, result: None, open_range, [], main_suite.Effort(0, 0))
    assert results[-1].outcome is ProofOutcome.UNKNOWN
