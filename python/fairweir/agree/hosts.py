"""Hosts that stall now and then, as real ones do: what a simulator without noise gets wrong is who learns what.

A stall lets queues drain that would stand for ever, and late flows learn the true rtprop (Vegas, FRCC); it also breaks
the step of flows that lock one another out.
"""

from __future__ import annotations

import random

from fairweir import _core
from fairweir.errors import ConfigError
from fairweir.scenario import Scenario

#: How long simulated hosts stall: what the emulator's packets are late by at most in a typical run is 2 to 5 ms.
STALL = "2ms"
#: ms from stall to stall.
PERIOD_MS = 1000
#: us in which a stall begins and ends: a trajectory is a line between points.
EDGE_US = 10
#: us; with the latest begin the stall still ends within its period.
MAX_US = 400_000


def stall(scenario: Scenario, seed: int, length: str = STALL) -> Scenario:
    """Give the scenario with data that the receiving hosts hold for up to `length` once a second, all flows at a time.

    Parameters
    ----------
    seed : int; where in the second
    length : text of a time, at most 400 ms; zero leaves hosts ideal

    Raises
    ------
    ConfigError : no time, or one too long
    """
    length_us = _core.parse_time(length) // 1000
    if length_us > MAX_US:
        raise ConfigError(f"hosts stall for too long: `{length}`", key="--stall", hint="at most 400ms")
    if length_us == 0:
        return scenario
    begin_us = random.Random(f"stall {seed}").randrange(1, PERIOD_MS * 1000 // 2)  # noqa: S311
    points = [
        ("0s", "0s"),
        (f"{begin_us}us", "0s"),
        (f"{begin_us + EDGE_US}us", f"{length_us}us"),
        (f"{begin_us + EDGE_US + length_us}us", "0s"),
    ]
    held = {"kind": "trajectory", "points": points, "interpolation": "linear", "repeat": f"{PERIOD_MS}ms"}
    return scenario.override(
        {
            f"flow.{i}.jitter": [*(element.model_dump(exclude_none=True) for element in flow.jitter), held]
            for i, flow in enumerate(scenario.flow)
        }
    )
