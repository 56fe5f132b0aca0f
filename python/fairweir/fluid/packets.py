"""The fluid's link with packets: the same scheme, weights, wbar and psi, run in the simulator or on the kernel.

The fluid has two parameters of the link, wbar = C d + K and psi = K/(C d); so has the scenario, for a packet's
transmission is part of C d. Only the time of a packet is free: :data:`RATE`.

Packets differ from the fluid in two ways that decide the ratio. An overflow drops about one packet of each flow where
the fluid drops all of an RTT; and with timing noise of a few packets it drops one of some flow only, so that flows lose
at a common rate rather than at the same instants (docs/ccas/waimd.md). Therefore noise is a parameter: ACKs are delayed
at random by up to that many packet times.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from fairweir.errors import ConfigError
from fairweir.judging.interval import Scale, interval
from fairweir.judging.metrics import RATIO_CEILING
from fairweir.judging.outcome import Interval
from fairweir.play.batch import Archive, Task, TaskResult, play_all, spread_starts
from fairweir.play.run import TcpWorld
from fairweir.scenario.dumbbell import PACKET
from fairweir.scenario.model import Scenario
from fairweir.units import Rate

#: Of the link; with packets of 1500 bytes, 2000 a second. Slow enough for the kernel's noise to be far below a packet.
RATE: Final = Rate.from_mbps(24)
_SENDING: Final = PACKET / RATE
#: Minimum length of a run in full RTTs R*, and per packet of wbar: windows cycle in about wbar/6 (AI) R*.
_MIN_RTTS: Final = 1000
_RTTS_A_PACKET: Final = 10
#: Part of a run that does not count.
_WARMUP: Final = 0.2


@dataclass(frozen=True)
class Link:
    """The shared link, in the fluid's terms.

    Attributes
    ----------
    scheme : str, of :data:`fairweir.fluid.model.SCHEMES`, and a controller's name
    weights : list of float, one per flow
    psi : float, buffer by BDP
    """

    scheme: str
    weights: tuple[float, ...]
    psi: float


class PacketRuns(BaseModel):
    """Packet runs at one wbar.

    Attributes
    ----------
    wbar : float, packets
    world : "sim" or "kernel"
    noise : float, maximum delay of ACKs in packet times; kernel runs have their own noise
    ratios : list of Interval, each flow's throughput by the last one's; empty if no run ended
    utilization : float, of the link, mean over runs
    trouble : str, why a run did not end or may not be judged
    """

    model_config = ConfigDict(extra="forbid")

    wbar: float
    world: TcpWorld
    noise: float
    ratios: list[Interval]
    utilization: float | None
    trouble: str = ""


def scenario(link: Link, wbar: float, noise: float) -> Scenario:
    """Return the fluid's setting as a scenario.

    Raises
    ------
    ConfigError : no such link: it would hold less than a packet, or has no propagation delay
    """
    buffer = max(1, round(wbar * link.psi / (1 + link.psi))) if math.isfinite(link.psi) else math.inf
    # One packet of C d is in transmission, which a scenario's rtprop leaves out.
    rtprop_pkts = wbar - buffer - 1
    if rtprop_pkts <= 0:
        raise ConfigError(
            f"too few packets: wbar = {wbar:g} with psi = {link.psi:g} leaves no propagation delay",
            hint="use a larger --wbar or a smaller --psi; packets need both a buffer and a delay",
        )
    duration = wbar * _SENDING * max(_MIN_RTTS, _RTTS_A_PACKET * wbar)
    flow: dict[str, Any] = {"rtprop": str(rtprop_pkts * _SENDING)}
    if noise > 0:
        flow["ack_jitter"] = {"kind": "uniform", "max": str(noise * _SENDING)}
    document = {
        "name": f"{link.scheme}-wbar-{wbar:g}",
        "duration": str(duration),
        "warmup": str(_WARMUP * duration),
        "link": {"bottleneck": {"rate": str(RATE), "buffer": f"{buffer}pkts"}},
        "flow": [
            {**flow, "id": f"{i + 1}", "cca": {"name": link.scheme, "weight": float(weight)}}
            for i, weight in enumerate(link.weights)
        ],
    }
    return Scenario.from_dict(document, source="fluid")


def run_packets(
    link: Link,
    wbars: Sequence[float],
    noises: Mapping[TcpWorld, Sequence[float]],
    *,
    runs: Mapping[TcpWorld, int],
    archive: Archive,
    workers: int | None = None,
    on_done: Callable[[Task, TaskResult, float, float], object] | None = None,
) -> list[PacketRuns]:
    """Run packets at each wbar.

    Parameters
    ----------
    noises : packets' times, of each world that is wanted
    runs : of each setting in a world; starts vary by up to 100 ms
    archive : finished runs found there are reused

    Raises
    ------
    ConfigError : a setting that no packets fit
    KernelError : the kernel world cannot be had here
    """
    settings = [(wbar, world, noise) for wbar in wbars for world, several in noises.items() for noise in several]
    plan = {
        (wbar, world, noise): [
            Task(spread_starts(scenario(link, wbar, noise), seed), world) for seed in range(1, 1 + runs[world])
        ]
        for wbar, world, noise in settings
    }
    outcomes = play_all((task for tasks in plan.values() for task in tasks), archive, workers=workers, on_done=on_done)
    return [_beside(*setting, [outcomes[task.key] for task in tasks]) for setting, tasks in plan.items()]


def _beside(wbar: float, world: TcpWorld, noise: float, outcomes: Sequence[TaskResult]) -> PacketRuns:
    troubles = (outcome.failure or outcome.not_judged for outcome in outcomes)
    summaries = [o.summary for o in outcomes if o.summary is not None and not o.not_judged]
    shares = [[flow.throughput_mbps for flow in summary.flows] for summary in summaries]
    used = [summary.links[0].utilization for summary in summaries]
    return PacketRuns(
        wbar=wbar,
        world=world,
        noise=noise,
        ratios=[ratio([run[i] for run in shares], [run[-1] for run in shares]) for i in range(len(shares[0]))]
        if shares
        else [],
        utilization=sum(used) / len(used) if used else None,
        trouble=next(filter(None, troubles), ""),
    )


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> Interval:
    """Return the mean of quotients and its 95 % interval over runs; None for the interval of a single run."""
    factors = [_quotient(a, b) for a, b in zip(ours, theirs, strict=True)]
    if len(factors) == 1:
        return Interval(value=factors[0], lo=factors[0], hi=factors[0])
    return interval(factors, Scale.FACTOR)


def _quotient(ours: float, theirs: float) -> float:
    if theirs <= 0:
        return RATIO_CEILING if ours > 0 else 1.0
    return max(1 / RATIO_CEILING, min(RATIO_CEILING, ours / theirs))
