"""The profile of a CCA: its place among known CCAs, property by property.

The values of the known CCAs are shipped in ``known/<depth>.json``, measured by ``fairweir audit CCAS --save-known``.
They are those of the claims' deciding points; a profile ranks them and judges nothing.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from fairweir.audit.exhibits.registry import FAMILIES
from fairweir.documents.arguments import words_for_enums
from fairweir.documents.atomic_write import write_text
from fairweir.judging.outcome import Direction

if TYPE_CHECKING:
    from fairweir.audit.exhibits.family import Depth, Metric
    from fairweir.audit.results import AuditResults, CcaResults

FOLDER = Path(__file__).parent / "known"
FORMAT: Literal["fairweir-known/1"] = "fairweir-known/1"


@dataclass(frozen=True)
class Property:
    """A property that CCAs are ranked by: the value of one exhibit."""

    name: str
    exhibit: str

    @property
    def metric(self) -> Metric:
        """The exhibit's metric."""
        family, metric = self.exhibit.split(".")
        return next(m for m in FAMILIES[family].metrics if m.name == metric)

    def is_better(self, one: float, other: float) -> bool:
        """Return whether a value is better than another by more than 1 %: smaller differences share a rank."""
        gap = one - other if self.metric.better is Direction.AT_LEAST else other - one
        return gap > 0.01 * max(abs(one), abs(other))


PROPERTIES = (
    Property("fair shares", "ideal-rate.ratio"),
    Property("utilization", "ideal-rate.utilization"),
    Property("standing queue", "deep-buffer.queue_by_rtprop"),
    Property("rtprop bias", "rtprop-ratio.ratio_by_rtprops"),
    Property("several bottlenecks", "parking-lot.short_by_long_by_square"),
    Property("ACK aggregation", "aggregation-hold.ratio"),
    Property("random jitter", "random-jitter-48mbps-40ms.utilization"),
    Property("random loss", "random-loss.solo_utilization"),
    Property("policer", "policer.loss_rate"),
    Property("many flows", "many-flows.jain"),
    Property("convergence", "arrivals.late_jain"),
    Property("rate changes", "rate-steps.adaptation_s"),
    Property("harm done", "coexistence.harm_done"),
    Property("harm taken", "coexistence.harm_taken"),
    Property("short flows", "finite-flows.slowdown"),
)


class Known(BaseModel):
    """Values of the known CCAs in one battery."""

    model_config = ConfigDict(extra="forbid")

    format: Literal["fairweir-known/1"] = FORMAT
    version: str
    """The version of fairweir that measured them."""
    depth: str
    seeds: int
    ccas: dict[str, dict[str, FiniteFloat]]
    """CCA -> exhibit -> value."""


class Place(BaseModel):
    """A CCA's place in one property."""

    model_config = ConfigDict(extra="forbid")

    name: str
    exhibit: str
    unit: str = ""
    value: float
    rank: int
    """1 is the best; equal values share a rank."""
    of: int
    """The number of CCAs, this one included."""
    best: str
    """The known CCAs with the best value."""
    best_value: float


class Profile(BaseModel):
    """A CCA's places among the known CCAs."""

    model_config = ConfigDict(extra="forbid")

    cca: str
    version: str
    """The version of fairweir that measured the known CCAs."""
    places: list[Place] = Field(default_factory=list)


@words_for_enums
def known(depth: Depth) -> Known | None:
    """Return the shipped values of the known CCAs; None if there are none for this battery."""
    path = FOLDER / f"{depth.value}.json"
    return Known.model_validate_json(path.read_text(encoding="utf-8")) if path.is_file() else None


def values_of(cca: CcaResults) -> dict[str, float]:
    """Return the values of the exhibits that properties rank by, where the CCA has one."""
    found = {p.exhibit: cca.exhibit(p.exhibit) for p in PROPERTIES}
    return {name: e.value for name, e in found.items() if e is not None and e.value is not None}


def save_known(results: AuditResults, path: Path) -> None:
    """Write the values of an audit's CCAs as `known` reads them, rounded to five digits."""
    document = Known(
        version=results.version,
        depth=results.depth,
        seeds=len(results.seeds),
        ccas={c.cca: {name: float(f"{v:.5g}") for name, v in values_of(c).items()} for c in results.ccas},
    )
    write_text(path, json.dumps(document.model_dump(), indent=1) + "\n")


def profile_of(cca: CcaResults, others: Known) -> Profile | None:
    """Return the places of `cca` among the known CCAs other than itself; None if it has no value to rank."""
    own = values_of(cca)
    places = []
    for one in PROPERTIES:
        known_values = {n: v[one.exhibit] for n, v in others.ccas.items() if n != cca.cca and one.exhibit in v}
        if one.exhibit not in own or not known_values:
            continue
        value = own[one.exhibit]
        best = next(v for v in known_values.values() if not any(one.is_better(o, v) for o in known_values.values()))
        places.append(
            Place(
                name=one.name,
                exhibit=one.exhibit,
                unit=one.metric.unit,
                value=value,
                rank=1 + sum(one.is_better(v, value) for v in known_values.values()),
                of=1 + len(known_values),
                best=", ".join(n for n, v in known_values.items() if not one.is_better(best, v)),
                best_value=best,
            )
        )
    return Profile(cca=cca.cca, version=others.version, places=places) if places else None
