"""The four metrics against closed forms, and the bounds between them on random contracts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairweir.contracts.costs import (
    Curve,
    Fold,
    generality,
    growth,
    max_generality_by_noise,
    min_growth,
    robustness,
    unfairness,
)

S_MIN, S_MAX, NOISE = 0.5, 100.0, 1.0


@pytest.mark.parametrize("p", [0.5, 1.0, 2.0])
def test_power_laws_cost_what_table_6_2_says(p: float) -> None:
    curve = Curve(lambda s: s**-p, S_MIN, S_MAX)
    assert robustness(curve, NOISE) == pytest.approx((1 + NOISE / S_MIN) ** p)
    assert unfairness(curve, 3, Fold.SUM) == pytest.approx(3**p)
    assert unfairness(curve, 3, Fold.MAX) == pytest.approx(1.0)
    assert growth(curve, 4) == pytest.approx(4 ** (1 / p))
    assert generality(curve) == pytest.approx((S_MAX / S_MIN) ** p)


def test_the_exponential_costs_what_its_algebra_says() -> None:
    """Table 6.2 prints e^(k S_max/S_0) for the unfairness; at s = S_max/k it is e^((k-1) S_max/(k S_0))."""
    curve = Curve(lambda s: math.exp(-s / 20.0), S_MIN, S_MAX)
    assert robustness(curve, NOISE) == pytest.approx(math.exp(NOISE / 20.0))
    assert unfairness(curve, 4, Fold.SUM) == pytest.approx(math.exp(0.75 * S_MAX / 20.0))
    assert growth(curve, 10) == pytest.approx(1 + 20.0 * math.log(10) / S_MIN)
    assert generality(curve) == pytest.approx(math.exp((S_MAX - S_MIN) / 20.0))


def test_losses_add_up_as_survivals_multiply() -> None:
    curve = Curve(lambda p: p**-0.5, 1e-4, 0.5)
    assert Fold.SURVIVAL.over(0.1, 2) == pytest.approx(0.19)
    assert unfairness(curve, 4, Fold.SURVIVAL) == pytest.approx(2.0, rel=1e-3)
    assert unfairness(curve, 4, Fold.SURVIVAL) < 2.0


def test_an_intercept_costs_more_the_nearer_the_domain_comes() -> None:
    near = [robustness(Curve(lambda s: 1 - s / 40.0, 1.0, 40.0 - gap), 0.01) for gap in (1.0, 0.1, 0.01)]
    assert near == pytest.approx([1.01, 1.1, 2.0], rel=1e-6)


@st.composite
def contracts(draw: st.DrawFn) -> Curve:
    """Random contracts f: ln f is piecewise linear over [1, s_max]."""
    s_max = draw(st.floats(3.0, 40.0))
    falls = draw(st.lists(st.floats(0.05, 2.0), min_size=2, max_size=6))
    knots = np.linspace(1.0, s_max, len(falls) + 1)
    logs = -np.concatenate([[0.0], np.cumsum(falls)])
    return Curve(lambda s: math.exp(float(np.interp(s, knots, logs))), 1.0, s_max)


@settings(max_examples=20)
@given(contracts(), st.floats(0.2, 1.5), st.floats(1.1, 6.0))
def test_robustness_is_paid_in_growth_and_generality(curve: Curve, noise: float, flows: float) -> None:
    error = robustness(curve, noise)
    assert growth(curve, flows) >= min_growth(curve, noise, 1.001 * error, flows) * (1 - 1e-6)
    assert generality(curve) <= max_generality_by_noise(curve, noise, 1.001 * error)


@settings(max_examples=20)
@given(contracts(), st.integers(2, 5))
def test_fairness_is_paid_in_growth(curve: Curve, hops: int) -> None:
    """C.1.3: growth(1 + unfairness over k hops) is at least k; infinite if the domain is too small."""
    ratio = unfairness(curve, hops, Fold.SUM)
    assert math.isinf(ratio) or growth(curve, 1 + ratio * (1 - 1e-6)) >= hops * (1 - 1e-3)


def test_without_whole_steps_the_published_bound_on_generality_fails() -> None:
    """A contract that falls by e at the start of each step of noise falls five times in 4.05 steps."""

    def in_steps(s: float) -> float:
        whole, part = divmod(s - 1.0, 1.0)
        return math.exp(-whole - 0.99 * min(part / 0.01, 1.0) - 0.01 * part)

    curve = Curve(in_steps, 1.0, 5.05)
    error = robustness(curve, 1.0)
    assert error == pytest.approx(math.e, rel=1e-6)
    assert generality(curve) > 1.5 * error**4.05
    assert generality(curve) <= max_generality_by_noise(curve, 1.0, error)


@pytest.mark.parametrize("noise", [0.5, 2.0])
def test_the_exponential_meets_the_bounds(noise: float) -> None:
    curve = Curve(lambda s: math.exp(-s / 20.0), 1.0, 61.0)
    error = robustness(curve, noise)
    flows = error**8
    assert growth(curve, flows) == pytest.approx(min_growth(curve, noise, error, flows), rel=1e-6)
    assert generality(curve) == pytest.approx(max_generality_by_noise(curve, noise, error), rel=1e-6)
