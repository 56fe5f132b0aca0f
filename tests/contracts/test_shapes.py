"""Effect of noise by shape, by algebra."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairweir.judging.outcome import Outcome
from fairweir.papers.thesis.shapes import linear_error, parking_lot_ratio, shapes, vegas_error
from fairweir.play.batch import Archive
from fairweir.reproduce.computed import judge_number


def test_published_statements_hold() -> None:
    assert {judge_number("test", n).outcome for n in shapes(Archive(None)).numbers} == {Outcome.HOLDS}


@given(st.floats(0, 4), st.floats(0.2, 5))
def test_shifted_rates_fill_the_hop(shift: float, capacity: float) -> None:
    ratio = parking_lot_ratio(shift, capacity)
    # short + long = capacity and the ratio give the delays back.
    long = capacity / (1 + ratio)
    assert 1 / (ratio * long) + shift == pytest.approx((1 / long + shift) / 2, rel=1e-6)


def test_errors_are_those_of_the_contracts() -> None:
    assert vegas_error(4.0, 0.1) == pytest.approx((1 / 0.25) / (1 / 0.35))
    assert linear_error(0.5, 0.1) == pytest.approx(0.5 / 0.4)
    assert linear_error(0.95, 0.1) == float("inf")
