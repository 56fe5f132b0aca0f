"""Generated content: a seed determines it, and the kinds differ in their difficulty for an encoder."""

from __future__ import annotations

import numpy as np
import pytest

from fairweir.video.content import KINDS, Frame, clip
from fairweir.video.painting import HEIGHT, WIDTH


def luma(content: str, index: int, seed: int = 1) -> Frame:
    return clip(content, seed).frame(index)[:HEIGHT]


def change(content: str, first: int, second: int) -> float:
    """Return the mean difference of two frames' luma."""
    return float(np.abs(luma(content, first).astype(float) - luma(content, second)).mean())


@pytest.mark.parametrize("content", KINDS)
def test_a_frame_follows_from_kind_seed_and_number(content: str) -> None:
    frame = clip(content, 3).frame(7)
    assert frame.dtype == np.uint8
    assert frame.shape == (HEIGHT * 3 // 2, WIDTH)
    np.testing.assert_array_equal(frame, clip(content, 3).frame(7))
    assert (frame != clip(content, 4).frame(7)).mean() > 0.01


@pytest.mark.parametrize("content", KINDS)
def test_pictures_have_contrast_and_colours(content: str) -> None:
    frame = clip(content).frame(5)
    assert frame[:HEIGHT].std() > 15
    assert frame[HEIGHT:].std() > 2


def test_a_screen_stands_still_scrolls_and_switches() -> None:
    assert change("screen", 1, 2) == 0
    assert 1 < change("screen", 30, 31) < 40
    assert change("screen", 51, 52) > 80
    assert change("screen", 74, 75) > 80


def test_only_the_person_of_a_talking_head_moves() -> None:
    before, after = luma("talking-head", 3).astype(float), luma("talking-head", 8).astype(float)
    moved = np.abs(after - before)
    assert moved[:, :120].mean() < 1.5  # noise
    assert moved[60:330, 230:410].mean() > 4


def test_sport_pans_and_cuts() -> None:
    assert change("sport", 10, 11) > 3
    assert change("sport", 44, 45) > 2 * change("sport", 43, 44)


def test_foliage_changes_everywhere() -> None:
    moved = np.abs(luma("foliage", 4).astype(float) - luma("foliage", 6))
    blocks = moved.reshape(6, 60, 8, 80).mean(axis=(1, 3))
    assert blocks.min() > 2
