"""A few cases of ``benches/explain_truth.py``, which has the rest: no false reports, and real events are found."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

BENCHES = Path(__file__).parents[2] / "benches"


@pytest.fixture
def truth(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Import the benchmark as a module, with the module that it imports."""
    monkeypatch.syspath_prepend(str(BENCHES))
    yield importlib.import_module("explain_truth")
    for name in ("explain_truth", "explain_cases"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("number", "kind", "place"),
    [
        (0, "alone", "sender"),
        (2, "shared", "sender"),
        (16, "steps", "sender"),
        (6, "arrivals", "sender"),
        (8, "shaper", "sender"),
        (10, "hidden", "sender"),
        (12, "policer", "sender"),
        (20, "jitter", "sender"),
        (22, "app", "sender"),
        (52, "steps", "receiver"),
        (112, "steps", "path"),
        (146, "shared", "behind"),
    ],
)
def test_reported_facts_are_true(truth: Any, tmp_path: Path, number: int, kind: str, place: str) -> None:
    case = truth.case("sim", number)
    assert (case.kind, case.place) == (kind, place)
    score = truth.measure(case, tmp_path)
    assert (score.false, score.wrong) == ([], [])
    assert score.is_stated or score.asked["shaper"]
    if truth.is_asked(score):
        assert +score.found == +score.asked


def test_a_false_or_missing_claim_is_seen(truth: Any) -> None:
    """The benchmark's judge must report false and missing claims."""
    alone = truth.case("sim", 0)
    rate, end = alone.rates[0][1], alone.duration_s
    right = truth.Said([], [], [(0.0, end, 0.99 * rate, 1.01 * rate)], None)
    assert not truth.judge(alone, right).false + truth.judge(alone, right).wrong
    wrong = truth.Said([5.0], [("policer", rate)], [(0.0, end, 1.1 * rate, 1.2 * rate)], (0.0, 0.5 * alone.rtprop_ms))
    score = truth.judge(alone, wrong)
    assert (len(score.false), len(score.wrong)) == (2, 2)
    steps = truth.case("sim", 4)
    assert truth.judge(steps, right).found["change"] == 0 < truth.judge(steps, right).asked["change"]
