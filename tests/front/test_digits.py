"""Numbers in words and digits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairweir.audit.results import Estimate
from fairweir.documents.digits import plain
from fairweir.judging.outcome import Direction, Outcome, Threshold


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (5.6, 6, "5.6"),
        (1e6, 3, "1,000,000"),
        (1234.5, 3, "1,230"),
        (-2e7, 6, "-20,000,000"),
        (1.5e-5, 3, "0.000015"),
        (3e20, 3, "3·10²⁰"),
        (2.5e-9, 3, "2.5·10⁻⁹"),
        (float("inf"), 3, "inf"),
    ],
)
def test_no_exponent_where_a_person_writes_none(value: float, digits: int, text: str) -> None:
    assert plain(value, digits) == text


@given(st.floats(1e-6, 1e14), st.integers(1, 6))
def test_the_number_stays_what_it_is(value: float, digits: int) -> None:
    text = plain(value, digits)
    assert "e" not in text
    assert float(text.replace(",", "")) == float(f"{value:.{digits}g}")


def test_verdicts_have_no_exponents() -> None:
    threshold = Threshold(bound=1e6, direction=Direction.AT_MOST, reason="-", source="-")
    assert str(threshold) == "≤ 1,000,000"
    assert str(Estimate(value=2.5e6, lo=1.5e6, hi=3e6, verdict=Outcome.FAILS)).startswith(
        "2,500,000 [1,500,000, 3,000,000]"
    )
