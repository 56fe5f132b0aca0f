"""Result of the construction of starvation: a network in which jitter starves a flow of a CCA.

The construction measures one flow alone on ideal links of many rates (points), finds a pair of rates that jitter of at
most D can make look alike to a flow, and runs two flows on one shared link, on which jitter imitates one of the two
links for each flow. Starvation paper, theorems 1 and 2; s is the required throughput ratio.
"""

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
"""Tolerance for a settled RTT, as a fraction of the range of RTTs. The RTT has settled if its minimum and its maximum
in the last quarter of a run differ by at most this tolerance from those in the last half (docs/derivations.md)."""
SETTLED_RTPROPS = 0.01
"""Minimum of the tolerance for a settled RTT, in units of rtprop. Without a minimum, a randomized CCA would never
settle, because its range of RTTs grows with the number of samples."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Point(_Model):
    """Measured result of one flow alone on an ideal link of one rate.

    ``dmin_ms`` and ``dmax_ms`` are the minimum and maximum RTT in the last half of the run. Fields with ``late`` are
    for the last quarter.
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
    """The reason why the run failed; empty if it did not fail."""

    @property
    def delta_ms(self) -> float:
        """Maximum RTT minus minimum RTT; delta(C) in the paper, where C is the link rate."""
        return self.dmax_ms - self.dmin_ms

    @property
    def efficiency(self) -> float:
        """Throughput divided by link rate; f in the paper."""
        return self.throughput_mbps / self.rate_mbps

    @property
    def settles(self) -> bool:
        """Whether the RTT stays in one range in the run, as definition 1 of the paper requires of converged flows."""
        creep = max(abs(self.late_dmax_ms - self.dmax_ms), abs(self.late_dmin_ms - self.dmin_ms))
        return not self.fault and creep <= max(SETTLED_SHARE * self.delta_ms, SETTLED_RTPROPS * self.rtprop_ms)


class Pair(_Model):
    """Two link rates that jitter of at most `d_ms` can make look alike, but at which the flow's throughputs differ."""

    slow_mbps: float
    fast_mbps: float
    slow_throughput_mbps: float
    """Throughput of a flow alone on the link of rate `slow_mbps`."""
    fast_throughput_mbps: float
    case: Literal[1, 2]
    """Case of the proof: 1 if the shared link has a standing queue, 2 if its queue is empty."""
    standing_ms: float
    """The shared link's initial queue, as a delay."""
    d_ms: float
    """Maximum jitter that is required to imitate both links on the shared link."""

    @property
    def ratio(self) -> float:
        """Throughput of a flow alone on the faster link divided by its throughput alone on the slower link."""
        return self.fast_throughput_mbps / self.slow_throughput_mbps


class Confirmation(_Model):
    """Runs of two flows on one shared link, on which jitter of at most `d_ms` imitates a link of a pair for each flow.

    Lists have one element per seed; ``slow_mbps`` and ``fast_mbps`` are mean throughputs.
    """

    d_ms: float
    link_mbps: float
    seeds: list[int]
    ratios: list[float]
    ratio: Interval
    slow_mbps: float
    fast_mbps: float
    violations: list[int]
    """Number of packets after the warm-up for which a perfect imitation would require jitter outside [0, d_ms]."""
    starved: int
    """Number of seeds with a throughput ratio of at least s."""


class Certified(_Model):
    """The file of a certificate, and the numbers in the certificate's claim.

    A certificate records two flows, each alone on an ideal link, and the jitter with which both records are possible
    together on one link.
    """

    file: str
    packets: int
    span_s: float
    d_ms: float
    """Maximum jitter with which both records are possible on the shared link."""
    link_mbps: float
    backlog_ms: float
    """The shared link's initial queue, as a delay."""
    ratio: float


class Underuse(_Model):
    """Theorem 2: one flow on a link of rate `link_mbps`, on which jitter of at most `d_ms` imitates rate `shown_mbps`.

    ``violations`` is the number of packets for which a perfect imitation would require jitter outside [0, d_ms].
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
    """The reason why there is no certificate, if one was requested."""
    underuse: Underuse | None = None
    hunt: HuntResult | None = None
    """The search for starving jitter, if the construction does not apply."""
    scenarios: dict[str, dict[str, Any]] = {}
    """The scenarios that show the result, by file stem."""

    @property
    def verdict(self) -> Outcome:
        """The verdict on the claim that jitter of at most `jitter_ms` starves no flow."""
        if self.word == "needs-more-jitter" and self.hunt is not None and self.hunt.found:
            return Outcome.UNKNOWN
        return {
            "starves": Outcome.FAILS,
            "needs-more-jitter": Outcome.HOLDS,
            "not-delay-convergent": Outcome.INFO,
            "not-shown": Outcome.UNKNOWN,
        }[self.word]

    def save(self, directory: Path) -> list[Path]:
        """Write each scenario to a file in `directory`, completely or not at all; return the paths."""
        from fairweir.scenario.model import Scenario

        return [
            write_text(directory / f"{slug(stem)}.toml", Scenario.from_dict(document, source=stem).to_toml())
            for stem, document in self.scenarios.items()
        ]
