"""The course of a run over time, thinned to what a screen shows."""

from __future__ import annotations

import numpy as np
import pytest

from fairweir.show.picture import MAX_POINTS, Curve, Panel, Picture, thin

ROWS = 6_000


def picture(curves: int, *, is_band: bool = False) -> Picture:
    values = np.arange(ROWS, dtype=np.float64)
    edges = (values - 1, values + 1) if is_band else (None, None)
    lines = tuple(Curve(f"flow-{i}", "#000000", [], values, *edges) for i in range(curves))
    return Picture("run", values, 0.0, float(ROWS), (Panel("rtt_ms", "RTT (ms)", lines),))


@pytest.mark.parametrize("is_band", [False, True])
@pytest.mark.parametrize("curves", [1, 100, 1_000])
def test_many_lines_have_few_points_each(curves: int, is_band: bool) -> None:
    [panel] = picture(curves, is_band=is_band).document(intervals=800)["panels"]
    lines = [one[name] for one in panel["curves"] for name in ("values", "low", "high") if name in one]
    assert len(lines) == curves * (3 if is_band else 1)
    points = sum(line.size for line in lines)
    assert points <= MAX_POINTS
    assert lines[0].size == min(1_600, 2 * (MAX_POINTS // (2 * len(lines))))


def test_thinning_keeps_the_extremes_of_each_part() -> None:
    values = np.zeros(10_000)
    values[[17, 4_321]] = 5.0, -3.0
    thinned = thin(values, 100)
    assert (thinned.size, thinned.max(), thinned.min()) == (200, 5.0, -3.0)
    assert np.flatnonzero(thinned).tolist() == [1, 87]
