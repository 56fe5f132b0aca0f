"""Intervals over seeds, against tables and by simulation."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from fairweir.judging.difference import paired
from fairweir.judging.interval import Scale, interval, student_t


def test_quantiles_are_those_of_the_tables() -> None:
    assert student_t(2) == pytest.approx(4.303, abs=5e-4)
    assert student_t(9) == pytest.approx(2.262, abs=5e-4)


def test_three_samples() -> None:
    found = interval([1.0, 2.0, 3.0], Scale.REAL)
    assert found.value == 2.0
    assert found.hi - found.value == pytest.approx(4.303 / math.sqrt(3), abs=1e-3)


def test_ratios_are_averaged_by_their_logarithms_and_never_below_one() -> None:
    found = interval([1.0, 4.0, 16.0], Scale.RATIO)
    assert found.value == pytest.approx(4.0)
    assert found.lo == 1.0


def test_fractions_stay_between_nothing_and_all() -> None:
    found = interval([0.9, 1.0, 0.2], Scale.FRACTION)
    assert (found.lo, found.hi) == (0.0, 1.0)


def test_equal_samples_have_no_width() -> None:
    found = interval([2.5, 2.5, 2.5], Scale.RATIO)
    assert found.lo == pytest.approx(2.5)
    assert found.hi == pytest.approx(2.5)


def test_one_sample_says_nothing_about_the_next() -> None:
    found = interval([3.0], Scale.RATIO)
    assert found.value == pytest.approx(3.0)
    assert (found.lo, found.hi) == (1.0, math.inf)
    assert interval([0.4], Scale.FRACTION).hi == 1.0


def test_no_interval_is_wider_than_ratios_go() -> None:
    assert interval([1.0, 1e6], Scale.RATIO).hi == pytest.approx(1e6)


@pytest.mark.parametrize("samples", [[], [math.nan], [1.0, math.inf]])
def test_samples_must_be_finite(samples: list[float]) -> None:
    with pytest.raises(ValueError, match="finite samples"):
        interval(samples, Scale.REAL)


def test_nineteen_intervals_of_twenty_hold_the_mean() -> None:
    dice = random.Random(5)  # noqa: S311
    hits = 0
    for _ in range(2000):
        found = interval([dice.gauss(7.0, 2.0) for _ in range(4)], Scale.REAL)
        hits += found.lo <= 7.0 <= found.hi
    assert 0.93 < hits / 2000 < 0.97


def _event(dice: random.Random, probability: float) -> float:
    return float(dice.random() < probability)


#: Row of docs/measured/intervals.md -> a difference, and its mean.
DIFFERENCES: dict[str, tuple[Callable[[random.Random], float], float]] = {
    "normal": (lambda dice: dice.gauss(0.0, 1.0), 0.0),
    "uniform": (lambda dice: dice.uniform(-1.0, 1.0), 0.0),
    "of two exponential values": (lambda dice: dice.expovariate(1.0) - dice.expovariate(1.0), 0.0),
    "of two events of probability 0.3": (lambda dice: _event(dice, 0.3) - _event(dice, 0.3), 0.0),
    "exponential (skewness 2)": (lambda dice: dice.expovariate(1.0), 1.0),
    "log-normal, σ = 1 (skewness 6.2)": (lambda dice: dice.lognormvariate(0.0, 1.0), math.exp(0.5)),
    "an event of probability 0.1, on one side only": (lambda dice: _event(dice, 0.1), 0.1),
}


@pytest.mark.parametrize("row", DIFFERENCES)
def test_the_page_states_how_often_the_interval_covers_the_difference(row: str) -> None:
    page = (Path(__file__).parents[2] / "docs" / "measured" / "intervals.md").read_text(encoding="utf-8")
    (stated,) = re.findall(rf"^\| {re.escape(row)} \| (\d+) \| (\d+) \| (\d+) \|$", page, re.MULTILINE)
    draw, mean = DIFFERENCES[row]
    dice = random.Random(row)  # noqa: S311
    for seeds, percent in zip((3, 5, 10), stated, strict=True):
        hits = 0
        for _ in range(2000):
            found = paired([0.0] * seeds, [draw(dice) for _ in range(seeds)], Scale.REAL)
            hits += found.lo - 1e-9 <= mean <= found.hi + 1e-9
        # Four standard deviations of 2000 trials at 50 % are 4.5 %, at 95 % they are 2 %.
        assert hits / 20 == pytest.approx(float(percent), abs=4.0)
