"""Envelopes of samples: area, overlap, translation, clusters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from fairweir.conform.envelope import best_translation, conformance, envelope, number_of_clusters


def square(x: float = 0.5, y: float = 0.5, side: float = 0.4, seed: int = 1, n: int = 200) -> NDArray[np.float64]:
    """Return samples, distributed uniformly in a square with the center (x, y)."""
    return np.asarray(np.random.default_rng(seed).uniform(-side / 2, side / 2, (n, 2)) + np.array([x, y]))


def test_equal_samples_conform_and_disjoint_ones_do_not() -> None:
    one = envelope(square())
    assert conformance(one, one) == 1.0
    assert conformance(one, envelope(square(x=1.5))) == 0.0


def test_conformance_is_the_fraction_of_samples_in_the_other_envelope() -> None:
    # Half of each square is in the other one, up to the extent of samples and the 5 % that are left out.
    found = conformance(envelope(square(n=4000)), envelope(square(x=0.7, n=4000, seed=2)))
    assert found == pytest.approx(0.5, abs=0.06)


def test_both_sides_have_the_same_weight_whatever_their_number_of_samples() -> None:
    wide, narrow = square(side=0.8, n=1000), square(side=0.2, n=100)
    assert conformance(envelope(narrow), envelope(wide)) == pytest.approx(0.5 + 0.05, abs=0.05)
    assert conformance(envelope(wide), envelope(narrow)) == conformance(envelope(narrow), envelope(wide))


def test_constant_samples_have_an_envelope() -> None:
    """A flow alone has constant throughput: its samples are on a line."""
    line = np.stack([np.ones(50), np.linspace(0.2, 0.8, 50)], axis=1)
    assert conformance(envelope(line), envelope(line)) == 1.0
    point = np.ones((20, 2))
    assert conformance(envelope(point), envelope(point + 0.001)) == 1.0
    assert conformance(envelope(point), envelope(point + 0.1)) == 0.0
    assert conformance(envelope(point[:1]), envelope(point[:1])) == 1.0


@given(x=st.floats(-0.3, 0.3), y=st.floats(-0.3, 0.3))
def test_the_best_translation_is_the_offset(x: float, y: float) -> None:
    reference = square(n=60)
    best, offset = best_translation(envelope(reference + np.array([x, y])), envelope(reference))
    assert best >= 0.98
    # The shortest translation is reported: it need not undo what the extent of samples hides.
    assert np.linalg.norm(offset) <= np.hypot(x, y) + 0.03
    assert np.linalg.norm(offset - [x, y]) <= 0.06


def test_another_shape_does_not_conform_after_any_translation() -> None:
    best, _ = best_translation(envelope(square(x=0.9, side=0.1)), envelope(square(side=0.6)))
    assert best < 0.65


def test_clusters_are_found_only_if_they_are_separate() -> None:
    near, far = square(side=0.1), square(x=2.0, side=0.1, seed=2)
    assert number_of_clusters(np.concatenate([near, far])) == 2
    assert number_of_clusters(near) == 1
    assert number_of_clusters(np.ones((30, 2))) == 1
    # What lies between two clusters belongs to neither.
    both = envelope(np.concatenate([near, far]), 2)
    assert len(both.hulls) == 2
    assert both.contains(np.array([[0.5, 0.5], [1.2, 0.5], [2.0, 0.5]])).tolist() == [True, False, True]
