"""Theorem 3: the descent ends at two traces that differ enough, and no delay in it reorders packets."""

from __future__ import annotations

from itertools import pairwise

import pytest

from fairweir.starvation.strong import Trace, delays_ms, descend
from fairweir.units import Duration, Rate


def test_aimd_on_delay_starves_in_the_strong_model() -> None:
    descent = descend("aimd_delay", d=Duration.from_ms(8))
    assert descent.ratio >= 10.0
    first, second = descent.traces
    assert first.largest_ms == pytest.approx(second.largest_ms + 8.0)
    # With only the delays of a 10 Mbit/s link, the flow sends at 10 Mbit/s on a link that is a hundred times as fast.
    assert first.throughput_mbps == pytest.approx(10.0, rel=0.05)


def test_nothing_is_left_of_the_delay_where_no_ratio_is_wide_enough() -> None:
    descent = descend("ledbat", d=Duration.from_ms(150), ratio=1e9, ceiling=5.0)
    assert descent.traces[-1].largest_ms == 0.0
    assert descent.ratio == max(b.throughput_mbps / a.throughput_mbps for a, b in pairwise(descent.traces))
    assert isinstance(descent.traces[0], Trace)


def test_the_recorded_delay_is_that_of_a_fifo_queue() -> None:
    times_ms, delay_ms = delays_ms("aimd_delay", Rate.from_mbps(10), Duration.from_ms(40))
    assert delay_ms.min() == pytest.approx(1.2), "a packet takes so long"
    assert delay_ms.max() > 20.0
    assert all(later >= earlier - 1e-6 for earlier, later in pairwise(times_ms + delay_ms)), "none overtakes"
