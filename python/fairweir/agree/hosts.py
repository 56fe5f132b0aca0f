"""Hosts that stall occasionally, as real ones do: without noise a simulator errs in which flow learns the rtprop.

A stall drains queues that would otherwise be permanent, and late flows learn the true rtprop (Vegas, FRCC); it also
breaks the synchronisation of flows that lock each other out.
"""

from __future__ import annotations

import random

from fairweir.errors import ConfigError
from fairweir.scenario.model import Scenario
from fairweir.units import Duration

#: Length of simulated hosts' stalls: the maximum lateness of the emulator's packets in a typical run is 2 to 5 ms.
STALL = "2ms"
#: Time between stalls.
PERIOD = Duration.from_s(1)
#: Time in which a stall begins and ends: a trajectory is linear between points.
EDGE = Duration.from_us(10)
#: With the latest begin the stall still ends within its period.
MAX_STALL = Duration.from_ms(400)

_US = Duration.from_us(1)


def stall(scenario: Scenario, seed: int, length: str = STALL) -> Scenario:
    """Return the scenario in which the receiving hosts hold data for up to `length` once per second, all flows at once.

    Parameters
    ----------
    seed : int; where in the second
    length : text of a time, at most 400 ms; zero leaves hosts ideal

    Raises
    ------
    ConfigError : no time, or one too long
    """
    held = Duration.parse(length).rounded(_US)
    if held > MAX_STALL:
        raise ConfigError(f"hosts stall for too long: `{length}`", key="--stall", hint="at most 400ms")
    if not held:
        return scenario
    begin = random.Random(f"stall {seed}").randrange(1, int(PERIOD / 2 / _US)) * _US  # noqa: S311
    points = [
        ("0s", "0s"),
        (str(begin), "0s"),
        (str(begin + EDGE), str(held)),
        (str(begin + EDGE + held), "0s"),
    ]
    stalls = {"kind": "trajectory", "points": points, "interpolation": "linear", "repeat": str(PERIOD)}
    return scenario.override(
        {
            f"flow.{i}.jitter": [*(element.model_dump(exclude_none=True) for element in flow.jitter), stalls]
            for i, flow in enumerate(scenario.flow)
        }
    )
