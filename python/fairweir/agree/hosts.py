"""Simulate receiving hosts that stall occasionally (pause the processing of packets), as real hosts do.

Without stalls, a queue in the simulator can stand permanently, and flows that start late never observe the propagation
delay (rtprop). A stall drains such a queue, so that late flows of Vegas and FRCC measure the rtprop. Stalls also break
a synchronization by which one flow can lock out other flows.
"""

from __future__ import annotations

import random

from fairweir.errors import ConfigError
from fairweir.scenario.model import Scenario
from fairweir.units import Duration

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


def stall(scenario: Scenario, seed: int, length: str = STALL) -> Scenario:
    """Return a copy of the scenario in which receiving hosts hold the data of all flows for up to `length`, once per
    second.

    Parameters
    ----------
    seed : int; determines the time of the stall within the second
    length : time with unit, at most 400 ms; if it is zero, the hosts do not stall

    Raises
    ------
    ConfigError : `length` is not a time, or is too long
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
