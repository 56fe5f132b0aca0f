"""The schema of ``results.json``: results of an audit, from which tables, figures, reports and comparisons are made.

An audit runs *families* of scenarios. A family varies one quantity, its axis (rate, rtprop, hold, ...), and measures
several metrics at each point, over seeds; figures draw these metrics. *Exhibits* are claims on the metrics; tables
list them, and they determine the exit status.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, model_validator

from fairweir.audit.axis import Axis
from fairweir.audit.profile import Profile
from fairweir.audit.standings import Relative
from fairweir.audit.world import name_on, setting, without_host
from fairweir.ccas.lookup import QUIC_STACKS
from fairweir.documents.atomic_write import write_text
from fairweir.judging.outcome import Outcome, Threshold, combine
from fairweir.show import formats

FORMAT: Literal["fairweir-audit/1"] = "fairweir-audit/1"


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", ser_json_inf_nan="null")


class Point(_Model):
    """One metric at one place on the axis, over seeds."""

    x: float
    """Value on the axis; for a category, its index."""
    label: str
    """The point as text: ``96 Mbps``, ``vs cubic``."""
    value: float | None = None
    """Mean over seeds (geometric for ratios); None if every run failed."""
    lo: float | None = None
    hi: float | None = None
    samples: list[FiniteFloat] = Field(default_factory=list)
    """One value per seed, in the order of `seeds`."""
    seeds: list[int] = Field(default_factory=list)
    new_samples: list[FiniteFloat] = Field(default_factory=list)
    """Values of the runs that confirm differences from a reference (`fairweir.audit.relative`); no claim reads them."""
    new_seeds: list[int] = Field(default_factory=list)
    theory: float | None = None
    """Theoretical value for this CCA, if known."""

    @model_validator(mode="after")
    def _one_sample_per_seed(self) -> Point:
        if len(self.samples) != len(self.seeds) or len(self.new_samples) != len(self.new_seeds):
            raise ValueError("a point needs one sample per seed")
        return self


class Curve(_Model):
    """One metric along the axis."""

    metric: str
    unit: str = ""
    points: list[Point] = Field(default_factory=list)
    law: str = ""
    """The formula of `Point.theory`, such as ``R + theta n``."""


class TraceFlow(_Model):
    """A flow's time series; null means that the interval has no sample."""

    id: str
    cca: str
    throughput_mbps: list[float | None]
    cwnd_pkts: list[float | None]
    rtt_ms: list[float | None]


class TraceLink(_Model):
    """A link's time series."""

    name: str
    queue_pkts: list[float | None]
    drops: list[int]


class Trace(_Model):
    """Time series of a representative run."""

    label: str
    x: float
    """The point on the family's axis."""
    seed: int
    warmup_s: float
    t_s: list[float]
    """End of each interval, shared by all columns."""
    flows: list[TraceFlow]
    links: list[TraceLink]
    scenario_toml: str


class Fault(_Model):
    """A run that did not complete: the CCA raised an exception or returned an invalid value, the QUIC stack failed, or
    the run timed out.
    """

    family: str
    label: str
    """Point on the family's axis."""
    seed: int
    kind: Literal["controller", "stack", "timeout", "crash", "error"]
    message: str
    scenario_toml: str


class FamilyResult(_Model):
    """Results of one family of scenarios, for one CCA."""

    name: str
    title: str
    question: str
    setup: str
    """The scenario in a sentence, with numbers."""
    axis: Axis
    curves: list[Curve] = Field(default_factory=list)
    traces: list[Trace] = Field(default_factory=list)
    faults: list[Fault] = Field(default_factory=list)
    runs: int = 0
    """Successful runs."""
    planned: int = 0
    left_out: list[str] = Field(default_factory=list)
    """Points that were not run."""
    left_out_why: str = ""
    """The reason."""


class ClaimResult(_Model):
    """One claim about one CCA."""

    name: str
    """Unique within a CCA: ``family.metric``."""
    family: str
    metric: str
    title: str
    claim: str
    value: float | None
    lo: float | None
    hi: float | None
    unit: str
    at: str = ""
    """Point on the axis with the worst value."""
    threshold: Threshold | None = None
    verdict: Outcome
    why: str
    expectation: str = ""
    """Theoretical or published value for this CCA."""
    scenario: str | None = None
    """File of the scenario at the worst point, relative to ``results.json``; only for failing exhibits."""
    scenario_toml: str | None = None
    replay: str | None = None


