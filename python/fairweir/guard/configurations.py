"""Networks for training and evaluation: the ranges of CMU-CS-24-129, table 1, and the mixes of its table 7."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from fairweir.scenario.dumbbell import ARRIVAL_SPREAD, draw_starts, dumbbell
from fairweir.scenario.model import Scenario
from fairweir.units import Duration, Rate

RATES_MBPS = (1, *range(4, 101, 4))
BUFFERS_BDP = (0.5, 1.0, 2.0, 3.0, 4.0)
RTTS_MS = tuple(range(20, 201, 4))
FLOWS = tuple(range(1, 11))
"""Ranges of table 1: link rate, buffer, RTT and number of incumbents."""

#: Fractions of a run: the newcomer starts after the first; examples are taken after the second.
NEWCOMER_AT, LEARN_FROM = 0.2, 0.8
#: Minimum of a "high fair rate", Mbit/s: the link's rate divided by the number of flows. The report has no number.
HIGH_FAIR_RATE_MBPS = 10.0
_MS = Duration.from_ms(1)


@dataclass(frozen=True)
class Network:
    """A dumbbell with `incumbents` incumbents and one newcomer."""

    rate_mbps: int
    rtt_ms: int
    buffer_bdp: float
    incumbents: int

    @property
    def fair_rate_mbps(self) -> float:
        """The link's rate divided by the number of flows."""
        return self.rate_mbps / (self.incumbents + 1)

    def scenario(self, incumbent: str, newcomer: str, duration: Duration, seed: int) -> Scenario:
        """Return the scenario: flows of the CCA `incumbent`, and later one flow of the CCA `newcomer`."""
        dice = random.Random(f"starts {seed}")  # noqa: S311
        starts = draw_starts(dice, self.incumbents, ARRIVAL_SPREAD)
        return dumbbell(
            [incumbent] * self.incumbents + [newcomer],
            rate=Rate.from_mbps(self.rate_mbps),
            rtprop=Duration.from_ms(self.rtt_ms),
            buffer=f"{self.buffer_bdp}bdp",
            duration=duration.rounded(_MS),
            seed=seed,
            # as in Linux
            delayed_ack=2,
            flows=[{"start": str(start)} for start in [*starts, (NEWCOMER_AT * duration).rounded(_MS)]],
        )


def networks(seed: str, n: int, *, min_fair_rate_mbps: float = 0.0) -> list[Network]:
    """Draw networks without replacement.

    Parameters
    ----------
    seed : str; seed of the draw
    n : int; number of networks; if fewer exist, all are returned
    min_fair_rate_mbps : float, Mbit/s; minimum fair rate of each network
    """
    every = [Network(*values) for values in product(RATES_MBPS, RTTS_MS, BUFFERS_BDP, FLOWS)]
    eligible = [network for network in every if network.fair_rate_mbps >= min_fair_rate_mbps]
    return random.Random(seed).sample(eligible, min(n, len(eligible)))  # noqa: S311


@dataclass(frozen=True)
class Part:
    """A part of a mix: competing flows, and the number of runs in the publication.

    Attributes
    ----------
    kind : "random", "high fair rate" or "alone" (incumbents among themselves)
    """

    incumbent: str
    newcomer: str
    kind: str
    published: int

    @property
    def name(self) -> str:
        """Name in tables."""
        return f"{self.incumbent} vs {self.newcomer}, {self.kind}"


#: Table 7; the two newcomers of the third model each have half of its runs.
MIXES = {
    "reno-cubic": (
        Part("reno", "cubic", "random", 500),
        Part("reno", "cubic", "high fair rate", 100),
        Part("reno", "reno", "alone", 200),
    ),
    "vegas-cubic": (
        Part("vegas", "cubic", "random", 300),
        Part("vegas", "cubic", "high fair rate", 300),
        Part("vegas", "vegas", "alone", 200),
    ),
    "combined": (
        Part("cubic", "bbr", "random", 2000),
        Part("cubic", "vegas", "random", 2000),
        Part("cubic", "bbr", "high fair rate", 1250),
        Part("cubic", "vegas", "high fair rate", 1250),
        Part("cubic", "cubic", "alone", 6500),
    ),
}


@dataclass(frozen=True)
class PlannedRun:
    """A run for training or examination."""

    part: Part
    network: Network
    duration: Duration
    seed: int

    @property
    def scenario(self) -> Scenario:
        """The scenario to run."""
        return self.network.scenario(self.part.incumbent, self.part.newcomer, self.duration, self.seed)


def curriculum(parts: tuple[Part, ...], runs: int, duration: Duration, seed: int) -> Iterator[PlannedRun]:
    """Yield about `runs` runs in the proportions of the published mix, with at least two runs of each part."""
    total = sum(part.published for part in parts)
    for index, part in enumerate(parts):
        least = HIGH_FAIR_RATE_MBPS if part.kind == "high fair rate" else 0.0
        n = max(2, round(runs * part.published / total))
        for k, network in enumerate(networks(f"{part.name} {seed}", n, min_fair_rate_mbps=least)):
            yield PlannedRun(part, network, duration, seed * 1_000_000 + index * 100_000 + k)


def learnt(origin: Mapping[str, Any]) -> frozenset[Network]:
    """Return the networks on which a forest was trained, drawn again from the record in the forest's file.

    Raises
    ------
    KeyError, TypeError : the file has no such record
    """
    duration = Duration.from_s(origin["duration_s"])
    planned_runs = curriculum(MIXES[origin["mix"]], origin["runs"], duration, origin["seed"])
    return frozenset(planned.network for planned in planned_runs)
