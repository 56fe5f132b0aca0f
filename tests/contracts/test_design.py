"""Designs: closed forms at the corners, designs that the bounds exclude, and a scenario of a design."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fairweir.cli.main import main
from fairweir.contracts.design import Requirements, Shape, designs, impossible

REQUIREMENTS = Requirements(
    noise_ms=1.0, slowest_mbps=2.0, fastest_mbps=100.0, hops=3, flows=4, min_qdelay_ms=1.0, error=1.5
)
WORDS = ["contract", "design", "noise=1ms", "slowest=2Mbps", "fastest=100Mbps"]


def test_robustness_alone_gives_the_exponential_with_the_minimum_queue() -> None:
    best, other = designs(REQUIREMENTS)
    assert (best.shape, other.shape) == (Shape.EXPONENTIAL, Shape.POWER)
    assert best.s0_ms == pytest.approx(1.0 / math.log(1.5))
    assert best.c0_mbps == pytest.approx(150.0)
    assert best.max_qdelay_ms == pytest.approx(1.0 + math.log(50.0) / math.log(1.5))
    assert other.max_qdelay_ms > 2 * best.max_qdelay_ms
    assert best.robustness == pytest.approx(other.robustness) == pytest.approx(1.5)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0])
def test_alpha_fairness_gives_its_power_law(alpha: float) -> None:
    best, other = designs(replace(REQUIREMENTS, unfairness=3 ** (1 / alpha)))
    assert best.shape is Shape.POWER
    assert best.exponent == pytest.approx(1 / alpha)
    assert best.s0_ms == pytest.approx(max(1.0, 1.0 / (1.5**alpha - 1.0)))
    assert best.unfairness == pytest.approx(3 ** (1 / alpha))
    assert not best.missed
    assert other.missed == ("unfairness 17.8, not " + f"{3 ** (1 / alpha):g}",)


def test_the_longest_queue_is_spent_on_robustness() -> None:
    best, _ = designs(replace(REQUIREMENTS, error=None, max_qdelay_ms=50.0))
    assert best.shape is Shape.EXPONENTIAL
    assert best.max_qdelay_ms == pytest.approx(50.0)
    assert best.robustness == pytest.approx(50.0 ** (1 / 49.0))


@pytest.mark.parametrize(
    ("change", "bound"),
    [
        ({"flows": 51}, "cannot hold for 51 flows"),
        ({"unfairness": 2.0, "growth": 2.0}, "C.1.3"),
        ({"growth": 1.1, "max_qdelay_ms": 20.0}, "C.1.1"),
        ({"error": 1.2, "max_qdelay_ms": 10.0}, "C.1.2"),
        ({"unfairness": 1.2, "max_qdelay_ms": 50.0}, "C.1.4"),
    ],
)
def test_a_bound_that_forbids_is_named(change: dict[str, float], bound: str) -> None:
    assert not impossible(REQUIREMENTS)
    (reason,) = impossible(replace(REQUIREMENTS, **change))  # type: ignore[arg-type]
    assert bound in reason


@settings(max_examples=30)
@given(
    error=st.floats(1.05, 3.0),
    unfairness=st.floats(1.1, 30.0),
    growth=st.floats(1.2, 12.0),
    longest=st.floats(3.0, 300.0),
)
def test_no_bound_forbids_what_a_contract_meets(error: float, unfairness: float, growth: float, longest: float) -> None:
    requirements = replace(REQUIREMENTS, error=error, unfairness=unfairness, growth=growth, max_qdelay_ms=longest)
    assume(requirements.range >= requirements.flows)
    best = designs(requirements)[0]
    assert best.missed or not impossible(requirements)


@pytest.mark.parametrize("requirement", ["error=1.5", "unfairness=3 error=1.5"])
def test_the_scenario_rests_on_the_curve(requirement: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "design.toml"
    assert main([*WORDS, *requirement.split(), "--scenario", str(file), "--json"]) == 0
    best = json.loads(capsys.readouterr().out)["contracts"][0]
    assert main(["run", str(file), "--json"]) == 0
    played = json.loads(capsys.readouterr().out)
    share = math.sqrt(200.0)
    for flow in played["flows"]:
        assert flow["throughput_mbps"] == pytest.approx(share, rel=0.1)
        if best["shape"] == "power":
            qdelay = best["s0_ms"] * (best["c0_mbps"] / share) ** (1 / best["exponent"])
        else:
            qdelay = best["s0_ms"] * math.log(best["c0_mbps"] / share)
        assert flow["qdelay_ms"]["p50"] == pytest.approx(qdelay, rel=0.15)


def test_requirements_that_clash_end_with_a_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "design.toml"
    assert main([*WORDS, "error=1.2", "max_qdelay=10ms", "--scenario", str(file)]) == 1
    assert "no contract: error 1.2" in capsys.readouterr().out
    assert not file.exists()


@pytest.mark.parametrize(
    ("requirements", "error"),
    [
        (["error=1.5", "speed=3"], "not a requirement: `speed=3`"),
        (["error=0.5"], "not a ratio above 1: `0.5`"),
        (["error=60"], "every contract satisfies this requirement: `60`"),
        (["hops=1", "error=2"], "not a whole number above 1: `1`"),
        (["error=2", "noise=0ms"], "must be positive: `0ms`"),
        (["error=2", "slowest=200Mbps"], "above the slowest"),
        ([], "`error` or `max_qdelay`"),
    ],
)
def test_bad_requirements_are_rejected(requirements: list[str], error: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*WORDS, *requirements]) == 2
    assert error in capsys.readouterr().err