class CcaResults(_Model):
    """Results of one CCA."""

    cca: str
    """Name of the column: the CCA, and in the world of QUIC stacks the setting of its hosts."""
    controller: str = ""
    """The CCA as given; empty in documents of earlier versions, where `cca` is the CCA."""
    wake: str | None = None
    """``[host] wake`` of the scenarios; None in the simulator, which has no hosts."""
    verdict: Outcome
    buffer: str = ""
    """Bottleneck buffer where a family does not vary it."""
    scenarios: dict[str, str] = Field(default_factory=dict)
    """Family -> fingerprint of its scenarios without the CCA's name; results are comparable if it is the same."""
    left_out: dict[str, str] = Field(default_factory=dict)
    """Exhibit that was not run at any point -> reason."""
    exhibits: list[ClaimResult] = Field(default_factory=list)
    families: list[FamilyResult] = Field(default_factory=list)
    hunt: dict[str, Any] | None = None
    """`HuntResult` as a dict."""
    hunt_trace: Trace | None = None
    """Time series of the scenario that the hunt found, with its first confirming seed."""
    contract: dict[str, Any] | None = None
    """`ContractResult` as a dict."""

    def __repr__(self) -> str:
        """Return one line."""
        return f"<CcaResults of {self.cca!r}: {self.verdict}, {len(self.exhibits)} claims>"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        from fairweir.audit.notebook import cca_html

        return cca_html(self)

    def exhibit(self, name: str) -> ClaimResult | None:
        """Return the exhibit called `name`; None if it did not run."""
        return next((e for e in self.exhibits if e.name == name), None)

    def family(self, name: str) -> FamilyResult | None:
        """Return the family called `name`; None if it did not run."""
        return next((f for f in self.families if f.name == name), None)


class Estimate(_Model):
    """A claim's value in one document, with its interval over seeds and its verdict."""

    value: float | None
    lo: float | None
    hi: float | None
    verdict: Outcome

    @classmethod
    def of(cls, exhibit: ClaimResult) -> Estimate:
        """Return the estimate of an exhibit."""
        return cls(value=exhibit.value, lo=exhibit.lo, hi=exhibit.hi, verdict=exhibit.verdict)

    def __str__(self) -> str:
        if self.value is None:
            return self.verdict.value
        return f"{formats.estimate(self.value, self.lo, self.hi)} {self.verdict}"


class Change(_Model):
    """A claim that worsened or improved relative to the baseline."""

    cca: str
    exhibit: str
    direction: Literal["worsened", "improved"]
    before: Estimate
    now: Estimate
    reason: str

    def __str__(self) -> str:
        return f"{self.cca}: {self.exhibit} {self.direction}: {self.before} -> {self.now} ({self.reason})"


class Comparison(_Model):
    """An audit compared with an earlier one, the baseline."""

    baseline: str
    """The baseline's file, as given."""
    version: str
    """The version of fairweir that wrote the baseline."""
    compared: int
    """Number of claims that both documents have."""
    changes: list[Change] = Field(default_factory=list)
    not_compared: list[str] = Field(default_factory=list)
    """Claims that only one of the two documents has: ``cca: exhibit (only in the baseline)``."""
    ccas: list[str] = Field(default_factory=list, exclude=True)
    """The compared CCAs, where the document also has those of the baseline; empty for all. Not stored."""

    def of(self, direction: Literal["worsened", "improved"]) -> list[Change]:
        """Select the changes in one direction."""
        return [change for change in self.changes if change.direction == direction]

    @property
    def worsened(self) -> list[Change]:
        """Claims that are worse than in the baseline; if there is any, the exit status is 1."""
        return self.of("worsened")

    @property
    def improved(self) -> list[Change]:
        """Claims that are better than in the baseline."""
        return self.of("improved")

    def change(self, cca: str, exhibit: str) -> Change | None:
        """Return the change of one claim; None if it did not change."""
        return next((c for c in self.changes if c.cca == cca and c.exhibit == exhibit), None)

    @property
    def headline(self) -> str:
        """The comparison in one line."""
        counts = [f"{len(found)} {word}" for word in ("worsened", "improved") if (found := self.of(word))]
        return f"{', '.join(counts) or 'nothing changed'} ({self.compared} claims compared)"


