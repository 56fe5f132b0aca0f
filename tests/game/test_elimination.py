"""Belief sets by quantifier elimination describe the same capacities as the exact bounds."""

from __future__ import annotations

from dataclasses import replace

import pytest
import z3

from fairweir.game.elimination import disagreements, project, visible_windows


@pytest.mark.parametrize("points", [2, 3])
def test_the_projection_describes_the_exact_bounds(points: int) -> None:
    found, windows = project(points), visible_windows(8, points)
    assert disagreements(found, windows) == 0
    # The test detects a formula that allows any capacity or none.
    for wrong in (z3.BoolVal(True), z3.BoolVal(False)):
        assert disagreements(replace(found, formula=wrong), windows) > 0


def test_it_grows_with_the_points() -> None:
    assert project(3).terms > 3 / 2 * project(2).terms
