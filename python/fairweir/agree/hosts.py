"""Simulate receiving hosts like those of the kernel world: they take time, and stall occasionally (pause the processing
of packets).

A scenario's rtprop is that of the path; in the kernel world, the hosts' own latency adds to it. Without stalls, a queue
in the simulator can stand permanently, and flows that start late never observe the propagation delay (rtprop). A stall
drains such a queue, so that late flows of Vegas and FRCC measure the rtprop. Stalls also break a synchronization by
which one flow can lock out other flows.
"""

from __future__ import annotations

import random
from itertools import accumulate

from fairweir.errors import ConfigError
from fairweir.scenario.model import Scenario
from fairweir.units import Duration

#: Time that a packet and its ACK spend in the hosts of the kernel world beyond that of simulated hosts (`noise`), on
#: average (docs/measured/host.md). It matters where buffers have a few packets, and for controllers that measure delay.
#: Kernel runs measure the time of their hosts; this one is for a simulation without such a run.
LATENCY = Duration.from_us(50)
#: Length of a stall. It is chosen like the delays of a real host: in a typical run in the kernel, packets are at most 2
#: to 5 ms late.
STALL = "2ms"
#: Time between the starts of two stalls.
PERIOD = Duration.from_s(1)
#: Time in which the delay of a stall rises, because delays are interpolated linearly between points in time.
EDGE = Duration.from_us(10)
#: Maximum length of a stall, with which a stall that starts late still ends within its period.
MAX_STALL = Duration.from_ms(400)

_US = Duration.from_us(1)


def as_in_kernel_world(scenario: Scenario, seed: int, stall: str = STALL, hosts_us: float | None = None) -> Scenario:
    """Return a copy of the scenario in which receiving hosts take time for each packet, and hold the data of all flows
    for up to `stall`, once per second.

    Parameters
    ----------
    seed : int; determines the time of the stall within the second
    stall : time with unit, at most 400 ms; if it is zero, the hosts do not stall
    hosts_us : float, us; mean time that the hosts of a flow take in each round trip. Default: :data:`LATENCY` more than
        simulated hosts

    Raises
    ------
    ConfigError : `stall` is not a time, or is too long
    """
    held = Duration.parse(stall).rounded(_US)
    if held > MAX_STALL:
        raise ConfigError(f"hosts stall for too long: `{stall}`", key="--stall", hint="at most 400ms")
    changes = {}
    for i, (flow, latency) in enumerate(zip(scenario.flow, _latencies(scenario, hosts_us), strict=True)):
        delay = _stalling(latency, held, seed) if held else {"kind": "constant", "delay": str(latency)}
        if held or latency:
            changes[f"flow.{i}.jitter"] = [*(one.model_dump(exclude_none=True) for one in flow.jitter), delay]
    return scenario.override(changes)


def _latencies(scenario: Scenario, hosts_us: float | None) -> list[Duration]:
    """Return, for each table of flows, the time that the hosts take beyond the mean of simulated hosts."""
    if hosts_us is None:
        return [LATENCY] * len(scenario.flow)
    flows = scenario.resolve()["flows"]
    firsts = accumulate((flow.count for flow in scenario.flow[:-1]), initial=0)
    # Processing times are uniform from 0.
    simulated = [Duration.from_ns(flows[first]["processing"] / 2) for first in firsts]
    return [max(Duration.from_us(hosts_us) - mean, Duration.from_us(0)).rounded(_US) for mean in simulated]


def _stalling(latency: Duration, held: Duration, seed: int) -> dict[str, object]:
    begin = random.Random(f"stall {seed}").randrange(1, int(PERIOD / 2 / _US)) * _US  # noqa: S311
    points = [
        ("0s", str(latency)),
        (str(begin), str(latency)),
        (str(begin + EDGE), str(latency + held)),
        (str(begin + EDGE + held), str(latency)),
    ]
    return {"kind": "trajectory", "points": points, "interpolation": "linear", "repeat": str(PERIOD)}
