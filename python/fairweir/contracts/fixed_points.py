"""Fixed points of flows that follow a contract, and the maximum shift of a fixed point by rounding to whole packets.

Notation: f the contract, s the statistic of a hop, C its capacity. A flow that observes s_i sends f(s_i), and the sum
over the hop is C (thesis equations 6.1.2 to 6.1.4).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

from scipy.optimize import brentq

FARTHEST = 1e12
"""Maximum statistic of a fixed point; the minimum is the inverse."""


@dataclass(frozen=True)
class FlowGroup:
    """Flows at one hop that observe the same statistic.

    Attributes
    ----------
    flows : number of flows
    hops : number of equal hops of a long flow, which observes the sum of their statistics
    noise : amount added to the observation, in the unit of the statistic
    """

    flows: int = 1
    hops: int = 1
    noise: float = 0.0

    def sees(self, s: float) -> float:
        """Return the observation of these flows at a hop with `s`."""
        return self.hops * s + self.noise


@dataclass(frozen=True)
class Grain:
    """Granularity in packets.

    Attributes
    ----------
    packet : size of a packet, in the unit of the rate times the unit of the statistic (a delay)
    rtprop : rtprop, in the unit of the statistic
    transmission : transmission time of a packet, in the unit of the statistic
    """

    packet: float
    rtprop: float
    transmission: float


@dataclass(frozen=True)
class FixedPoint:
    """A fixed point.

    Attributes
    ----------
    s : statistic of the hop
    rates : rate of one flow of each group
    """

    s: float
    rates: tuple[float, ...]

    @property
    def ratio(self) -> float:
        """Rate of a flow of the last group divided by one of the first; infinite if the latter is zero."""
        return self.rates[-1] / self.rates[0] if self.rates[0] > 0.0 else math.inf


def fixed_point(f: Callable[[float], float], groups: Sequence[FlowGroup], capacity: float) -> FixedPoint:
    """Return the fixed point of flows that share a hop.

    Parameters
    ----------
    f : statistic -> rate; decreasing, from more than `capacity` to less
    capacity : link rate of the hop, in the unit of the rate

    Raises
    ------
    ValueError : there is no fixed point
    """
    return _fixed_point([_unhindered(f, group) for group in groups], groups, capacity)


def band(
    f: Callable[[float], float],
    groups: Sequence[FlowGroup],
    capacity: float,
    grain: Grain,
    reading: Callable[[FixedPoint], float],
) -> tuple[float, float]:
    """Return the minimum and maximum of `reading` over the fixed points that are possible with whole packets.

    Because packets and steps are whole, a flow has up to one packet more or less in flight than its contract requires.
    Its observed delay may differ by the transmission time of one packet, depending on the phase of its packets.
    """
    slips = list(product((-1.0, 0.0, 1.0), repeat=2))
    readings = []
    for corner in product(slips, repeat=len(groups)):
        sends = [_with_slip(f, group, grain, *slip) for group, slip in zip(groups, corner, strict=True)]
        readings.append(reading(_fixed_point(sends, groups, capacity)))
    return min(readings), max(readings)


def _unhindered(f: Callable[[float], float], group: FlowGroup) -> Callable[[float], float]:
    return lambda s: f(group.sees(s))


def _with_slip(
    f: Callable[[float], float], group: FlowGroup, grain: Grain, packets: float, transmissions: float
) -> Callable[[float], float]:
    def sends(s: float) -> float:
        seen = group.sees(s)
        asked = f(max(seen + transmissions * grain.transmission, 1.0 / FARTHEST))
        return max(asked - packets * grain.packet / (grain.rtprop + seen), 0.0)

    return sends


def _fixed_point(sends: Sequence[Callable[[float], float]], groups: Sequence[FlowGroup], capacity: float) -> FixedPoint:
    def excess(s: float) -> float:
        return sum(group.flows * send(s) for group, send in zip(groups, sends, strict=True)) - capacity

    low = high = 1.0
    while excess(low) <= 0.0 and low > 1.0 / FARTHEST:
        low /= 2.0
    while excess(high) >= 0.0 and high < FARTHEST:
        high *= 2.0
    if excess(low) <= 0.0 or excess(high) >= 0.0:
        raise ValueError("no rates of the flows add up to the capacity")
    s = float(brentq(excess, low, high, xtol=1e-15, rtol=1e-13))
    return FixedPoint(s, tuple(send(s) for send in sends))
