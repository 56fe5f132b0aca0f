"""Findings have their own words; each is one of four outcomes by its property ``verdict``."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any, get_args

import pytest

from fairweir.agree.compare import Standing
from fairweir.contracts.result import ContractResult
from fairweir.formal.solving.solve import ProofOutcome
from fairweir.guard.outcome import ChallengeResult, TreatmentResult
from fairweir.hunting.result import HuntResult, OutcomeWord
from fairweir.judging.outcome import Outcome
from fairweir.starvation.result import Starvation
from fairweir.video.evaluate import Bar

HOLDS, FAILS, UNKNOWN, INFO = Outcome


def test_an_outcome_is_one_class() -> None:
    """No other class has this name, so that a search finds only this class."""
    found = [
        f"{path}: {node.name}"
        for path in Path("python/fairweir").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef) and node.name in {"Outcome", "Verdict"}
    ]
    assert found == ["python/fairweir/judging/outcome.py: Outcome"]


def test_every_finding_has_a_verdict() -> None:
    classes = (ChallengeResult, TreatmentResult, ContractResult, HuntResult, Starvation, Bar, Standing, ProofOutcome)
    assert all(isinstance(one.verdict, property) for one in classes)


def test_words_of_proofs_and_agreements_are_outcomes() -> None:
    assert [word.verdict for word in ProofOutcome] == [HOLDS, FAILS, UNKNOWN, UNKNOWN]
    assert [word.verdict for word in Standing] == [HOLDS, FAILS, UNKNOWN, INFO]


@pytest.mark.parametrize(
    ("outcome", "is_cut", "verdict"),
    [
        ("starvation", False, FAILS),
        ("bounded-unfairness", False, UNKNOWN),
        ("none", False, HOLDS),
        ("none", True, UNKNOWN),
        ("failed", False, FAILS),
    ],
)
def test_a_search_that_found_nothing_holds_unless_it_was_cut(
    outcome: OutcomeWord, is_cut: bool, verdict: Outcome
) -> None:
    assert outcome in get_args(OutcomeWord)
    keys: dict[str, Any] = {"outcome": outcome, "budget_exhausted": is_cut}
    found = HuntResult.model_construct(**keys)
    assert found.verdict is verdict
