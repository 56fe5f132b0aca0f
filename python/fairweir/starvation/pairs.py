"""The pigeonhole argument of theorem 1 on measured points: which two rates look alike."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from fairweir.starvation.result import Pair, Point

LEAST_EFFICIENCY = 0.9
"""Rates are spaced as if CCAs had at least this f; one that has less gets a pair further apart."""


def rates_mbps(lowest: float, highest: float, ratio: float) -> list[float]:
    """Give the rates lambda_i of the scan, ascending: from the highest down in steps of sqrt(s / f).

    The step is the root of the proof's, so that the curve has twice the points; pairs are two steps apart or more.
    """
    step = math.sqrt(ratio / LEAST_EFFICIENCY)
    count = int(math.log(highest / lowest) / math.log(step) + 1e-9)
    return [float(f"{highest / step**i:.4g}") for i in range(count, -1, -1)]


def hold_ms(point: Point) -> float:
    """The largest hold, ms, that shows a flow the link of `point` when the real queue is empty."""
    return point.dmax_ms - point.rtprop_ms


def pairs(points: Sequence[Point], ratio: float) -> list[Pair]:
    """Give every pair whose throughputs differ by `ratio` or more, smallest D first.

    The proof's case 2: with the shared queue empty, eta_i = dbar_i - Rm lies in [0, D]. It needs d_max - Rm of either
    link; case 1 would need 2 (delta_max + epsilon), and a standing queue.
    """
    found = [
        Pair(
            slow_mbps=slow.rate_mbps,
            fast_mbps=fast.rate_mbps,
            ratio=fast.throughput_mbps / slow.throughput_mbps,
            d_ms=max(hold_ms(slow), hold_ms(fast)),
        )
        for slow, fast in itertools.combinations(points, 2)
        if slow.throughput_mbps > 0.0 and fast.throughput_mbps >= ratio * slow.throughput_mbps
    ]
    return sorted(found, key=lambda pair: (pair.d_ms, pair.ratio))
