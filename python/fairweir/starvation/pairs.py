"""The pigeonhole argument of theorem 1 on measured points: finds two rates that look alike."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from fairweir.scenario.dumbbell import PACKET
from fairweir.starvation.result import Pair, Point
from fairweir.units import Duration, Rate

MIN_EFFICIENCY = 0.9
"""The efficiency f for which rates are spaced; the pairs of a CCA with a lower f are further apart."""


def scanned_rates(lowest: Rate, highest: Rate, ratio: float) -> list[Rate]:
    """Return the rates lambda_i of the scan, ascending: from the highest down in steps of sqrt(s / f).

    The step is the square root of the proof's, so the curve has twice as many points, and pairs are at least two steps
    apart.
    """
    step = math.sqrt(ratio / MIN_EFFICIENCY)
    count = int(math.log(highest / lowest) / math.log(step) + 1e-9)
    return [Rate.from_mbps(float(f"{(highest / step**i).mbps:.4g}")) for i in range(count, -1, -1)]


def hold(point: Point) -> Duration:
    """Return the maximum hold that shows a flow the link of `point` when the real queue is empty."""
    return Duration.from_ms(point.dmax_ms - point.rtprop_ms)


def pairs(points: Sequence[Point], ratio: float) -> list[Pair]:
    """Return every pair whose throughputs differ by `ratio` or more, smallest D first."""
    found = [
        _pair(slow, fast)
        for slow, fast in itertools.combinations(points, 2)
        if slow.throughput_mbps > 0.0 and fast.throughput_mbps >= ratio * slow.throughput_mbps
    ]
    return sorted(found, key=lambda pair: (pair.d_ms, pair.ratio))


def _pair(slow: Point, fast: Point) -> Pair:
    """Return how two ideal links are merged into one.

    Case 2 of the proof, the shared queue is empty: eta_i = dbar_i - Rm lies in [0, D] for D = d_max - Rm of either
    link. Case 1, where neither flow ever observes an empty queue: the shared queue d* moves with the weighted mean of
    both (equation 5), so it stays within delta_w, the weighted mean of the ranges, of its start. Its initial value is
    so low that it never exceeds d_min of either link, and D must cover the range from its minimum to the larger d_max.

    References
    ----------
    Starvation paper, appendix A; packets in transmission change d* by one packet of each flow
    (docs/derivations.md, Packets instead of fluid)
    """
    both_mbps = slow.rate_mbps + fast.rate_mbps
    range_ms = (slow.rate_mbps * slow.delta_ms + fast.rate_mbps * fast.delta_ms) / both_mbps
    range_ms += (2 * PACKET / Rate.from_mbps(both_mbps)).ms
    lowest_ms, highest_ms = min(slow.dmin_ms, fast.dmin_ms), max(slow.dmax_ms, fast.dmax_ms)
    standing_ms = lowest_ms - slow.rtprop_ms - range_ms
    is_standing = standing_ms - range_ms > highest_ms - lowest_ms
    return Pair(
        slow_mbps=slow.rate_mbps,
        fast_mbps=fast.rate_mbps,
        slow_throughput_mbps=slow.throughput_mbps,
        fast_throughput_mbps=fast.throughput_mbps,
        case=1 if is_standing else 2,
        standing_ms=standing_ms if is_standing else 0.0,
        d_ms=highest_ms - lowest_ms + 2 * range_ms if is_standing else max(hold(slow), hold(fast)).ms,
    )
