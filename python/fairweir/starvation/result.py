"""Result of the construction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict

from fairweir.documents.atomic_write import write_text
from fairweir.documents.filenames import slug
from fairweir.hunting.result import HuntResult
from fairweir.judging.outcome import Interval, Outcome

if TYPE_CHECKING:
    from pathlib import Path

Word = Literal["starves", "needs-more-jitter", "not-delay-convergent", "not-shown"]

SETTLED_SHARE = 0.05
"""The RTT has settled if the extremes of the last quarter and of the last half of a run differ by less than this
fraction of the range (docs/derivations.md)."""
SETTLED_RTPROPS = 0.01
"""The tolerance in rtprops: the extremes of a randomized CCA keep growing because of sampling noise."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Point(_Model):
    """One flow alone on an ideal link.

    RTTs are those of the last half of the run, in ms; fields with ``late`` are for its last quarter.
    """

    rate_mbps: float
    rtprop_ms: float
    duration_s: float
    throughput_mbps: float = 0.0
    dmin_ms: float = 0.0
    dmax_ms: float = 0.0
    late_dmin_ms: float = 0.0
    late_dmax_ms: float = 0.0
    fault: str = ""
    """Why there are no numbers, if the run failed."""

    @property
    def delta_ms(self) -> float:
        """The paper's delta(C) = d_max(C) - d_min(C)."""
        return self.dmax_ms - self.dmin_ms

    @property
    def efficiency(self) -> float:
        """The paper's f at this rate."""
        return self.throughput_mbps / self.rate_mbps

    @property
    def settles(self) -> bool:
        """Whether the RTT stays in one range (definition 1), as far as the run shows."""
        creep = max(abs(self.late_dmax_ms - self.dmax_ms), abs(self.late_dmin_ms - self.dmin_ms))
        return not self.fault and creep <= max(SETTLED_SHARE * self.delta_ms, SETTLED_RTPROPS * self.rtprop_ms)


class Pair(_Model):
    """Two rates whose ideal links look alike to within `d_ms`, and whose throughputs differ widely."""

    slow_mbps: float
    fast_mbps: float
    slow_throughput_mbps: float
    """Throughput of a flow alone on the slow link."""
    fast_throughput_mbps: float
    case: Literal[1, 2]
    """Case of the proof: 1 if the shared link has a standing queue, 2 if its queue is empty."""
    standing_ms: float
    """The shared link's initial queue, as a delay."""
    d_ms: float
    """Jitter with which each flow observes its own link."""

    @property
    def ratio(self) -> float:
        """Throughput alone on the fast link divided by the throughput alone on the slow link."""
        return self.fast_throughput_mbps / self.slow_throughput_mbps


class Confirmation(_Model):
    """Both flows on one link, each behind jitter of at most `d_ms` that imitates its own link; one value per seed."""

    d_ms: float
    link_mbps: float
    seeds: list[int]
    ratios: list[float]
    ratio: Interval
    slow_mbps: float
    fast_mbps: float
    violations: list[int]
    """Packets after the warm-up whose jitter would have had to be outside [0, d_ms] for a perfect imitation."""
    starved: int
    """Number of seeds whose ratio is at least the requested one."""


class Certified(_Model):
    """The certificate's file, and its claim."""

    file: str
    packets: int
    span_s: float
    d_ms: float
    """The minimum jitter bound with which both recorded trajectories fit one link."""
    link_mbps: float
    backlog_ms: float
    """The shared link's initial queue, as a delay."""
    ratio: float


class Underuse(_Model):
    """Theorem 2: one flow on a link of `link_mbps` that looks like one of `shown_mbps` through jitter of at most
    `d_ms`.
    """

    d_ms: float
    shown_mbps: float
    link_mbps: float
    utilization: float
    violations: int


class Starvation(_Model):
    """The result for one CCA; ``model_dump(mode="json")`` is the output of ``--json``."""

    cca: str
    word: Word
    why: str
    asked_ratio: float
    jitter_ms: float
    rtprop_ms: float
    points: list[Point]
    delta_max_ms: float | None = None
    efficiency: float | None = None
    pair: Pair | None = None
    confirmation: Confirmation | None = None
    certificate: Certified | None = None
    no_certificate: str = ""
    """Why there is no certificate, if one was requested."""
    underuse: Underuse | None = None
    hunt: HuntResult | None = None
    """The search for starving jitter, if the construction does not apply."""
    scenarios: dict[str, dict[str, Any]] = {}
    """The scenarios that show the result, by file stem."""

    @property
    def verdict(self) -> Outcome:
        """The verdict on the claim that no jitter up to `jitter_ms` starves a flow."""
        if self.word == "needs-more-jitter" and self.hunt is not None and self.hunt.found:
            return Outcome.UNKNOWN
        return {
            "starves": Outcome.FAILS,
            "needs-more-jitter": Outcome.HOLDS,
            "not-delay-convergent": Outcome.INFO,
            "not-shown": Outcome.UNKNOWN,
        }[self.word]

    def save(self, directory: Path) -> list[Path]:
        """Write the scenarios, each completely or not at all, and return their paths."""
        from fairweir.scenario.model import Scenario

        return [
            write_text(directory / f"{slug(stem)}.toml", Scenario.from_dict(document, source=stem).to_toml())
            for stem, document in self.scenarios.items()
        ]
