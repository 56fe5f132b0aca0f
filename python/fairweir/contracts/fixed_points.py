"""Compute the fixed points of flows that follow a contract, and how far rounding to whole packets can shift them.

A contract f is a decreasing function from a statistic s, such as the queueing delay, to a flow's rate. A hop is a link
that flows share; it has a statistic s and a link rate C. A flow that observes s_i sends at the rate f(s_i). At a fixed
point, the rates of all flows at a hop add up to C (thesis equations 6.1.2 to 6.1.4).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

from scipy.optimize import brentq

FARTHEST = 1e12
"""Largest statistic that a fixed point may have; the smallest is 1 / FARTHEST."""


@dataclass(frozen=True)
class FlowGroup:
    """Flows at one hop that observe the same statistic.

    Attributes
    ----------
    flows : number of flows
    hops : number of hops that each flow crosses; the hops are equal, and the flow observes the sum of their statistics
    noise : amount added to what the flows observe, in the unit of the statistic
    """

    flows: int = 1
    hops: int = 1
    noise: float = 0.0

    def sees(self, s: float) -> float:
        """Return the statistic that these flows observe if the statistic of each hop is `s`."""
        return self.hops * s + self.noise


@dataclass(frozen=True)
class Grain:
    """The sizes that determine the effect of rounding to whole packets.

    Attributes
    ----------
    packet : size of a packet, in the unit of the rate times the unit of the statistic, which must be a delay
    rtprop : round-trip propagation delay, in the unit of the statistic
    transmission : transmission time of a packet, in the unit of the statistic
    """

    packet: float
    rtprop: float
    transmission: float


@dataclass(frozen=True)
class FixedPoint:
    """A state in which the flows' rates fill the hop.

    Attributes
    ----------
    s : statistic of the hop
    rates : for each group, the rate of one of its flows
    """

    s: float
    rates: tuple[float, ...]

    @property
    def ratio(self) -> float:
        """The rate of a flow in the last group divided by the rate of a flow in the first group; infinity if the latter
        is 0.
        """
        return self.rates[-1] / self.rates[0] if self.rates[0] > 0.0 else math.inf


def fixed_point(f: Callable[[float], float], groups: Sequence[FlowGroup], capacity: float) -> FixedPoint:
    """Return the fixed point of flows that share a hop.

    Parameters
    ----------
    f : the contract, a decreasing function from the statistic to the rate, with values above and below `capacity`
    capacity : link rate of the hop, in the unit of `f`

    Raises
    ------
    ValueError : no statistic exists at which the rates add up to `capacity`
    """
    return _fixed_point([_unhindered(f, group) for group in groups], groups, capacity)


def band(
    f: Callable[[float], float],
    groups: Sequence[FlowGroup],
    capacity: float,
    grain: Grain,
    reading: Callable[[FixedPoint], float],
) -> tuple[float, float]:
    """Return the minimum and maximum of `reading` over all fixed points that are possible with whole packets.

    Because the window is a whole number of packets, a flow may have up to one packet more or less in flight than its
    contract requires. Because other packets may arrive just before or just after, the delay that a flow observes may
    differ by the transmission time of one packet.
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
