"""A published number limits the bounds of its check, and the outcome shows the distance from the number."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairweir.judging.outcome import Outcome
from fairweir.papers.catalogue import computed_entries
from fairweir.reproduce.computed import Number, judge_number
from fairweir.reproduce.experiment import Bound, Case, Check, known_ids
from fairweir.reproduce.judge import judge
from fairweir.reproduce.standing import standing_rows, standing_table

ROOT = Path(__file__).parents[2]


def _judged(value: float, published: str | float, **bounds: float) -> tuple[Outcome, float | None, str]:
    check = Check.model_validate({"claim": "starves", "reading": "throughput_mbps", "published": published, **bounds})
    finding = judge("e", Case(name="c", check=[check]), check, "sim", {0: ("", [value])})
    return finding.outcome, finding.times, finding.bound


def test_a_wide_bound_does_not_hold_far_from_the_published_number() -> None:
    assert _judged(24.0, 8.0, at_most=36.0) == (Outcome.FAILS, 3.0, "≤ 36, ×0.5 to ×2")
    assert _judged(12.0, 8.0, at_most=36.0) == (Outcome.HOLDS, 1.5, "≤ 36, ×0.5 to ×2")
    assert _judged(3.0, 8.0, at_most=36.0)[0] is Outcome.FAILS
    assert _judged(24.0, "starves", at_most=36.0) == (Outcome.HOLDS, None, "≤ 36")


def test_a_published_bound_is_no_estimate() -> None:
    outcome, times, bound = _judged(0.66, 6.6, at_most=6.6)
    assert (outcome, bound) == (Outcome.HOLDS, "≤ 6.6")
    assert times == pytest.approx(0.1)
    assert _judged(0.0, 0.0, at_most=0.5) == (Outcome.HOLDS, None, "≤ 0.5")
    assert _judged(9.0, 8.0, within=0.2) == (Outcome.HOLDS, None, "±20%")


def test_each_point_of_the_axis_has_its_own_number() -> None:
    check = Check(claim="c", reading="ratio", published=[1.0, 10.0], at_least=0.5)
    axis = {"key": "link.bottleneck.rate", "values": ["1Mbps", "2Mbps"]}
    case = Case.model_validate({"name": "c", "axis": axis, "check": [check.model_dump()]})
    finding = judge("e", case, check, "sim", {0: ("1Mbps", [1.5]), 1: ("2Mbps", [1.5])})
    assert (finding.outcome, finding.at, finding.times) == (Outcome.FAILS, "2Mbps", 0.15)


def test_computed_numbers_have_the_same_limit() -> None:
    finding = judge_number("e", Number("c", "claim", "reading", 3.0, Bound(at_least=0.0), 1.0))
    assert (finding.outcome, finding.times) == (Outcome.FAILS, 3.0)


def test_results_in_doubt_are_those_of_entries() -> None:
    known = {*known_ids(ROOT / "scenarios" / "published"), *(entry.id for entry in computed_entries())}
    assert {row.entry for row in standing_rows()} <= known | {""}
    assert len(standing_table(known)) == len(standing_rows()) + 5
    assert standing_table(["thesis-2.1"]) == []
