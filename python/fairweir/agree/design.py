"""Draw scenarios for the comparison of simulator and kernel by a design, not by hand.

A Latin hypercube divides the range of each factor into as many strata as there are cells, and uses each stratum once
(McKay, Beckman and Conover, "A comparison of three methods for selecting values of input variables", 1979). The same
number of cells and design seed always give the same scenarios.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from fairweir.scenario.model import Scenario
from fairweir.units import Bytes, Duration, Rate

T = TypeVar("T")

#: The controllers of a design: 7 of 12 cells have one that Linux ships, the others one that BPF brings.
CCAS: Final = (*("reno", "cubic", "bbr") * 2, "vegas", "copa", "dctcp", "highspeed", "frcc", "cubic")
#: The second controller of a cell, where two compete.
RIVALS: Final = ("cubic", "bbr", "reno")
RATE_MBPS: Final = (5.0, 1000.0)
RTPROP_MS: Final = (2.0, 200.0)
BUFFER_BDP: Final = (0.25, 8.0)
MAX_FLOWS: Final = 8
#: A buffer has room for at least this many packets, because Linux sends bursts.
MIN_BUFFER_PKTS: Final = 8
#: Rates above this have jumbo frames: the emulator serves 50000 packets per second.
JUMBO_ABOVE_MBPS: Final = 150.0
#: A run has about this many RTTs with an average queue, within the limits, which bound the real time of a design.
ROUNDS: Final = 60
MIN_DURATION_S, MAX_DURATION_S = 8.0, 20.0
WARMUP: Final = 0.25

#: Bucket of a policer: what it passes in 50 ms, and for slow ones 40 packets.
POLICER_BURST, MIN_POLICER_BURST = Duration.from_ms(50), Bytes.parse("60000B")

QUEUES: Final = ("droptail",) * 5 + ("codel", "red", "ecn")
FAULTS: Final = ("none",) * 5 + ("loss", "jitter", "aggregation", "policer")
SOURCES: Final = ("bulk",) * 5 + ("finite", "on-off", "rate")
#: How the flows of a cell differ.
MIXES: Final = ("equal", "equal", "rtprops", "rivals", "rivals")


@dataclass(frozen=True)
class Point:
    """A value of each factor, in [0, 1)."""

    values: Mapping[str, float]

    def log(self, factor: str, ends: tuple[float, float]) -> float:
        """Return the factor's value in the range `ends`, uniform on a logarithmic scale."""
        lo, hi = ends
        return float(lo * (hi / lo) ** self.values[factor])

    def choice(self, factor: str, among: Sequence[T]) -> T:
        """Return one of `among`."""
        return among[int(self.values[factor] * len(among))]


FACTORS: Final = (
    "cca", "rival", "mix", "flows", "rate", "rtprop", "ratio", "buffer", "queue", "fault", "size", "source", "acks",
)  # fmt: skip


def draw(cells: int, seed: int) -> list[Scenario]:
    """Return `cells` scenarios, named by the design's seed and the number of the cell.

    The description of each says what it has.
    """
    dice = random.Random(f"design {seed}")  # noqa: S311
    columns = {factor: _strata(cells, dice) for factor in FACTORS}
    width = len(str(cells))
    return [
        _scenario(f"d{seed}-{i + 1:0{width}}", Point({factor: columns[factor][i] for factor in FACTORS}))
        for i in range(cells)
    ]


def _strata(cells: int, dice: random.Random) -> list[float]:
    order = list(range(cells))
    dice.shuffle(order)
    return [(stratum + dice.random()) / cells for stratum in order]