class AuditResults(_Model):
    """The whole document."""

    format: Literal["fairweir-audit/1"] = FORMAT
    version: str
    """Version of fairweir; scenario, seed and version determine a result."""
    depth: str
    world: Literal["sim", "quic"] = "sim"
    command: str = ""
    seeds: list[int]
    source: str = Field(default="", exclude=True)
    """File or name that a baseline was loaded from; not stored."""
    complete: bool = False
    """False while the audit runs and after an interruption; the document then covers the finished runs."""
    wall_s: float = 0.0
    runs: int = 0
    packets: int = 0
    """Data packets delivered and acknowledged over all runs."""
    environment: dict[str, str] = Field(default_factory=dict)
    ccas: list[CcaResults] = Field(default_factory=list)
    comparison: Comparison | None = None
    """Comparison with the baseline, if a baseline without runs that confirm differences was given."""
    new_seeds: list[int] = Field(default_factory=list)
    """Seeds of the runs that confirm differences from a reference."""
    relative: list[Relative] = Field(default_factory=list)
    """Each candidate compared with the reference, where one was given; the reference is the last of `ccas`, unless it
    comes from a baseline."""

    profiles: list[Profile] = Field(default_factory=list)
    """Each CCA's places among the known ones, in an audit without a reference."""

    def __repr__(self) -> str:
        """Return one line: the battery, and the verdict on each CCA."""
        verdicts = ", ".join(f"{cca.cca} {cca.verdict}" for cca in self.ccas)
        state = "" if self.complete else ", incomplete"
        return f"<AuditResults of the {self.depth} battery: {verdicts}; {self.runs} runs{state}>"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        from fairweir.audit.notebook import results_html

        return results_html(self)

    @property
    def setting(self) -> str:
        """The world and its hosts in a sentence; empty for the simulator."""
        return setting(self.world, {name: self.environment[name] for name in QUIC_STACKS if name in self.environment})

    @property
    def left_out(self) -> list[tuple[str, str, str]]:
        """Exhibits and points that were not run: (CCA, exhibit or points of a family, reason)."""
        return [
            *((c.cca, exhibit, why) for c in self.ccas for exhibit, why in c.left_out.items()),
            *(
                (c.cca, f"{f.name} at {', '.join(f.left_out)}", f.left_out_why)
                for c in self.ccas
                for f in c.families
                if f.left_out
            ),
        ]

    @property
    def by_host(self) -> list[str]:
        """Claims whose verdict depends on the host: ``quinn/cubic: policer.loss_rate holds (wake at once), fails (wake
        1ms)``.
        """
        found = []
        alone = {c.cca: without_host(c.cca) for c in self.ccas if c.wake is not None}
        for cca in dict.fromkeys(alone.values()):
            hosts = [c for c in self.ccas if alone.get(c.cca) == cca]
            for name in dict.fromkeys(e.name for c in hosts for e in c.exhibits):
                verdicts = [(c, e.verdict) for c in hosts if (e := c.exhibit(name)) is not None]
                if len({verdict for _, verdict in verdicts}) > 1:
                    found.append(f"{cca}: {name} " + ", ".join(f"{v}{name_on('', c.wake)}" for c, v in verdicts))
        return found

    @property
    def is_worse(self) -> bool:
        """Return whether a candidate is worse than the reference in anything."""
        return any(one.is_worse for one in self.relative)

    @property
    def verdict(self) -> Outcome:
        """The combined verdict on all CCAs."""
        return combine(c.verdict for c in self.ccas)

    def report(self, folder: str | Path) -> Path:
        """Write ``report.html``, ``results.json``, ``junit.xml``, ``summary.md`` and failing scenarios.

        Parameters
        ----------
        folder : str or Path; created
        """
        from fairweir.audit.folder import write_files

        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        write_files(self, target)
        return target

    def cca(self, name: str) -> CcaResults | None:
        """Return the results of `name`; None if it was not audited."""
        return next((c for c in self.ccas if c.cca == name), None)

    def to_json(self) -> str:
        """Return the document as JSON; the order of keys is fixed."""
        return self.model_dump_json(indent=1) + "\n"

    def for_stdout(self) -> str:
        """Return the document as JSON without time series, for programs that read only numbers."""
        document = self.model_copy(
            update={
                "ccas": [
                    cca.model_copy(update={"families": [f.model_copy(update={"traces": []}) for f in cca.families]})
                    for cca in self.ccas
                ]
            }
        )
        return document.model_dump_json(indent=2) + "\n"

    def save(self, path: Path) -> None:
        """Write the document; the file is replaced completely or not at all."""
        write_text(path, self.to_json())

    @classmethod
    def load(cls, path: Path) -> AuditResults:
        """Read a document written by `save`.

        Raises
        ------
        ConfigError : not an audit's results, or of another format
        """
        from pydantic import ValidationError

        from fairweir.errors import ConfigError

        try:
            return cls.model_validate_json(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise ConfigError(
                f"no such file: `{path}`", hint="an audit writes results.json in its --out directory"
            ) from None
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"]) or "document"
            raise ConfigError(
                f"not the results of an audit: {first['msg'].lower()}",
                source=str(path),
                key=where,
                hint=f"expected the format `{FORMAT}`, as in results.json of `fairweir audit`",
            ) from None
