"""Find two link rates that look alike to a CCA: the pigeonhole argument of theorem 1 in the starvation paper.

Two rates look alike if the RTTs of a converged flow on both links, each alone on an ideal link, are in ranges that
differ by at most D, the maximum jitter. A point is the measured result for one rate. The argument: RTT ranges are
bounded, so among enough rates, of which each is a factor above the previous one, two rates look alike.

Symbols: s, required throughput ratio; f, efficiency, the fraction of the link rate that a flow uses; d_min and d_max,
minimum and maximum RTT at a point; Rm, round-trip propagation delay; dbar_i, RTT of flow i alone; d*, queueing delay of
the shared link; eta_i, jitter of flow i.
"""

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
    """Return the link rates to measure, ascending; each rate is sqrt(s / f) times the previous rate.

    The proof uses the factor s / f. With its square root there are twice as many rates, and the rates of a pair are at
    least two factors apart.
    """
    step = math.sqrt(ratio / MIN_EFFICIENCY)
    count = int(math.log(highest / lowest) / math.log(step) + 1e-9)
    return [Rate.from_mbps(float(f"{(highest / step**i).mbps:.4g}")) for i in range(count, -1, -1)]


def hold(point: Point) -> Duration:
    """Return the maximum jitter that imitates the link of `point` to a flow if the real link has no queue."""
    return Duration.from_ms(point.dmax_ms - point.rtprop_ms)


def pairs(points: Sequence[Point], ratio: float) -> list[Pair]:
    """Return all pairs of points whose throughput ratio is at least `ratio`, ordered by the required D."""
    found = [
        _pair(slow, fast)
        for slow, fast in itertools.combinations(points, 2)
        if slow.throughput_mbps > 0.0 and fast.throughput_mbps >= ratio * slow.throughput_mbps
    ]
    return sorted(found, key=lambda pair: (pair.d_ms, pair.ratio))


def _pair(slow: Point, fast: Point) -> Pair:
    """Return the pair of two points, with the initial queue of the shared link and the required D.

    Case 2 of the proof: the shared link has no queue. Then eta_i = dbar_i - Rm, so D is the larger d_max minus Rm.

    Case 1: neither flow ever observes an empty queue. Then d* changes by the weighted mean of the changes of both RTTs
    (equation 5), so d* stays within `range_ms`, the weighted mean of d_max - d_min, of its initial value. The initial
    value is chosen such that Rm + d* never exceeds the smaller d_min. D must cover the range from the minimum of Rm +
    d* to the larger d_max.

    References
    ----------
    Starvation paper, appendix A. With packets instead of fluid, d* also changes by the transmission time of one packet
    of each flow (docs/derivations.md, Packets instead of fluid)
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
