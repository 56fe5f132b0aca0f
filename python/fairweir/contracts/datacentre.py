"""Compare contracts with packet simulations in the data center of thesis section 6.5.

A contract is the rate of a flow as a decreasing function f(s) of the queueing delay s. A fixed point is the state at
which all flows send the rates of their contract and together fill the link.

Links have 100 Gbps, a round-trip propagation delay (rtprop) of 12 us and unlimited buffers; packets have 4 KB; flows
know their rtprop. Each contract gives a rate of C = 100 Gbps at a queueing delay of S_min = 1.2 us. The bandwidth-delay
product is only 37 packets, so the rounding of windows to whole packets has a visible effect. The effect is smaller with
packets of a sixteenth of the size.

Times are in us and rates in Gbps, so the product of a rate and a time is in kilobits.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import Any, Literal

from fairweir.contracts.fixed_points import FixedPoint, FlowGroup, Grain, band, fixed_point
from fairweir.judging.metrics import sampled
from fairweir.judging.summary import Summary
from fairweir.scenario.dumbbell import EXACT_HOSTS
from fairweir.scenario.model import Scenario
from fairweir.units import BYTES_PER_MBPS_MS, Duration, Rate

CAPACITY = Rate.from_mbps(100_000)
RTPROP_US = 12.0
MIN_US = 1.2
"""S_min, the queueing delay at which a flow sends at the link rate, us."""
PACKET = 4096
"""Bytes."""
FINE_PACKET = 256
"""Bytes."""
CAPACITY_GBPS = CAPACITY.mbps / Rate.from_mbps(1000).mbps
KILOBITS = 1 / BYTES_PER_MBPS_MS
"""Kilobits per byte. Mbps times ms and Gbps times us are kilobits, the unit of data in this file."""
FABRIC_SPREAD_US = 200.0
"""Flows start at random times within this interval, which is about 17 rtprops."""
WARMUP_RTPROPS = 1000
WARMUP_QDELAYS = 40
"""The warm-up is this many queueing delays long, plus `WARMUP_RTPROPS` rtprops; the measured time is equally long.
Vegas needs this time, because it changes its window by one packet per round and long queues change slowly.
"""

Metric = Literal["robustness", "unfairness", "growth"]
PLACES: dict[Metric, tuple[float, ...]] = {
    "robustness": (0.6, 1.2, 2.4, 3.6, 4.8, 6.0),
    "unfairness": (2, 3, 4, 6, 8),
    "growth": (2, 4, 8, 16, 32),
}
"""The values at which each metric is computed: noise in us for robustness, number of hops for unfairness, number of
flows for growth.
"""


@dataclass(frozen=True)
class Follower:
    """A CCA of the comparison, with its contract.

    Attributes
    ----------
    name : name of the CCA in figures
    cca : function from the packet size in bytes to the ``cca`` key of a flow in the scenario
    f : the contract: function from the queueing delay in us to the rate in Gbps
    slowed : if the CCA's clock is too coarse, the factor by which all times are multiplied and all rates divided;
        counted in packets and round trips, the run is unchanged
    """

    name: str
    cca: Callable[[int], dict[str, Any]]
    f: Callable[[float], float]
    slowed: float = 1.0


def canonical(exponent: float, gain: float = 1.0) -> Follower:
    """Return a CCA with the contract 1/s^exponent.

    The CCA changes cwnd as in thesis section 6.4, "canonical dynamics"; `gain` is the applied fraction of each step.
    """
    return Follower(
        f"1/s^{exponent:g}",
        lambda packet: {"name": "contract", "c0": "100Gbps", "s0": "1200ns", "exponent": exponent, "gain": gain},
        lambda s: CAPACITY_GBPS * (MIN_US / s) ** exponent,
    )


def vegas() -> Follower:
    """Return Vegas, which keeps 4 packets of 4 KB in the queue.

    Its clock has a resolution of 1 us, which is too coarse for this network, so the run is slowed.
    """
    held = 4 * PACKET

    def cca(packet: int) -> dict[str, Any]:
        return {"name": "vegas", "alpha": held // packet, "beta": held // packet}

    return Follower("vegas", cca, lambda s: held * KILOBITS / s, slowed=1000.0)


def swift() -> Follower:
    """Return Swift with a target queueing delay of A / sqrt(cwnd), without the limits that Swift puts on the target.

    The constant A is such that the target is MIN_US if a single flow fills the link.
    """
    window = CAPACITY_GBPS * (RTPROP_US + MIN_US) / KILOBITS
    of_bytes = MIN_US * math.sqrt(window)

    def cca(packet: int) -> dict[str, Any]:
        # With fs_min_pkts = 0.1, the target equals fs_range.
        in_range = of_bytes / math.sqrt(packet * 0.1)
        return {"name": "swift", "fs_range": _time(in_range), "fs_min_pkts": 0.1, "fs_max_pkts": 1e12}

    def f(s: float) -> float:
        return (of_bytes / s) ** 2 * KILOBITS / (RTPROP_US + s)

    return Follower("swift", cca, f)


@dataclass(frozen=True)
class Place:
    """A point of a figure: a metric, the value on the horizontal axis, and the flows that share a link there.

    Attributes
    ----------
    metric : the metric on the vertical axis
    at : noise in us, number of hops, or number of flows, depending on the metric
    crowds : the groups of flows that share a link; flows of a group observe the same statistic
    """

    metric: Metric
    at: float
    crowds: tuple[FlowGroup, ...]

    def exact(self, follower: Follower) -> FixedPoint:
        """Return the fixed point of the flows, without the rounding of windows to whole packets."""
        return fixed_point(follower.f, self.crowds, CAPACITY_GBPS)

    def reading(self, follower: Follower) -> Callable[[FixedPoint], float]:
        """Return a function that computes the metric from a fixed point: a ratio of rates, or for growth the queueing
        delay divided by that of a single flow.
        """
        if self.metric != "growth":
            return lambda at: at.ratio
        least = _alone(follower)
        return lambda at: at.s / least

    def band(self, follower: Follower, packet: int) -> tuple[float, float]:
        """Return the minimum and maximum of the metric if windows are whole numbers of packets of `packet` bytes."""
        data = packet * KILOBITS
        grain = Grain(data, RTPROP_US, data / CAPACITY_GBPS)
        return band(follower.f, self.crowds, CAPACITY_GBPS, grain, self.reading(follower))

    def measured(self, follower: Follower, summary: Summary) -> float:
        """Return the metric that a run shows, computed from its summary."""
        first, *others = summary.flows
        if self.metric == "growth":
            qdelay_ms = fmean(sampled(flow.qdelay_ms.mean, flow.id) for flow in summary.flows)
            return Duration.from_ms(qdelay_ms) / Duration.from_us(follower.slowed * _alone(follower))
        return fmean(flow.throughput_mbps for flow in others) / first.throughput_mbps

    def scenario(self, follower: Follower, packet: int, seed: int) -> Scenario:
        """Return the scenario whose run shows the metric at this point.

        Parameters
        ----------
        follower : Follower
        packet : int, packet size in bytes
        seed : int, seed of the flows' random start times
        """
        time = partial(_time, slowed=follower.slowed)
        warmup_us = WARMUP_RTPROPS * RTPROP_US + WARMUP_QDELAYS * self.exact(follower).s
        hops = int(self.at) if self.metric == "unfairness" else 1
        links = [f"hop{number}" for number in range(1, hops + 1)]
        flows: list[dict[str, Any]]
        match self.metric:
            case "robustness":
                flows = [{"id": "noisy", "jitter": {"kind": "constant", "delay": time(self.at)}}, {"id": "clean"}]
            case "unfairness":
                flows = [{"id": "long", "path": links}, *({"id": f"on-{link}", "path": [link]} for link in links)]
            case "growth":
                flows = [{"id": f"{number}"} for number in range(1, int(self.at) + 1)]
        dice = random.Random(f"data centre {seed}")  # noqa: S311
        common = {"cca": follower.cca(packet), "rtprop": time(RTPROP_US), "oracle_rtprop": True}
        return Scenario.from_dict(
            {
                "name": f"{self.metric}-{self.at:g}",
                "duration": time(2.0 * warmup_us),
                "warmup": time(warmup_us),
                "seed": seed,
                **EXACT_HOSTS,
                "packet": f"{packet}B",
                "link": {link: {"rate": str(CAPACITY / follower.slowed), "buffer": "infinite"} for link in links},
                "flow": [{**common, **flow, "start": time(dice.random() * FABRIC_SPREAD_US)} for flow in flows],
            }
        )


def place(metric: Metric, at: float) -> Place:
    """Return the point of a figure at which the metric has the value `at` on its horizontal axis.

    Robustness has two flows, one of which observes noise; unfairness has a parking lot, a chain of links with one long
    flow and a short flow per link; growth has `at` equal flows on one link.
    """
    match metric:
        case "robustness":
            return Place(metric, at, (FlowGroup(noise=at), FlowGroup()))
        case "unfairness":
            return Place(metric, at, (FlowGroup(hops=int(at)), FlowGroup()))
        case "growth":
            return Place(metric, at, (FlowGroup(flows=int(at)),))


def _time(us: float, slowed: float = 1.0) -> str:
    return str(Duration.from_us(us * slowed))


def _alone(follower: Follower) -> float:
    """Return the queueing delay at which a single flow fills the link, us."""
    return fixed_point(follower.f, (FlowGroup(),), CAPACITY_GBPS).s
