"""The challenges of cooperative rate control, as data: competing flows and the published result (CMU-CS-24-129 §6).

Incumbents share a bottleneck with newcomers; a receiver's policy is to make their shares equal. Table 1 has the ranges
of links and flows, from which :func:`draw` draws configurations.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from fairweir.guard.configurations import BUFFERS_BDP, FLOWS, NEWCOMER_AT, RATES_MBPS, RTTS_MS, Network
from fairweir.scenario.dumbbell import ARRIVAL_SPREAD, ScenarioDict, draw_starts, dumbbell_document, flow
from fairweir.units import Duration, Rate

SERVICE: Final = '[service]\ngroup = "name"\n'
"""The policy for the first challenge; a service whose name is unknown is identified by its sender."""

FAIR_SHARE: Final = '[flow]\nmodel = "fair-share"\n'
"""The policy for the other challenges, with a classifier that knows the link's rate and the number of flows."""

DURATION: Final = Duration.from_s(100)
#: Rate of an application-limited flow as a fraction of its fair share; the report states only that it is below 1.
LIMITED_TO: Final = 0.5

#: Addresses of the senders in policies: one host sends all incumbents, another host all newcomers.
INCUMBENT_HOST: Final = "192.0.2.1"
NEWCOMER_HOST: Final = "192.0.2.2"

Deployment = Literal["all", "receiver 1", "receiver 2"]
"""Receivers with a guard: receiver 1 has half of the incumbents, receiver 2 the other half and the newcomers."""

Claim = Literal["gains", "keeps"]
"""The claim about policies: fairness increases, or fairness and utilization do not change."""


@dataclass(frozen=True)
class Published:
    """The report's claim about policies.

    Attributes
    ----------
    source : str; figure, table or section of the report
    gain_percent : float; increase of the median of Jain's fairness index (JFI), %
    jain : pair; median JFI without and with policies
    """

    source: str
    claim: Claim = "gains"
    gain_percent: float | None = None
    jain: tuple[float, float] | None = None

    @property
    def words(self) -> str:
        """Text in tables."""
        medians = "" if self.jain is None else f"from {self.jain[0]:.2f} to {self.jain[1]:.2f}"
        gain = "" if self.gain_percent is None else f"{self.gain_percent:+.1f} %"
        if medians and gain:
            return f"{medians} ({gain})"
        return medians or gain or ("increases" if self.claim == "gains" else "no change")


@dataclass(frozen=True)
class Challenge:
    """Competing flows whose shares should be equal.

    Attributes
    ----------
    published : deployment of guards -> published claim; all of these deployments are run
    several : the side with several flows: 1 to 10 incumbents and one newcomer, or one incumbent and 1 to 10 newcomers
    among : whether shares are compared between services (senders) or between flows
    policy : TOML; the challenge's policy
    limited : the flows whose applications send less than their fair share
    min_flows : minimum number of flows on the side with several flows
    """

    name: str
    incumbent: str
    newcomer: str
    published: Mapping[Deployment, Published] = field(hash=False)
    several: Literal["incumbents", "newcomers"] = "incumbents"
    among: Literal["services", "flows"] = "flows"
    policy: str = FAIR_SHARE
    limited: Literal["none", "incumbents", "newcomers", "all"] = "none"
    min_flows: int = 1


#: Linux's CCAs that both worlds have; DCTCP, which is not designed for the Internet, is excluded as in the report.
LINUX: Final = ("bbr", "cubic", "highspeed", "reno", "vegas")
CHALLENGES: Final = {
    challenge.name: challenge
    for challenge in (
        Challenge(
            "services",
            "reno",
            "reno",
            {"all": Published("figure 7", gain_percent=23.9)},
            several="newcomers",
            among="services",
            policy=SERVICE,
        ),
        Challenge("reno-cubic", "reno", "cubic", {"all": Published("figure 8", gain_percent=32.7)}),
        Challenge("vegas-cubic", "vegas", "cubic", {"all": Published("figure 9", gain_percent=220.8)}),
        Challenge("cubic-bbr", "cubic", "bbr", {"all": Published("figure 10", gain_percent=85.1, jain=(0.51, 0.94))}),
        *(
            Challenge(f"cubic-many-{cca}", "cubic", cca, {"all": Published("figure 11")}, several="newcomers")
            for cca in LINUX
        ),
        Challenge("all-limited", "cubic", "bbr", {"all": Published("section 6.2.4", "keeps")}, limited="all"),
        Challenge(
            "newcomer-limited",
            "cubic",
            "bbr",
            {"all": Published("section 6.2.4", "keeps", jain=(0.93, 0.93))},
            limited="newcomers",
        ),
        Challenge(
            "incumbents-limited",
            "cubic",
            "bbr",
            {"all": Published("section 6.2.4", gain_percent=44.5, jain=(0.40, 0.57))},
            limited="incumbents",
        ),
        Challenge("cubic-highspeed", "cubic", "highspeed", {"all": Published("figure 12")}),
        Challenge(
            "deployments",
            "cubic",
            "bbr",
            {
                "receiver 1": Published("table 2", "keeps", jain=(0.68, 0.66)),
                "receiver 2": Published("table 2", jain=(0.68, 0.84)),
                "all": Published("table 2", jain=(0.68, 0.87)),
            },
            min_flows=2,
        ),
    )
}

