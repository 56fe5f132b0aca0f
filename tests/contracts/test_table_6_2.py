"""Thesis Table 6.2, row by row, and the corners of the space it spans."""

from __future__ import annotations

import math

import pytest

from fairweir.contracts.analytical import CONDITIONS, Setting, costs
from fairweir.contracts.costs import Corner, Curve, Fold, corner
from fairweir.judging.outcome import Outcome
from fairweir.papers.thesis.table_6_2 import rows, table
from fairweir.play.batch import Archive
from fairweir.reproduce.computed import judge_number

BY_NAME = {name: costs(condition, Setting()) for condition in CONDITIONS for name in condition.ccas}


def test_only_the_bound_that_is_printed_as_a_value_differs() -> None:
    computation = table(Archive(None))
    findings = [judge_number("thesis-table-6.2", number) for number in computation.numbers]
    assert len(findings) == 4 * len(rows())
    off = [(f.case, f.reading.partition(" ")[0], f.is_known) for f in findings if f.outcome is not Outcome.HOLDS]
    assert off == [("Exponential", "unfairness", True)]
    assert computation.draw is not None
    left, right = computation.draw().axes
    assert len(left.lines) == len(right.lines) == len(rows())


@pytest.mark.parametrize(
    ("f", "fold", "expected"),
    [
        (lambda s: math.exp(-s / 10.0), Fold.SUM, Corner.NOISE),
        (lambda s: math.exp(-s / 10.0), Fold.MAX, Corner.NOISE),
        (lambda s: s**-0.5, Fold.SUM, Corner.HOPS),
        (lambda s: s**-2.0, Fold.SUM, Corner.HOPS),
        (lambda s: s**-1.0, Fold.MAX, None),
        (lambda s: 1.0 / (s + 5.0), Fold.SUM, None),
        (lambda s: 1.0 - s / 101.0, Fold.SUM, None),
    ],
)
def test_exponentials_and_powers_are_the_corners(f, fold: Fold, expected: Corner | None) -> None:  # type: ignore[no-untyped-def]
    assert corner(Curve(f, 0.5, 100.0), 1.0, 3, fold) is expected


def test_the_table_knows_its_corners() -> None:
    assert {name for name, row in BY_NAME.items() if row.corner is Corner.NOISE} == {"expo", "poseidon"}
    assert {name for name, row in BY_NAME.items() if row.corner is Corner.HOPS} == {
        *("vegas", "fast", "copa", "reno", "tfrc", "cubic", "dctcp", "frcc"),
    }


def test_a_threshold_starves_whatever_its_curve_says() -> None:
    aimd, reno = BY_NAME["aimd_delay"], BY_NAME["reno"]
    assert math.isinf(aimd.unfairness)
    assert (aimd.robustness, aimd.growth) == pytest.approx((reno.robustness, reno.growth), rel=1e-6)
    assert aimd.condition.starves


def test_the_shift_of_bbr_counts_once_a_hop() -> None:
    """At 0.5 ms above a shift of 40 ms, the sum over three hops is 81.5 ms above it: the rate is 163 times smaller."""
    assert BY_NAME["bbr"].unfairness == pytest.approx((3 * 40.5 - 40.0) / 0.5, rel=1e-6)
    assert BY_NAME["bbr"].robustness == pytest.approx(BY_NAME["vegas"].robustness, rel=1e-6)


def test_frcc_has_theta_of_delay_with_one_flow_and_shares_of_any_link() -> None:
    frcc = BY_NAME["frcc"]
    assert frcc.robustness == pytest.approx(1.1, rel=1e-6)
    assert frcc.generality == pytest.approx(10.0, rel=1e-6)
    assert frcc.growth == pytest.approx(4.0, rel=1e-6)
