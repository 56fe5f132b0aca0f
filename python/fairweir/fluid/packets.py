"""Run the fluid model's flows with packets: same scheme, weights, wbar and psi, in the simulator or on the kernel.

Symbols: C, link rate; d, round-trip propagation delay; K, buffer; wbar = C d + K, the packets in flight when the buffer
is full; psi = K/(C d), the buffer divided by the BDP; R* = d + K/C, the RTT when the buffer is full. wbar, psi and the
link rate (:data:`RATE`) determine the scenario. The transmission time of a packet is part of d.

Packets differ from the fluid in two ways that change the throughput ratio. First, an overflow drops about one packet of
each flow, while the fluid loses all packets of one RTT. Second, with timing noise of a few packet times, an overflow
drops packets of only some flows, so that flows have a common loss rate instead of synchronized losses
(docs/ccas/waimd.md). Noise is therefore a parameter: the maximum random delay of ACKs, in packet times.
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
from fairweir.play.pool import Where
from fairweir.play.run import TcpWorld
from fairweir.scenario.dumbbell import EXACT_HOSTS, PACKET
from fairweir.scenario.model import Scenario
from fairweir.units import Rate

#: Link rate: 2000 packets of 1500 bytes per second, so that the kernel's timing noise is far below a packet time.
RATE: Final = Rate.from_mbps(24)
_SENDING: Final = PACKET / RATE
#: Minimum duration of a run in R*, and its duration in R* per packet of wbar. The period of wcc_ai is about wbar/6 R*.
_MIN_RTTS: Final = 1000
_RTTS_A_PACKET: Final = 10
#: Warm-up, as a fraction of the run's duration; the warm-up is not measured.
_WARMUP: Final = 0.2


@dataclass(frozen=True)
class Link:
    """The shared link, in the parameters of the fluid model.

    Attributes
    ----------
    scheme : str, a name in :data:`fairweir.fluid.model.SCHEMES`; the controller has the same name
    weights : list of float, one per flow
    psi : float, buffer / BDP
    """

    scheme: str
    weights: tuple[float, ...]
    psi: float


class PacketRuns(BaseModel):
    """Results of the runs with packets at one wbar, in one world, with one noise.

    Attributes
    ----------
    wbar : float, packets
    world : "sim" or "kernel"
    noise : float, maximum random delay of ACKs in packet times; the kernel adds its own timing noise
    ratios : list of Interval, each flow's throughput divided by the last flow's; empty if no run succeeded
    utilization : float, mean utilization of the link over runs
    trouble : str, why a run failed, or why its machine was too slow for the run to count; empty if all runs count
    """

    model_config = ConfigDict(extra="forbid")

    wbar: float
    world: TcpWorld
    noise: float
    ratios: list[Interval]
    utilization: float | None
    trouble: str = ""


def scenario(link: Link, wbar: float, noise: float) -> Scenario:
    """Return the scenario in which packets have the fluid model's parameters.

    Parameters
    ----------
    link : Link
    wbar : float, packets
    noise : float, maximum random delay of ACKs in packet times

    Raises
    ------
    ConfigError : the link would have no propagation delay, or a buffer of less than one packet
    """
    buffer = max(1, round(wbar * link.psi / (1 + link.psi))) if math.isfinite(link.psi) else math.inf
    # One packet of C d is in transmission, and a scenario's rtprop does not include the transmission time.
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
        **EXACT_HOSTS,
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
    workers: Where = None,
    on_done: Callable[[Task, TaskResult, float, float], object] | None = None,
) -> list[PacketRuns]:
    """Run the scenarios of all combinations of wbar, world and noise.

    Parameters
    ----------
    link : Link
    wbars : in packets
    noises : for each world to run, the noises, in packet times
    runs : for each world, the number of runs per combination; flows' start times vary by up to 100 ms between runs
    archive : archive of runs; finished runs are reused
    workers : number of processes, None for one per core, or a :class:`fairweir.Cluster`
    on_done : called after each run

    Raises
    ------
    ConfigError : :func:`scenario` cannot represent a combination with packets
    KernelError : the kernel world is not available
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
    """Return the mean of ours / theirs over runs, with its 95 % interval. For a single run the interval has width 0."""
    factors = [_quotient(a, b) for a, b in zip(ours, theirs, strict=True)]
    if len(factors) == 1:
        return Interval(value=factors[0], lo=factors[0], hi=factors[0])
    return interval(factors, Scale.FACTOR)


def _quotient(ours: float, theirs: float) -> float:
    if theirs <= 0:
        return RATIO_CEILING if ours > 0 else 1.0
    return max(1 / RATIO_CEILING, min(RATIO_CEILING, ours / theirs))
