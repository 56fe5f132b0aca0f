"""Simulate receiving hosts like those of the kernel world: they take time, and stall occasionally (pause the processing
of packets).

A scenario's rtprop is that of the path; in the kernel world, the hosts' own latency adds to it. Without stalls, a queue
in the simulator can stand permanently, and flows that start late never observe the propagation delay (rtprop). A stall
drains such a queue, so that late flows of Vegas and FRCC measure the rtprop. Stalls also break a synchronization by
which one flow can lock out other flows.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import accumulate, pairwise
from math import ceil, exp, log
from typing import Final

from fairweir.errors import ConfigError
from fairweir.scenario.model import Scenario
from fairweir.units import Duration

#: Time that a packet and its ACK spend in the hosts of the kernel world beyond that of simulated hosts (`noise`), on
#: average (docs/measured/host.md). It matters where buffers have a few packets, and for controllers that measure delay.
#: Kernel runs measure the time of their hosts; this one is for a simulation without such a run.
LATENCY = Duration.from_us(50)
#: Lengths of stalls where no run measured them: the fraction of seconds whose longest stall is at most this long, us;
#: between these lengths the fraction is linear in the logarithm of the length (docs/measured/host.md).
TYPICAL_STALLS: Final = (
    (0.0, 20.0),
    (0.25, 76.0),
    (0.5, 185.0),
    (0.75, 640.0),
    (0.9, 1_700.0),
    (0.95, 4_400.0),
    (0.99, 11_000.0),
    (1.0, 26_000.0),
)
#: Words in the place of a time: stalls are as long as those of the kernel's run, or have random lengths of that
#: distribution.
MEASURED: Final = "measured"
TYPICAL: Final = "typical"
#: Time in which the hosts stall once.
PERIOD = Duration.from_s(1)
#: Time in which the delay of a stall rises, because delays are interpolated linearly between points in time.
EDGE = Duration.from_us(10)
#: A shorter stall in a kernel run is the usual lateness of packets, which simulated hosts have (`noise`).
SHORTEST = Duration.from_us(100)
#: Maximum length of a stall, with which a stall that starts late still ends within its period.
MAX_STALL = Duration.from_ms(400)

_US = Duration.from_us(1)
#: Latest start of a stall within its second, us, with which the longest stall ends in it.
_LATEST_US: Final = int((PERIOD - MAX_STALL - EDGE) / _US)


def as_in_kernel_world(
    scenario: Scenario,
    seed: int,
    stall: str | None = None,
    hosts_us: float | None = None,
    stalls_us: Sequence[float] = (),
) -> Scenario:
    """Return a copy of the scenario in which receiving hosts take time for each packet, and hold the data of all flows
    once per second.

    Parameters
    ----------
    seed : int; determines, with the scenario's name, the times of the stalls within their seconds, and random lengths
    stall : time with unit, at most 400 ms, the length of each stall; if it is zero, the hosts do not stall. Default:
        the lengths in `stalls_us`; if there are none, random ones of :data:`TYPICAL_STALLS`
    hosts_us : float, us; mean time that the hosts of a flow take in each round trip. Default: :data:`LATENCY` more than
        simulated hosts
    stalls_us : floats, us; the length of the stall in each second of a kernel run

    Raises
    ------
    ConfigError : `stall` is not a time, or is too long
    """
    stalls = random.Random(f"stalls {scenario.name} {seed}")  # noqa: S311
    seconds = ceil(Duration.parse(scenario.duration) / PERIOD)
    if stall is not None:
        lengths, shortest = [_checked(stall)] * seconds, _US
    else:
        lengths_us = stalls_us[:seconds] or [_typical_us(stalls.random()) for _ in range(seconds)]
        lengths, shortest = [min(Duration.from_us(us).rounded(_US), MAX_STALL) for us in lengths_us], SHORTEST
    starts = [PERIOD * second + stalls.randrange(1, _LATEST_US) * _US for second in range(len(lengths))]
    stalls_at = [(start, length) for start, length in zip(starts, lengths, strict=True) if length >= shortest]
    changes = {}
    for i, (flow, latency) in enumerate(zip(scenario.flow, _latencies(scenario, hosts_us), strict=True)):
        if stalls_at or latency:
            changes[f"flow.{i}.jitter"] = [
                *(one.model_dump(exclude_none=True) for one in flow.jitter),
                _stalling(latency, stalls_at) if stalls_at else {"kind": "constant", "delay": str(latency)},
            ]
    return scenario.override(changes)


def _checked(stall: str) -> Duration:
    """Return the length of the stalls that a user gave."""
    held = Duration.parse(stall).rounded(_US)
    if held > MAX_STALL:
        raise ConfigError(f"hosts stall for too long: `{stall}`", key="--stall", hint="at most 400ms")
    return held


def _latencies(scenario: Scenario, hosts_us: float | None) -> list[Duration]:
    """Return, for each table of flows, the time that the hosts take beyond the mean of simulated hosts."""
    if hosts_us is None:
        return [LATENCY] * len(scenario.flow)
    flows = scenario.resolve()["flows"]
    firsts = accumulate((flow.count for flow in scenario.flow[:-1]), initial=0)
    # Processing times are uniform from 0.
    simulated = [Duration.from_ns(flows[first]["processing"] / 2) for first in firsts]
    return [max(Duration.from_us(hosts_us) - mean, Duration.from_us(0)).rounded(_US) for mean in simulated]


def _stalling(latency: Duration, stalls: Sequence[tuple[Duration, Duration]]) -> dict[str, object]:
    """Return the delay of hosts that take `latency`, and stall at these times for these lengths."""
    points = [("0s", str(latency))]
    for start, length in stalls:
        points += [
            (str(start), str(latency)),
            (str(start + EDGE), str(latency + length)),
            (str(start + EDGE + length), str(latency)),
        ]
    return {"kind": "trajectory", "points": points, "interpolation": "linear"}


def _typical_us(fraction: float) -> float:
    """Return the length, us, that this fraction of the stalls does not exceed (:data:`TYPICAL_STALLS`)."""
    for (below, low), (above, high) in pairwise(TYPICAL_STALLS):
        if fraction <= above:
            return low * exp(log(high / low) * (fraction - below) / (above - below))
    raise ValueError(f"not a fraction: {fraction}")
