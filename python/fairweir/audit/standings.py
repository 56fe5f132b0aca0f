"""Schema of a comparison with a reference: one standing per metric of an exhibit, in ``results.json``."""

from __future__ import annotations

import math
from collections import Counter

from pydantic import BaseModel, ConfigDict, Field

from fairweir.documents.arguments import words_for_enums
from fairweir.documents.digits import plain
from fairweir.judging.difference import Relation
from fairweir.judging.interval import CONFIDENCE, Scale
from fairweir.judging.outcome import Direction
from fairweir.show import formats

COUNTED = (Relation.WORSE, Relation.BETTER, Relation.SAME, Relation.UNDECIDED)
"""In the order of headlines and tables."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", ser_json_inf_nan="null")


class Side(_Model):
    """One of the two runs that show a difference."""

    cca: str
    value: float | None = None
    scenario: str | None = None
    """File relative to ``results.json``; written for metrics that are worse."""
    scenario_toml: str | None = None
    replay: str | None = None


class Standing(_Model):
    """One metric of one exhibit: a candidate compared with the reference at the deciding point of the axis."""

    name: str
    """``family.metric``."""
    family: str
    metric: str
    title: str
    unit: str = ""
    scale: Scale = Scale.REAL
    better: Direction | None = None
    """Which values are better; None for verdicts of searches."""
    relation: Relation
    why: str
    at: str = ""
    """Point on the axis that decides."""
    reference: float | None = None
    """Mean over the pairs (geometric for ratios), as `candidate`."""
    candidate: float | None = None
    difference: float | None = None
    """Candidate minus reference; for ratios and factors candidate divided by reference. So are `lo`, `hi` and
    `relevant`."""
    lo: float | None = None
    hi: float | None = None
    confidence: float | None = None
    """Of the interval; above 0.95 where the intervals of several differences must hold together."""
    relevant: float | None = None
    """Smallest relevant difference."""
    pairs: int = 0
    points: int = 0
    """Points of the axis that were compared."""
    worse_at: list[str] = Field(default_factory=list)
    better_at: list[str] = Field(default_factory=list)
    undecided_at: list[str] = Field(default_factory=list)
    shown_by: list[Side] = Field(default_factory=list)
    """Candidate, then reference: the pair of runs whose difference is nearest the mean, for metrics that are worse."""

    @property
    def change(self) -> str:
        """The difference with its interval and unit: ``+3.1 [+2.8, +3.4] ms``, ``× 1.41 [1.32, 1.51]``."""
        if self.difference is None:
            return ""
        is_factor = self.scale in (Scale.RATIO, Scale.FACTOR)
        ends = "" if self.lo is None or self.hi is None or self.lo == self.hi else _ends(self.lo, self.hi, is_factor)
        value = f"× {_factor(self.difference)}" if is_factor else _signed(self.difference)
        return " ".join(part for part in (value, ends, self.unit) if part)

    @property
    def points_decided(self) -> str:
        """The number of points with this verdict, ``1 of 2``; the reason where no pair of runs decides."""
        if not self.pairs:
            return self.why
        decided = {
            Relation.WORSE: self.worse_at,
            Relation.BETTER: self.better_at,
            Relation.UNDECIDED: self.undecided_at,
        }.get(self.relation)
        return f"{self.points if decided is None else len(decided)} of {self.points}"

    @property
    def values(self) -> str:
        """The means, reference first."""
        return f"{formats.number(self.reference)} → {formats.number(self.candidate)}"


class Relative(_Model):
    """One candidate compared with its reference."""

    cca: str
    reference: str
    baseline: str = ""
    """Name or file of the baseline that the reference's results come from; empty if it ran in this audit."""
    version: str = ""
    """Version of fairweir that ran the reference."""
    standings: list[Standing] = Field(default_factory=list)
    suspected: int = 0
    """Differences that the first seeds suggested, in the whole audit: as many had to be confirmed with new seeds."""
    not_compared: list[str] = Field(default_factory=list)
    """Families and points, each with the reason."""
    notes: list[str] = Field(default_factory=list)
    """Reasons for care, such as another version of fairweir."""

    @words_for_enums
    def of(self, relation: Relation) -> list[Standing]:
        """Select the metrics with one verdict."""
        return [standing for standing in self.standings if standing.relation is relation]

    @property
    def is_worse(self) -> bool:
        """Return whether any metric is worse: the criterion of a gate."""
        return bool(self.of(Relation.WORSE))

    @property
    def is_empty(self) -> bool:
        """Return whether there is nothing to judge by: no pair of runs, and no verdict without one."""
        return all(s.relation is Relation.UNDECIDED and not s.pairs for s in self.standings)

    @property
    def method(self) -> str:
        """Describe how verdicts were reached, in a sentence."""
        each = 1.0 - (1.0 - CONFIDENCE) / max(self.suspected, 1)
        return (
            f"The first seeds suggested {self.suspected} differences in this audit; each was tested on new seeds, run"
            f" in pairs, at {plain(100 * each, 5)} % (95 % for all together, Bonferroni)."
        )

    @property
    def headline(self) -> str:
        """Count the verdicts: ``2 worse, 5 better, 60 same, 8 undecided``."""
        counts = Counter(standing.relation for standing in self.standings)
        return ", ".join(f"{counts[relation]} {relation}" for relation in COUNTED if counts[relation]) or "not compared"


def _factor(value: float) -> str:
    return formats.number(value)


def _signed(value: float, places: int | None = None) -> str:
    text = formats.number(value, places)
    return f"+{text}" if value > 0 else text


def _ends(lo: float, hi: float, is_factor: bool) -> str:
    if is_factor:
        return f"[{_factor(lo)}, {_factor(hi)}]"
    if not (math.isfinite(lo) and math.isfinite(hi)):
        return ""
    places = max(min(formats.decimals(lo) if lo else 9, formats.decimals(hi) if hi else 9), 0)
    is_tiny = any(end and abs(end) < 1e-4 for end in (lo, hi))
    return f"[{_signed(lo, None if is_tiny else places)}, {_signed(hi, None if is_tiny else places)}]"
