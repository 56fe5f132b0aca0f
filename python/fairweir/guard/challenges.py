"""The challenges of cooperative rate control, and BBR against Cubic, over random configurations (CMU-CS-24-129 §6).

An incumbent shares a bottleneck with a newcomer that its receiver's policy would not leave as it is. Table 1 gives the
ranges of links and flows; :func:`draw` picks from them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

from fairweir.dumbbell import ScenarioDict, dumbbell, flow

SERVICE: Final = '[service]\ngroup = "sender"\n'
"""The policy for the first challenge."""

FAIR_SHARE: Final = '[flow]\nmodel = "fair-share"\n'
"""The policy for the others with a classifier that knows the link's rate and the number of flows."""

RATES_MBPS: Final = (1, *range(4, 101, 4))
BUFFERS_BDP: Final = (0.5, 1.0, 2.0, 3.0, 4.0)
RTTS_MS: Final = tuple(range(20, 201, 4))
FLOWS: Final = tuple(range(1, 11))
"""Table 1."""

DURATION_S: Final = 100
NEWCOMER_S: Final = 20
"""When the newcomer starts; from then on throughputs count."""

#: Senders as the policies see them: all incumbents are one host, all newcomers another.
INCUMBENT_HOST: Final = "192.0.2.1"
NEWCOMER_HOST: Final = "192.0.2.2"


@dataclass(frozen=True)
class Published:
    """What the paper reports.

    Attributes
    ----------
    gain_percent : float; by how much the median JFI rises
    without, with_guard : float; the medians themselves, where they are given
    figure : str
    """

    gain_percent: float
    figure: str
    without: float | None = None
    with_guard: float | None = None


@dataclass(frozen=True)
class Challenge:
    """Who meets whom, and whose shares ought to be equal.

    Attributes
    ----------
    several : who brings several flows: 1 to 10 incumbents and one newcomer, or one incumbent and 1 to 10 newcomers
    among : shares are compared between services (senders) or between flows
    """

    name: str
    incumbent: str
    newcomer: str
    several: Literal["incumbents", "newcomers"]
    among: Literal["services", "flows"]
    policy: str
    published: Published


CHALLENGES: Final = {
    challenge.name: challenge
    for challenge in (
        Challenge("services", "reno", "reno", "newcomers", "services", SERVICE, Published(23.9, "7")),
        Challenge("reno-cubic", "reno", "cubic", "incumbents", "flows", FAIR_SHARE, Published(32.7, "8")),
        Challenge("vegas-cubic", "vegas", "cubic", "incumbents", "flows", FAIR_SHARE, Published(220.8, "9")),
        Challenge("cubic-bbr", "cubic", "bbr", "incumbents", "flows", FAIR_SHARE, Published(85.1, "10", 0.51, 0.94)),
    )
}


@dataclass(frozen=True)
class Case:
    """One configuration of one challenge."""

    challenge: str
    rate_mbps: int
    buffer_bdp: float
    rtt_ms: int
    flows: int
    seed: int

    def scenario(self) -> ScenarioDict:
        """Give the scenario: starts are spread over half a second, ACKs delayed as Linux does."""
        challenge = CHALLENGES[self.challenge]
        incumbents, newcomers = (1, self.flows) if challenge.several == "newcomers" else (self.flows, 1)
        dice = random.Random(f"starts {self.seed}")  # noqa: S311

        def sender(cca: str, start_s: float) -> dict[str, Any]:
            return flow(cca, self.rtt_ms, round(start_s + dice.random() / 2, 6), delayed_ack=2)

        tables = [sender(challenge.incumbent, 0.0) for _ in range(incumbents)]
        tables += [sender(challenge.newcomer, NEWCOMER_S) for _ in range(newcomers)]
        return dumbbell(
            f"guard-{self.challenge}-{self.seed}",
            "a configuration of CMU-CS-24-129, table 1",
            rate_mbps=self.rate_mbps,
            buffer=f"{self.buffer_bdp:g}bdp",
            flow_tables=tables,
            duration_s=DURATION_S,
            warmup_s=NEWCOMER_S,
            seed=self.seed,
        )

    def senders(self) -> list[str]:
        """Give each flow's sender."""
        several = CHALLENGES[self.challenge].several == "newcomers"
        incumbents, newcomers = (1, self.flows) if several else (self.flows, 1)
        return [INCUMBENT_HOST] * incumbents + [NEWCOMER_HOST] * newcomers


def draw(challenge: str, count: int, seed: int) -> Iterator[Case]:
    """Pick `count` configurations of `challenge` from table 1, uniformly; more of them begin with the same ones."""
    dice = random.Random(f"guard {challenge} {seed}")  # noqa: S311
    for number in range(count):
        yield Case(
            challenge,
            dice.choice(RATES_MBPS),
            dice.choice(BUFFERS_BDP),
            dice.choice(RTTS_MS),
            dice.choice(FLOWS),
            seed * 100_000 + number,
        )
