"""The course of a run over time, thinned to what a screen shows."""

from __future__ import annotations

import numpy as np
import pytest

from fairweir.play.run import run
from fairweir.scenario.dumbbell import dumbbell
from fairweir.show.picture import MAX_POINTS, Curve, Panel, Picture, picture_of, thin, trailing_means

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


def test_throughput_is_the_mean_over_an_rtt() -> None:
    rows = np.array([[0.0, 6.0, 0.0, 6.0, 0.0, 6.0]] * 3)
    assert trailing_means(rows, [0, 1, 4]).tolist() == [rows[0].tolist(), rows[0].tolist(), [0, 3, 2, 3, 3, 3]]


def test_the_throughput_of_a_course_is_that_of_the_summary_and_has_no_bursts() -> None:
    # An RTT of about 80 intervals; in each interval, a flow that waits for ACKs sends nothing or a burst.
    done = run(dumbbell("cubic", rate="12Mbps", duration="4s"), interval="0.5ms")
    panel = picture_of(done).panels[0]
    drawn = panel.curves[0].values[4_000:]
    assert panel.name == "throughput_mbps"
    assert drawn.mean() == pytest.approx(12, rel=0.02)
    assert 10 < drawn.min() <= drawn.max() < 14
