"""Rules of verdicts: a verdict is not unknown only if the whole interval is on one side of the bound."""

from __future__ import annotations

import pytest

from fairweir.audit.axis import Axis
from fairweir.audit.exhibits.family import Claim, Depth, Family, Law, Metric, Place, Reduction, Subject
from fairweir.audit.judge import Samples, curves, judge, slope, undecided
from fairweir.audit.results import ClaimResult, Fault
from fairweir.judging.interval import Scale
from fairweir.judging.outcome import Direction, Interval, Outcome, Threshold, combine
from fairweir.scenario.dumbbell import ScenarioDict

AT_MOST_2 = Threshold(bound=2.0, direction=Direction.AT_MOST, reason="because", source="here")
AT_LEAST_HALF = Threshold(bound=0.5, direction=Direction.AT_LEAST, reason="because", source="here")
METRIC = Metric("ratio", "", Scale.RATIO, lambda reading: None, label="ratio")
SHARE = Metric("share", "", Scale.FRACTION, lambda reading: None, label="share")


def no_scenario(subject: Subject, place: Place, seed: int, patience: float) -> ScenarioDict:
    raise AssertionError("judging plays nothing")


def family(*claims: Claim, law: Law | None = None) -> Family:
    return Family(
        name="sweep",
        title="A sweep",
        question="?",
        setup="",
        axis=Axis(name="rate", unit="Mbps", scale="log"),
        places={Depth.DEFAULT: [Place(1.0, "1 Mbps"), Place(10.0, "10 Mbps")]},
        scenario=no_scenario,
        metrics=(METRIC, SHARE),
        claims=claims,
        laws=lambda cca: {"ratio": law} if law else {},
    )


def samples(metric: str, *points: list[float]) -> Samples:
    return {i: {seed: {metric: value} for seed, value in enumerate(values, 1)} for i, values in enumerate(points)}


def verdict_on(claim: Claim, found: Samples, faults: list[Fault] | None = None, law: Law | None = None) -> ClaimResult:
    sweep = family(claim, law=law)
    return judge(sweep, claim, "cca", curves(sweep, Depth.DEFAULT, "cca", found), faults or [])


RATIO_CLAIM = Claim("ratio", "fairness", "fair", AT_MOST_2)


def test_all_points_within_the_bound_hold() -> None:
    result = verdict_on(RATIO_CLAIM, samples("ratio", [1.1, 1.1, 1.2], [1.5, 1.5, 1.5]))
    assert (result.verdict, result.at) == (Outcome.HOLDS, "10 Mbps")
    assert result.name == "sweep.ratio"


def test_one_point_beyond_fails_the_whole_and_is_the_one_shown() -> None:
    result = verdict_on(RATIO_CLAIM, samples("ratio", [3.0, 3.1, 3.2], [1.0, 5.0, 1.5]))
    assert (result.verdict, result.at) == (Outcome.FAILS, "1 Mbps")
    assert "1 of 2 points" in result.why


def test_a_point_that_straddles_is_unknown_and_wants_more_seeds() -> None:
    found = samples("ratio", [1.1, 1.1, 1.1], [1.5, 2.5, 2.0])
    assert verdict_on(RATIO_CLAIM, found).verdict is Outcome.UNKNOWN
    sweep = family(RATIO_CLAIM)
    assert undecided(RATIO_CLAIM, METRIC, curves(sweep, Depth.DEFAULT, "cca", found)[0]) == [1]


def test_at_least_is_the_other_way_round() -> None:
    claim = Claim("share", "use", "used", AT_LEAST_HALF)
    assert verdict_on(claim, samples("share", [0.9, 0.9, 0.9], [0.8, 0.8, 0.8])).verdict is Outcome.HOLDS
    failing = verdict_on(claim, samples("share", [0.9, 0.9, 0.9], [0.1, 0.1, 0.1]))
    assert failing.verdict is Outcome.FAILS
    assert failing.value == pytest.approx(0.1)


def test_growth_is_the_exponent_over_the_axis() -> None:
    claim = Claim(
        "ratio",
        "growth",
        "no growth",
        Threshold(bound=0.1, direction=Direction.AT_MOST, reason="because", source="here"),
        Reduction.SLOPE,
    )
    result = verdict_on(claim, samples("ratio", [2.0, 2.0, 2.0], [20.0, 20.0, 20.0]))
    assert result.verdict is Outcome.FAILS
    assert result.value == pytest.approx(1.0)
    assert result.name == "sweep.ratio-growth"
    assert verdict_on(claim, samples("ratio", [2.0, 2.0], [2.0, 2.0])).verdict is Outcome.HOLDS


def test_growth_uses_the_seeds_that_all_points_have() -> None:
    sweep = family(RATIO_CLAIM)
    found = samples("ratio", [1.0, 1.0, 9.0], [10.0, 10.0])
    estimate = slope(curves(sweep, Depth.DEFAULT, "cca", found)[0])
    assert estimate is not None
    assert estimate.value == pytest.approx(1.0)


def test_without_a_threshold_nothing_is_judged_and_the_law_is_reported() -> None:
    claim = Claim("ratio", "law", "follows its law")
    found = samples("ratio", [2.0, 2.0], [4.0, 4.0])
    reported = verdict_on(claim, found, law=Law("2x", lambda x: 2.0 if x == 1.0 else 5.0))
    assert reported.verdict is Outcome.INFO
    assert reported.why == "0.80 to 1.00 times 2x"


def fault(kind: str, message: str = "cwnd is NaN") -> Fault:
    return Fault.model_validate(
        {"family": "sweep", "label": "1 Mbps", "seed": 1, "kind": kind, "message": message, "scenario_toml": ""}
    )


def test_a_run_that_did_not_end_fails_every_claim_of_its_family() -> None:
    good = samples("ratio", [1.0, 1.0], [1.0, 1.0])
    for kind in ("controller", "timeout", "crash"):
        result = verdict_on(RATIO_CLAIM, good, [fault(kind), fault(kind)])
        assert result.verdict is Outcome.FAILS
        assert "cwnd is NaN" in result.why


def test_a_run_that_failed_for_an_internal_error_is_unknown() -> None:
    assert verdict_on(RATIO_CLAIM, {}, [fault("error")]).verdict is Outcome.UNKNOWN


def test_no_samples_give_no_number() -> None:
    result = verdict_on(RATIO_CLAIM, {})
    assert (result.verdict, result.value) == (Outcome.UNKNOWN, None)


@pytest.mark.parametrize(
    ("lo", "hi", "expected"),
    [(1.0, 2.0, Outcome.HOLDS), (2.0001, 9.0, Outcome.FAILS), (1.9, 2.1, Outcome.UNKNOWN)],
)
def test_an_interval_takes_a_side_only_as_a_whole(lo: float, hi: float, expected: Outcome) -> None:
    assert Interval(value=(lo + hi) / 2, lo=lo, hi=hi).outcome(AT_MOST_2) is expected


def test_one_failure_fails_the_whole() -> None:
    assert combine([Outcome.HOLDS, Outcome.UNKNOWN, Outcome.FAILS]) is Outcome.FAILS
    assert combine([Outcome.HOLDS, Outcome.UNKNOWN]) is Outcome.UNKNOWN
    assert combine([Outcome.INFO, Outcome.HOLDS]) is Outcome.HOLDS
    assert combine([]) is Outcome.INFO
