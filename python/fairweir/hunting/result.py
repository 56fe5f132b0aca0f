"""Result of a starvation hunt, and the file of the scenario that reproduces it.

D is the maximum jitter, and *ratio* is the largest throughput of a flow divided by the smallest. The hunt's *bound* is
the ratio above which a flow counts as starved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, Field

from fairweir.documents.atomic_write import write_text
from fairweir.documents.digits import plain
from fairweir.judging.outcome import Interval, Outcome
from fairweir.scenario.dumbbell import ScenarioDict

if TYPE_CHECKING:
    from pathlib import Path

FRCC_RATIO = 5.6
"""The largest throughput ratio of two flows that FRCC is proved to allow. Theorem 7.5.2 of the thesis (6.2 of the FRCC
paper) bounds by 6.6 a flow's estimate N_C of the number of flows, and the ratio is N_C - 1 (docs/errata.md)."""
BOUND = 7.0
BOUND_REASON = (
    "7 is above known cases of bounded unfairness (2.7 and 3.2 for Reno and Cubic with delayed ACKs, "
    f"starvation paper section 5.4; {FRCC_RATIO:g} proved for FRCC, thesis theorem 7.5.2: N_C - 1, with N_C at most "
    "6.6) and below the published starvations (9.6 to 13, section 5)"
)
OutcomeWord = Literal["starvation", "bounded-unfairness", "none", "failed"]
Victim = Literal["jittered", "others", "either"]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class GrowthPoint(_Model):
    """The ratio at one value of the varied quantity."""

    x: float
    ratio: Interval
    control: Interval
    """The ratio without jitter."""


class Growth(_Model):
    """The ratio as a function of the link rate or of the run's duration."""

    axis: Literal["rate_mbps", "duration_s"]
    points: list[GrowthPoint]
    exponent: float
    """Slope of a fit of ln(ratio) as a linear function of ln(x)."""


class HuntResult(_Model):
    """Result of the hunt; ``model_dump(mode="json")`` is its entry in ``results.json``."""

    cca: str
    outcome: OutcomeWord
    bound: float
    bound_reason: str = BOUND_REASON
    kind: str | None = None
    """Kind of the jitter; "none" if the ratio exceeds the bound without jitter."""
    kind_text: str = ""
    d_ms: float | None = None
    """Smallest D with which the ratio is confirmed to exceed the bound."""
    d_below_ms: float | None = None
    """Largest D below `d_ms` with which, for the same kind and link, the ratio did not exceed the bound."""
    rate_mbps: float | None = None
    buffer: str | None = None
    duration_s: float | None = None
    ratio: Interval | None = None
    """Interval of the ratio over the confirming seeds; the search did not use these seeds."""
    seeds: list[int] = Field(default_factory=list)
    control: Interval | None = None
    """The ratio on the same link without jitter."""
    victim: Victim | None = None
    victim_mbps: float | None = None
    winner_mbps: float | None = None
    growth: list[Growth] = Field(default_factory=list)
    smallest_d_ms: dict[str, float | None] = Field(default_factory=dict)
    """For each kind of jitter, the minimum D with which runs of the search exceeded the bound on some link; None if no
    run did."""
    left_out: list[str] = Field(default_factory=list)
    """Links on which the ratio without jitter exceeds half the bound in a run. On such a link, a large ratio with
    jitter could not be attributed to the jitter.
    """
    largest_ratio: float | None = None
    """Largest ratio in the runs of the search's coarse grid."""
    rtprop_ms: float
    flows: int
    searched_rates_mbps: list[float]
    searched_buffers: list[str]
    searched_d_ms: list[float]
    scenario: ScenarioDict | None = None
    """The scenario that reproduces the result, with the first confirming seed; `save` writes this scenario."""
    runs: int
    packets: int
    budget_exhausted: bool
    faults: list[str] = Field(default_factory=list)

    @property
    def found(self) -> bool:
        """Whether there is a confirmed scenario whose ratio exceeds the bound."""
        return self.outcome in ("starvation", "bounded-unfairness")

    @property
    def verdict(self) -> Outcome:
        """The verdict on the claim that no jitter on one flow starves a flow; ``fails`` also if all runs failed."""
        if self.outcome in ("starvation", "failed"):
            return Outcome.FAILS
        is_open = self.outcome == "bounded-unfairness" or self.budget_exhausted
        return Outcome.UNKNOWN if is_open else Outcome.HOLDS

    @property
    def text(self) -> str:
        """The result as a sentence."""
        if self.outcome == "failed":
            return f"no answer: {self.faults[0]}"
        rates = f"{plain(self.searched_rates_mbps[0])} to {plain(self.searched_rates_mbps[-1])} Mbps"
        if self.ratio is None or self.d_ms is None:
            return f"no ratio above {plain(self.bound)} found up to D = {plain(max(self.searched_d_ms))} ms, {rates}"
        what = "starvation" if self.outcome == "starvation" else "bounded unfairness"
        cause = (
            "without jitter" if self.kind == "none" else f"with {self.kind} of D = {plain(self.d_ms, 3)} ms on one flow"
        )
        return (
            f"{what} {cause} at {plain(self.rate_mbps or 0.0)} Mbps: ratio {plain(self.ratio.value, 3)} "
            f"[{plain(self.ratio.lo, 3)}, {plain(self.ratio.hi, 3)}], {self.victim} flow loses"
        )


def save(result: HuntResult, path: Path) -> str:
    """Write the scenario that reproduces the result to a file, and return the command that runs the file.

    Parameters
    ----------
    path : path of the TOML file, in an existing directory

    Raises
    ------
    ValueError : no scenario was found
    """
    from fairweir.scenario.model import Scenario

    if result.scenario is None:
        raise ValueError("the hunt found no scenario to store")
    write_text(path, Scenario.from_dict(result.scenario).to_toml())
    return f"fairweir run {path}"