def _scenario(name: str, point: Point) -> Scenario:
    cca, queue, fault, source, mix = (
        point.choice(factor, among)
        for factor, among in (("cca", CCAS), ("queue", QUEUES), ("fault", FAULTS), ("source", SOURCES), ("mix", MIXES))
    )
    if cca == "dctcp":
        queue = "ecn"
    mbps, rtprop_ms = round(point.log("rate", RATE_MBPS), 1), round(point.log("rtprop", RTPROP_MS), 1)
    packet = 9000 if mbps > JUMBO_ABOVE_MBPS else 1500
    flows = int(point.log("flows", (1.0, MAX_FLOWS + 1.0)))
    rtprop_s = Duration.from_ms(rtprop_ms).s
    bdp = Rate.from_mbps(mbps).bytes_per_s * rtprop_s
    buffer = max(point.log("buffer", BUFFER_BDP) * bdp, MIN_BUFFER_PKTS * packet)
    round_s = rtprop_s * (1 + min(buffer / bdp, 2.0))
    duration = min(max(ROUNDS * round_s, MIN_DURATION_S), MAX_DURATION_S)
    delayed = point.choice("acks", (1, 2))

    def table(cca: str, rtprop_ms: float, count: int) -> dict[str, Any]:
        ecn = {"ecn": True} if queue == "ecn" else {}
        return {"cca": cca, "rtprop": f"{rtprop_ms:g}ms", "count": count, "delayed_ack": delayed, **ecn}

    tables = [table(cca, rtprop_ms, flows)]
    if mix != "equal" and flows > 1:
        rival = point.choice("rival", RIVALS) if mix == "rivals" else cca
        other_ms = rtprop_ms
        if mix == "rtprops":
            other_ms = max(round(rtprop_ms * point.log("ratio", (0.25, 0.8)), 1), RTPROP_MS[0])
        tables = [table(cca, rtprop_ms, flows - flows // 2), table(rival, other_ms, flows // 2)]
    # What only some flows have, the last ones have.
    special = tables[-1]
    special |= _fault(fault, point, rtprop_ms, mbps / flows)
    special |= _source(source, mbps / flows, duration)
    words = [f"{mbps:g} Mbps", f"{rtprop_ms:g} ms", f"{buffer / bdp:.2g} BDP", queue]
    words += [f"{one['count']} {one['cca']} ({one['rtprop']})" for one in tables]
    words += [word for word in (fault, source) if word not in ("none", "bulk")]
    words += ["delayed ACKs"] if delayed == 2 else []
    return Scenario.from_dict(
        {
            "name": name,
            "description": ", ".join(words),
            "duration": f"{duration:.1f}s",
            "warmup": f"{duration * WARMUP:.1f}s",
            "packet": f"{packet}B",
            "link": {
                "bottleneck": {
                    "rate": f"{mbps:g}Mbps",
                    "buffer": f"{round(buffer)}B",
                    "aqm": _queue(queue, buffer, packet),
                }
            },
            "flow": tables,
        }
    )


def _queue(queue: str, buffer: float, packet: int) -> str | dict[str, Any]:
    if queue == "red":
        return {"kind": "red", "min": f"{round(buffer * 0.25)}B", "max": f"{round(buffer * 0.75)}B", "gentle": True}
    if queue == "ecn":
        return {"kind": "ecn-threshold", "threshold": f"{round(max(buffer * 0.3, 2 * packet))}B"}
    return queue


def _fault(fault: str, point: Point, rtprop_ms: float, fair_mbps: float) -> dict[str, Any]:
    if fault == "loss":
        return {"loss": f"{point.log('size', (0.01, 1.0)):.2g}%"}
    if fault == "jitter":
        return {"jitter": {"kind": "uniform", "max": str(Duration.from_ms(rtprop_ms * point.log("size", (0.02, 0.3))))}}
    if fault == "aggregation":
        hold = Duration.from_ms(max(1.0, rtprop_ms * point.log("size", (0.1, 1.0))))
        return {"ack_jitter": {"kind": "ack-aggregation", "hold": str(hold)}}
    if fault == "policer":
        rate = Rate.from_mbps(fair_mbps * point.log("size", (0.4, 1.0)))
        burst = max(rate * POLICER_BURST, MIN_POLICER_BURST, key=lambda size: size.bytes)
        return {"policer": {"rate": str(rate), "burst": str(burst)}}
    return {}


def _source(source: str, fair_mbps: float, duration: float) -> dict[str, Any]:
    if source == "finite":
        return {"bytes": f"{round(Rate.from_mbps(fair_mbps).bytes_per_s * duration / 2)}B"}
    if source == "on-off":
        return {"on_off": {"on": "1500ms", "off": "700ms"}}
    if source == "rate":
        return {"app_rate": f"{fair_mbps / 2:.3g}Mbps"}
    return {}
