"""Report unusual properties of a contract (thesis section 6.3).

A contract is a flow's rate as a decreasing function of a congestion statistic, such as the queueing delay. The
properties are: a shift (the statistic counts only above a value), an intercept (the rate is 0 at a finite value), an
asymptote (the rate is unbounded at a positive value), a clamp (the buffer limits the delay), and a bias (flows with a
different propagation delay, rtprop, get another rate at the same statistic).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fairweir.contracts.fit import Fit
from fairweir.contracts.points import STATISTICS, TURNING, ContractPoint
from fairweir.contracts.result import RtpropFit
from fairweir.judging.metrics import exponent
from fairweir.judging.outcome import Interval

CLAMPED_FLOWS = 0.25
"""If more than this fraction of flows overflow the buffer, the buffer distorts a contract on delay. A deeper buffer is
then tried, or the contract is marked as clamped.
"""

RTPROP_BIAS = 0.25
"""If rate is proportional to rtprop^x at the same statistic, x is reported as a bias if its absolute value exceeds this
limit. With x = 0.25, doubling rtprop changes the rate by a fifth.
"""


def overflowing(points: Sequence[ContractPoint]) -> float:
    """Return the fraction of flows whose loss rate is above 1e-4, which shows that the buffer limits their delay."""
    return sum(p.loss_rate > 1e-4 for p in points) / len(points) if points else 0.0


def flags_of(
    statistic: str,
    output: str,
    best: Fit,
    intervals: dict[str, Interval],
    domain: tuple[float, float],
    rtprops: Sequence[RtpropFit],
    points: Sequence[ContractPoint],
    elsewhere: Sequence[ContractPoint],
) -> list[str]:
    """Return one sentence for each unusual property of a contract."""
    unit = f" {STATISTICS[statistic]}" if STATISTICS[statistic] else ""
    flags = []
    shift_scales = False
    if best.family.name == "shifted-power" and intervals["b"].lo > 0.05 * domain[0]:
        shift = intervals["b"]
        text = f"shift: congestion counts above {shift.value:.3g}{unit} [{shift.lo:.3g}, {shift.hi:.3g}]"
        parts = [r.parameters["b"] / r.rtprop_ms for r in rtprops]
        if unit and len(parts) > 1 and min(parts) > 0.0 and max(parts) < 1.5 * min(parts):
            text += f", {sum(parts) / len(parts):.2g} rtprop"
            shift_scales = True
        flags += [text, f"Y-asymptote: the rate is unbounded as the statistic approaches {shift.value:.3g}{unit}"]
    if best.family.name in ("linear", "logarithmic"):
        flags.append(f"X-intercept: the rate is zero at {best.parameters['b']:.3g}{unit}, where noise starves a flow")
    if best.family.name == "affine-power" and intervals["d"].hi < 0.0:
        p = best.parameters
        flags.append(f"X-intercept: the rate is zero at {(-p['d'] / p['a']) ** (1 / p['c']) - p['b']:.3g}{unit}")
    clamped = overflowing(points)
    if unit and clamped > CLAMPED_FLOWS:
        lossy = f"{100 * clamped:.0f} % of the flows lose packets"
        flags.append(f"clamp: {lossy}, so the buffer limits their delay")
    if statistic == TURNING[0]:
        flags.append("limit cycle: the contract fits the delay at turning points of the window, not its mean or median")
    bias = None if shift_scales else _rtprop_bias(statistic, output, best, points, elsewhere)
    if bias is not None and abs(bias) > RTPROP_BIAS:
        flags.append(
            f"rtprop bias: {output} ∝ rtprop^{bias:.2f} at the same {statistic.removesuffix('_ms').replace('_', ' ')}"
        )
    return flags


def _rtprop_bias(
    statistic: str, output: str, best: Fit, points: Sequence[ContractPoint], elsewhere: Sequence[ContractPoint]
) -> float | None:
    """Return the exponent x of rtprop^x in the ratio of measured to predicted rates.

    If no points with another rtprop are in the contract's domain, return None.
    """
    if not elsewhere:
        return None
    pairs = []
    low, high = (f(p.statistic(statistic) for p in points if p.statistic(statistic) > 0) for f in (min, max))
    for p in [*points, *elsewhere]:
        if not low <= p.statistic(statistic) <= high or p.output(output) <= 0.0:
            continue
        predicted = float(best.predict(np.array([p.statistic(statistic)]))[0])
        if math.isfinite(predicted) and predicted > 0.0:
            pairs.append((p.rtprop_ms, p.output(output) / predicted))
    if len({x for x, _ in pairs}) < 2:
        return None
    return exponent(*zip(*pairs, strict=True))
