"""Colors of figures have the contrast of WCAG 2.1 AA on the pages of both themes."""

from __future__ import annotations

import re

import pytest

from fairweir.audit.report import heatmap, profiles
from fairweir.show import style
from fairweir.show.page import text_of

#: Minimum contrast of lines (WCAG 1.4.11) and of text (1.4.3).
LINES, TEXT = 3.0, 4.5
PAPERS = re.findall(r"--paper: (#[0-9a-f]{6})", text_of("palette.css"))


def luminance(color: str) -> float:
    """Return the relative luminance, as WCAG 2.1 defines it."""
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_that_of_the_definition() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


def test_lines_are_visible_in_both_themes() -> None:
    assert len(PAPERS) == 2
    assert min(contrast(color, paper) for color in (*style.PALETTE, "#888888") for paper in PAPERS) >= LINES


def test_numbers_in_heat_maps_are_readable() -> None:
    shades = [*profiles.SHADES, *(color for _, color in heatmap.COLOURS)]
    assert min(contrast(heatmap.INK, shade) for shade in shades) >= TEXT
