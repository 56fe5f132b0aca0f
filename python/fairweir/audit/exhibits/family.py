"""Exhibit families: scenarios along an axis, their metrics and claims."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from fairweir.ccas.cca_spec import table_of
from fairweir.ccas.lookup import is_of_stack
from fairweir.documents.arguments import words_for_enums
from fairweir.judging.summary import Summary

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fairweir.audit.axis import Axis
    from fairweir.judging.interval import Scale
    from fairweir.judging.outcome import Direction, Threshold
    from fairweir.play.run import VirtualWorld
    from fairweir.scenario.dumbbell import ScenarioDict


class Depth(StrEnum):
    """Effort of an audit."""

    QUICK = "quick"
    DEFAULT = "default"
    DEEP = "deep"


OTHER_SEEDS = " (other seeds)"
"""Appended to the name of a CCA that is compared with itself."""


@dataclass(frozen=True)
class Subject:
    """The CCA under audit."""

    name: str
    """Name given by the user, and in a world with hosts their setting."""
    cca: str
    """Name in scenarios: a file has its absolute path, so that a scenario can be replayed from any directory."""
    buffer: str
    """Bottleneck buffer in families that do not vary the buffer (FRCC section 7).

    3 BDP for CCAs that fill any buffer; otherwise a buffer that never overflows.
    """
    seed_shift: int = 0
    """Added to the seeds of the subject's scenarios: if a CCA is compared with itself, one side needs other seeds."""
    given: str = ""
    """The CCA as the user gave it."""
    world: VirtualWorld = "sim"
    wake: str | None = None
    """``[host] wake`` of its scenarios in the world of QUIC stacks; None in the simulator, which has no hosts."""

    @property
    def stem(self) -> str:
        """The name without directories and suffixes, with ``-`` for ``:``; laws and file names use it."""
        name = self.cca
        if is_of_stack(table_of(name)["name"]):
            name = name.replace("/", "-")
        name = name.replace("\\", "/").rsplit("/", 1)[-1]
        for suffix in (".bpf.c", ".so", ".py", ".toml"):
            name = name.replace(suffix, "")
        return name.replace(":", "-")


@dataclass(frozen=True)
class Place:
    """A point on a family's axis."""

    x: float
    label: str


@dataclass(frozen=True)
class Series:
    """Throughput over time."""

    t_s: Sequence[float]
    """End of each interval, s."""
    throughput_mbps: Sequence[Sequence[float]]
    """One row per flow, one value per interval."""


@dataclass(frozen=True)
class Reading:
    """Input of a metric."""

    summary: Summary
    place: Place
    measured_s: float
    """Duration without warm-up."""
    series: Series | None = None
    """Time series, for families that request one."""


class View(StrEnum):
    """Quantity on the axis of a metric."""

    SPREAD = "spread"
    """The axis starts at 0; it is logarithmic if the values spread over decades."""
    UNIT = "unit"
    """The axis shows the range [0, 1], to which the metric is limited, at least approximately."""
    EVEN = "even"
    """Ratios of rates: the axis is logarithmic and always contains 1, an even split."""


@dataclass(frozen=True)
class Reference:
    """A gray curve in a metric's figure: the values under a definition of fairness that does not depend on the CCA."""

    label: str
    at: Callable[[float], float]
    """Function from x on the family's axis to the value of the metric."""
    dash: str = "dash"
    """Plotly's dash pattern."""


@dataclass(frozen=True)
class Metric:
    """A number computed from each run."""

    name: str
    unit: str
    scale: Scale
    read: Callable[[Reading], float | None]
    """Function that returns the metric of a run; None where the metric is undefined."""
    label: str
    """Label of a figure's axis, with the unit."""
    view: View = View.SPREAD
    references: tuple[Reference, ...] = ()
    """Curves of definitions of fairness, over the axis of the family that has the metric."""
    better: Direction | None = None
    """Direction in which values are better, for comparisons with a reference; None if neither direction is better."""
    relevant: float | None = None
    """The metric's own smallest relevant difference, in `unit`; None if it has none. It is the parameter `absolute` of
    :func:`fairweir.judging.difference.smallest_relevant`.
    """
    is_grid: bool = False
    """Drawn as a grid of CCAs and categories, with a color scale that is symmetric around 1 (an even split)."""


class Reduction(StrEnum):
    """Reduction of a curve to one number."""

    WORST = "worst"
    """The value at the point that is worst for the claim: a claim holds if it holds at every point."""
    SLOPE = "slope"
    """Exponent of the metric against the axis (least squares on logarithms, per seed)."""


@dataclass(frozen=True)
class Claim:
    """A statement about a metric, judged if it has a threshold."""

    metric: str
    title: str
    text: str
    threshold: Threshold | None = None
    reduction: Reduction = Reduction.WORST
    expectations: Mapping[str, str] = field(default_factory=dict)
    """For each CCA, by name: the published value, or a value that follows from the CCA's equations."""

    @property
    def key(self) -> str:
        """Key that is unique among the claims of a family, even on the same metric."""
        return self.metric if self.reduction is Reduction.WORST else f"{self.metric}-growth"


@dataclass(frozen=True)
class Law:
    """Theoretical value of a metric: a formula and its value along the axis."""

    formula: str
    value: Callable[[float], float | None]
    """Function from x to the value; None where theory has no value."""


@dataclass(frozen=True)
class Family:
    """Scenarios that differ in one quantity: the axis."""

    name: str
    title: str
    question: str
    setup: str
    axis: Axis
    places: Mapping[Depth, Sequence[Place]]
    scenario: Callable[[Subject, Place, int, float], ScenarioDict]
    """Function from subject, place, seed and patience to a scenario; durations are multiplied by `patience`."""
    metrics: Sequence[Metric]
    claims: Sequence[Claim]
    laws: Callable[[str], Mapping[str, Law]] = lambda cca: {}
    """Function from a CCA's name to the laws of metrics, by the metrics' names."""
    traced: Callable[[Depth], Sequence[float]] = lambda depth: ()
    """Points of the axis for which a time series is recorded, for figures."""
    series_interval: str | None = None
    """Interval of the time series that metrics read, if they read one."""
    seeds: int | None = None
    """Fixed number of seeds, if the depth's number would be too expensive or too small."""

    @words_for_enums
    def place(self, depth: Depth, index: int) -> Place:
        """Return the point at `index` of the battery of `depth`."""
        return self.places[depth][index]
