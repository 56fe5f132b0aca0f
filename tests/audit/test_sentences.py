"""An audit's results in words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest

from fairweir.audit.profile import Place, Profile
from fairweir.audit.report import render_report
from fairweir.audit.results import AuditResults, CcaResults, Change, ClaimResult, Comparison, Estimate
from fairweir.audit.sentences import sentences, worst
from fairweir.audit.standings import Relative, Standing
from fairweir.audit.summary import write_summary
from fairweir.judging.difference import Relation
from fairweir.judging.metrics import RATIO_CEILING
from fairweir.judging.outcome import Direction, Outcome, Threshold, combine

if TYPE_CHECKING:
    from pathlib import Path

AT_MOST_2 = Threshold(bound=2.0, direction=Direction.AT_MOST, reason="because", source="here")
AT_LEAST_HALF = Threshold(bound=0.5, direction=Direction.AT_LEAST, reason="because", source="here")
HOLDS, FAILS, UNKNOWN, INFO = Outcome.HOLDS, Outcome.FAILS, Outcome.UNKNOWN, Outcome.INFO


def claim(verdict: Outcome, value: float | None = 3.0, bound: Threshold | None = AT_MOST_2, **keys: Any) -> ClaimResult:
    given: dict[str, Any] = {
        "name": "sweep.ratio",
        "family": "sweep",
        "metric": "ratio",
        "title": "fairness",
        "claim": "rates are even",
        "unit": "",
        "at": "96 Mbps",
        "why": "not at 1 of 2 points",
    }
    return ClaimResult.model_validate(
        {**given, "value": value, "lo": value, "hi": value, "threshold": bound, "verdict": verdict, **keys}
    )


def audit(*claims: ClaimResult, **keys: Any) -> AuditResults:
    cca = CcaResults(cca="bbr", verdict=combine(c.verdict for c in claims), exhibits=list(claims))
    return AuditResults(version="0.1.0", depth="quick", seeds=[1, 2], complete=True, ccas=[cca], **keys)


def texts(*claims: ClaimResult, **keys: Any) -> list[str]:
    results = audit(*claims, **keys)
    return [sentence.text for sentence in sentences(results, results.ccas[0])]


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([], "No claim was judged."),
        ([INFO, INFO], "No claim was judged."),
        ([HOLDS], "The only judged claim holds."),
        ([FAILS], "The only judged claim fails."),
        ([UNKNOWN, INFO], "The only judged claim is unknown."),
        ([HOLDS, HOLDS, INFO], "All 2 judged claims hold."),
        ([FAILS, FAILS, FAILS], "All 3 judged claims fail."),
        ([UNKNOWN, UNKNOWN], "All 2 judged claims are unknown."),
        ([FAILS, HOLDS], "Of 2 judged claims, 1 fails and 1 holds."),
        ([FAILS, FAILS, UNKNOWN, HOLDS, HOLDS], "Of 5 judged claims, 2 fail, 1 is unknown and 2 hold."),
        ([UNKNOWN, HOLDS, UNKNOWN], "Of 3 judged claims, no claim fails, 2 are unknown and 1 holds."),
    ],
)
def test_verdicts_are_counted(verdicts: list[Outcome], expected: str) -> None:
    assert texts(*map(claim, verdicts))[0] == expected


@pytest.mark.parametrize(
    ("failing", "expected"),
    [
        (claim(FAILS, 5.0), "Fairness (sweep, 96 Mbps) is 5; it should be at most 2: 2.50 times the bound."),
        (
            claim(FAILS, 0.1, AT_LEAST_HALF, at="", unit="s"),
            "Fairness (sweep) is 0.1 s; it should be at least 0.5 s: the bound is 5.00 times the value.",
        ),
        (claim(FAILS, 0.0, AT_LEAST_HALF), "Fairness (sweep, 96 Mbps) is 0; it should be at least 0.5."),
        (claim(FAILS, RATIO_CEILING), "Fairness (sweep, 96 Mbps) is ≥ 10⁶; it should be at most 2."),
        (claim(FAILS, math.inf), "Fairness (sweep, 96 Mbps) is ∞; it should be at most 2."),
        (claim(FAILS, None), "Fairness (sweep, 96 Mbps) fails without a value: not at 1 of 2 points"),
        (claim(FAILS, 14.2, None), "Fairness (sweep, 96 Mbps) is 14.2 and fails: not at 1 of 2 points"),
        (
            claim(FAILS, 1.0, AT_MOST_2.model_copy(update={"bound": 0.0})),
            "Fairness (sweep, 96 Mbps) is 1; it should be at most 0.",
        ),
        (claim(FAILS, 1.5), "Fairness (sweep, 96 Mbps) is 1.5; it should be at most 2."),
    ],
)
def test_a_failing_claim_states_value_bound_and_distance(failing: ClaimResult, expected: str) -> None:
    assert texts(failing)[1:] == [expected]


def test_the_claims_furthest_from_their_bounds_come_first_and_the_others_are_counted() -> None:
    values = [4.0, RATIO_CEILING, 3.0, 10.0, 20.0]
    results = audit(*(claim(FAILS, value, name=f"sweep.{value:g}") for value in values), claim(HOLDS, 1.0))
    described = worst(results.ccas[0])
    assert [s.claim.value for s in described if s.claim is not None] == [RATIO_CEILING, 20.0, 10.0]
    assert described[-1].text == "2 other claims fail."
    four = audit(*(claim(FAILS, value) for value in values[:4]))
    assert worst(four.ccas[0])[-1].text == "1 other claim fails."


def relative(*relations: Relation) -> Relative:
    standings = [
        Standing(
            name=f"sweep.m{i}", family="sweep", metric="m", title="m", relation=relation, why="", pairs=3, points=1
        )
        for i, relation in enumerate(relations)
    ]
    return Relative(cca="bbr", reference="cubic", standings=standings)


@pytest.mark.parametrize(
    ("relations", "expected"),
    [
        ([], "Compared with cubic, nothing could be judged."),
        ([Relation.SAME], "Compared with cubic, the only metric is the same."),
        ([Relation.SAME, Relation.SAME], "Compared with cubic, all 2 metrics are the same."),
        (
            [Relation.WORSE, Relation.SAME, Relation.SAME],
            "Compared with cubic, of 3 metrics 1 is worse (sweep.m0) and 2 are the same.",
        ),
        (
            [Relation.BETTER] * 6 + [Relation.UNDECIDED],
            "Compared with cubic, of 7 metrics 6 are better (sweep.m0, sweep.m1, sweep.m2, sweep.m3 and 2 more)"
            " and 1 is undecided.",
        ),
    ],
)
def test_a_reference(relations: list[Relation], expected: str) -> None:
    assert texts(claim(HOLDS), relative=[relative(*relations)]) == [expected, "The only judged claim holds."]


def test_a_reference_itself_is_not_compared() -> None:
    other = relative(Relation.SAME).model_copy(update={"cca": "mine"})
    assert texts(claim(HOLDS), relative=[other]) == ["The only judged claim holds."]


def test_a_baseline() -> None:
    now = Estimate(value=3.0, lo=3.0, hi=3.0, verdict=FAILS)
    change = Change(cca="bbr", exhibit="sweep.ratio", direction="worsened", before=now, now=now, reason="r")
    comparison = Comparison(baseline="before.json", version="0.1.0", compared=2)
    lead = "Compared with the baseline before.json, "
    assert texts(claim(HOLDS), comparison=comparison)[1:] == [f"{lead}no claim changed."]
    others = change.model_copy(update={"cca": "cubic"})
    compared = comparison.model_copy(update={"changes": [change, others]})
    assert texts(claim(HOLDS), comparison=compared)[1:] == [f"{lead}1 claim worsened (sweep.ratio)."]


@pytest.mark.parametrize(
    ("ranks", "expected"),
    [
        ([1], "ranked by 1 property, it is best in 1 (p0)."),
        ([1, 9, 9, 5], "ranked by 4 properties, it is best in 1 (p0) and last in 2 (p1, p2)."),
        ([2, 3], "ranked by 2 properties, it is neither best nor last in any."),
    ],
)
def test_known_ccas(ranks: list[int], expected: str) -> None:
    places = [
        Place(name=f"p{i}", exhibit="e", value=1.0, rank=rank, of=9, best="reno", best_value=1.0)
        for i, rank in enumerate(ranks)
    ]
    profile = Profile(cca="bbr", version="0.1.0", places=places)
    assert texts(claim(HOLDS), profiles=[profile])[1:] == [f"Among the known CCAs, {expected}"]


def test_messages_of_users_are_shortened_and_escaped(tmp_path: Path) -> None:
    results = audit(claim(FAILS, None, why="<img src=x onerror=alert(1)>\n# heading " + "long " * 100))
    text = sentences(results, results.ccas[0])[1].text
    assert len(text) < 220
    assert "\n" not in text
    assert "<img" not in render_report(results)
    write_summary(results, tmp_path / "summary.md")
    assert "- Fairness (sweep, 96 Mbps) fails without a value: \\<img" in (tmp_path / "summary.md").read_text()


def test_sentences_of_the_report_link_to_their_claims() -> None:
    page = render_report(audit(claim(FAILS, 5.0)))
    assert '<a href="#x-bbr-sweep-ratio">Fairness (sweep, 96 Mbps) is 5; it should be' in page
    assert 'id="x-bbr-sweep-ratio"' in page
