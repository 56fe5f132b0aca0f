"""Numbers in text."""

from __future__ import annotations

import math

import pytest

from fairweir.audit.exhibits.registry import FAMILIES
from fairweir.show import formats


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "—"),
        (math.nan, "—"),
        (math.inf, "∞"),
        (0.0, "0"),
        (1.0, "1.00"),
        (0.9996, "1.00"),
        (0.03456, "0.0346"),
        (2.345, "2.35"),
        (9.996, "10.0"),
        (-1.05, "−1.05"),
        (345.6, "346"),
        (20106.0, "20,100"),
        (1e6, "≥ 10⁶"),
        (1_000_001.0, "1,000,000"),
        (1.234e-6, "1.23·10⁻⁶"),
        (4.0e8, "4.00·10⁸"),
    ],
)
def test_a_number_has_three_significant_digits(value: float | None, text: str) -> None:
    assert formats.number(value) == text


def test_an_estimate_has_one_form_with_its_unit() -> None:
    assert formats.estimate(3.2, 1.0, 12.3456, "ms") == "3.20 [1.00, 12.35] ms"
    assert formats.estimate(1e6, 1e6, 1e6) == "≥ 10⁶"
    assert formats.estimate(2.0, None, None, "Mbps") == "2.00 Mbps"
    assert formats.estimate(None, None, None, "Mbps") == "—"


def test_an_interval_has_the_decimals_of_its_value() -> None:
    assert formats.interval(1.0, 12.3456, 3.2) == "[1.00, 12.35]"
    assert formats.interval(None, 3.0, 2.0) == ""
    assert formats.interval(0.0, 0.0, 0.0) == "[0, 0]"


def test_a_ratio_without_deliveries_is_marked() -> None:
    assert formats.interval(1e6, 1e6, 1e6) == ""
    assert formats.number(999_999.9999999999) == "≥ 10⁶"
    assert formats.interval(12.0, 1e6, 3e3) == "[12, ≥ 10⁶]"


@pytest.mark.parametrize(("seconds", "text"), [(7.85, "7.85 s"), (83.4, "1 min 23 s"), (3900.0, "1 h 5 min")])
def test_durations(seconds: float, text: str) -> None:
    assert formats.duration(seconds) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(58, "58"), (12_345, "12,345"), (586_000_000, "586 million"), (2_000_000_000, "2.00 billion")],
)
def test_counts(value: int, text: str) -> None:
    assert formats.count(value) == text


def test_every_metric_of_the_battery_has_a_label() -> None:
    labels: dict[str, set[str]] = {}
    for metric in (metric for family in FAMILIES.values() for metric in family.metrics):
        labels.setdefault(metric.name, set()).add(metric.label)
    assert all(len(texts) == 1 and "" not in texts for texts in labels.values()), labels
