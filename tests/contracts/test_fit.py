"""Shapes of contracts are recovered from points that follow them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from fairweir.contracts.fit import (
    AFFINE_POWER,
    FAMILIES,
    STEEPEST_AFFINE,
    Family,
    Points,
    bootstrap,
    choose,
    fit,
    log_errors,
)

BY_NAME = {family.name: family for family in FAMILIES}

TRUTHS = {
    "power": (240.0, -1.0),
    "shifted-power": (90.0, 38.0, -0.9),
    "affine-power": (4000.0, 20.0, -1.5, 2.0),
    "linear": (0.8, 60.0),
    "exponential": (400.0, 14.4),
    "logarithmic": (30.0, 80.0),
}
DOMAINS = {
    "power": (2.0, 160.0),
    "shifted-power": (39.0, 90.0),
    "affine-power": (2.0, 80.0),
    "linear": (2.0, 55.0),
    "exponential": (5.0, 80.0),
    "logarithmic": (2.0, 75.0),
}


def cloud(name: str, *, noise: float = 0.0, seed: int = 0) -> Points:
    """Sixteen runs of two flows at four capacities on the shape called `name`."""
    rng = np.random.default_rng(seed)
    s = np.repeat(np.geomspace(*DOMAINS[name], 16), 2)
    rate = BY_NAME[name].predict(TRUTHS[name], s) * np.exp(noise * rng.standard_normal(s.size))
    group = np.repeat(np.arange(16), 2)
    return Points(s, rate, group, np.array([12.0, 24.0, 48.0, 96.0])[group % 4])


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.name)
def test_exact_points_give_their_shape_back(family: Family) -> None:
    points = cloud(family.name)
    fitted = fit(family, points)
    assert fitted.mse < 1e-5
    assert fitted.r_squared > 0.9999
    assert fitted.predict(points.statistic) == pytest.approx(points.rate, rel=0.02)
    if family.name != "affine-power":  # Its four parameters are not identifiable separately.
        assert fitted.values == pytest.approx(TRUTHS[family.name], rel=0.02)


@pytest.mark.parametrize("name", ["power", "exponential", "linear", "shifted-power"])
def test_noisy_points_choose_their_own_shape(name: str) -> None:
    points = cloud(name, noise=0.05, seed=3)
    assert choose([fit(family, points) for family in FAMILIES]).family.name == name


def test_a_richer_shape_has_to_earn_its_parameters() -> None:
    fits = [fit(family, cloud("power", noise=0.1, seed=1)) for family in FAMILIES]
    assert min(fits, key=lambda f: f.mse).family.name != "power"
    assert choose(fits).family.name == "power"


def test_every_run_weighs_the_same() -> None:
    """One run with eight flows on another line does not outweigh two runs with one flow each."""
    s = np.array([1.0, 2.0, *[4.0] * 8])
    rate = np.array([8.0, 4.0, *[2.0, 2.4] * 4])
    points = Points(s, rate, np.array([0, 1, *[2] * 8]), np.full(10, 12.0))
    assert points.runs == 3
    assert points.weight.sum() == pytest.approx(3.0)
    once = Points(
        np.array([1.0, 2.0, 4.0]), np.array([8.0, 4.0, math.sqrt(4.8)]), np.array([0, 1, 2]), np.full(3, 12.0)
    )
    power = BY_NAME["power"]
    assert fit(power, points).values == pytest.approx(fit(power, once).values)


def test_bootstrap_interval_holds_the_exponent_and_is_reproducible() -> None:
    points = cloud("power", noise=0.1, seed=5)
    fitted = fit(BY_NAME["power"], points)
    refits = bootstrap(fitted, points, resamples=100, seed=1)
    low, high = np.percentile(refits[:, 1], [2.5, 97.5])
    assert low < -1.0 < high
    assert high - low < 0.2
    assert np.array_equal(refits, bootstrap(fitted, points, resamples=100, seed=1))
    assert not np.array_equal(refits, bootstrap(fitted, points, resamples=100, seed=2))


def test_predictions_end_where_the_rates_seen_do() -> None:
    """Beyond an intercept a shape predicts the smallest observed rate; below an asymptote, the largest."""
    points = Points(np.array([10.0, 20.0, 60.0]), np.array([8.0, 4.0, 2.0]), np.arange(3), np.array([12.0, 24.0, 48.0]))
    span = (2.0, 8.0)
    linear = log_errors(BY_NAME["linear"], (1.0, 50.0), points, span)
    assert linear == pytest.approx([0.0, math.log(8.0 / 4.0), math.log(2.0 / 2.0)])
    shifted = log_errors(BY_NAME["shifted-power"], (1.0, 15.0, -1.0), points, span)
    assert shifted == pytest.approx([math.log(8.0 / 8.0), math.log(2.0 / 4.0), math.log(2.0 / 2.0)])


def test_run_means_are_explained_even_where_flows_of_a_run_differ() -> None:
    s = np.repeat(np.geomspace(1.0, 32.0, 6), 2)
    rate = 100.0 / s * np.tile([2.0, 0.5], 6)
    fitted = fit(BY_NAME["power"], Points(s, rate, np.repeat(np.arange(6), 2), np.full(12, 12.0)))
    assert fitted.between_r_squared > 0.99
    assert fitted.r_squared < 0.85


def test_a_shape_at_the_edge_of_its_search_is_not_chosen() -> None:
    """An affine power whose exponent reached the limit of the search would otherwise have the best fit."""
    points = cloud("exponential", noise=0.05)
    exponential = fit(BY_NAME["exponential"], points)
    lucky = replace(fit(AFFINE_POWER, points), bic=exponential.bic - 100.0, capacity_rmse=0.0)
    assert choose([exponential, replace(lucky, values=(1.0, 10.0, -2.0, 0.0))]).family is AFFINE_POWER
    assert choose([exponential, replace(lucky, values=(1.0, 10.0, STEEPEST_AFFINE, 0.0))]) is exponential