#: Challenges run by default.
USUAL: Final = ("services", "reno-cubic", "vegas-cubic", "cubic-bbr")


@dataclass(frozen=True)
class Case:
    """One configuration of one challenge."""

    challenge: str
    rate_mbps: int
    buffer_bdp: float
    rtt_ms: int
    flows: int
    seed: int
    duration: Duration = DURATION

    @property
    def rules(self) -> Challenge:
        """The challenge."""
        return CHALLENGES[self.challenge]

    @property
    def counts(self) -> tuple[int, int]:
        """Numbers of incumbents and newcomers; incumbents come first in lists of flows."""
        return (1, self.flows) if self.rules.several == "newcomers" else (self.flows, 1)

    @property
    def network(self) -> Network:
        """The link and the number of flows, in the form in which training uses them."""
        return Network(self.rate_mbps, self.rtt_ms, self.buffer_bdp, self.flows)

    def scenario(self) -> ScenarioDict:
        """Return the scenario. Starts are spread over half a second, and ACKs are delayed as in Linux."""
        rules, (incumbents, newcomers) = self.rules, self.counts
        dice = random.Random(f"starts {self.seed}")  # noqa: S311
        rate, rtt = Rate.from_mbps(self.rate_mbps), Duration.from_ms(self.rtt_ms)
        limit = LIMITED_TO * rate / (incumbents + newcomers)
        newcomer = NEWCOMER_AT * self.duration

        def senders(
            party: Literal["incumbents", "newcomers"], cca: str, n: int, start: Duration
        ) -> list[dict[str, Any]]:
            keys: dict[str, Any] = {"delayed_ack": 2}
            if rules.limited in (party, "all"):
                keys["app_rate"] = str(limit.rounded(Rate.from_mbps(0.001)))
            starts = draw_starts(dice, n, ARRIVAL_SPREAD, after=start)
            name = party.removesuffix("s")
            return [flow(cca, rtt, start, id=f"{name}-{i}", **keys) for i, start in enumerate(starts, 1)]

        tables = senders("incumbents", rules.incumbent, incumbents, Duration.from_s(0))
        tables += senders("newcomers", rules.newcomer, newcomers, newcomer)
        return dumbbell_document(
            f"guard-{self.challenge}-{self.seed}",
            "a configuration of CMU-CS-24-129, table 1",
            rate=rate,
            buffer=f"{self.buffer_bdp:g}bdp",
            flow_tables=tables,
            duration=self.duration,
            warmup=newcomer,
            seed=self.seed,
        )

    def senders(self, deployment: Deployment = "all") -> list[str | None]:
        """Return each flow's sender; None for a flow whose receiver has no guard."""
        incumbents, newcomers = self.counts
        receivers = [1] * (incumbents // 2) + [2] * (incumbents - incumbents // 2 + newcomers)
        hosts = [INCUMBENT_HOST] * incumbents + [NEWCOMER_HOST] * newcomers
        return [
            host if deployment in ("all", f"receiver {receiver}") else None
            for host, receiver in zip(hosts, receivers, strict=True)
        ]


def draw(
    challenge: str, count: int, seed: int, *, duration: Duration = DURATION, avoid: Collection[Network] = ()
) -> Iterator[Case]:
    """Draw `count` configurations of `challenge` uniformly from table 1; a larger count only adds configurations.

    Parameters
    ----------
    avoid : networks to skip; this does not change the other configurations of the draw
    """
    dice = random.Random(f"guard {challenge} {seed}")  # noqa: S311
    flows = [n for n in FLOWS if n >= CHALLENGES[challenge].min_flows]
    number = found = 0
    while found < count:
        case = Case(
            challenge,
            dice.choice(RATES_MBPS),
            dice.choice(BUFFERS_BDP),
            dice.choice(RTTS_MS),
            dice.choice(flows),
            seed * 100_000 + number,
            duration,
        )
        number += 1
        if case.network not in avoid:
            found += 1
            yield case
