"""One run of the battery, as a job for a separate process."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairweir.audit.exhibits.family import Depth, Family, Place, Reading, Series, Subject
from fairweir.audit.exhibits.registry import FAMILIES
from fairweir.audit.results import Trace, TraceFlow, TraceLink
from fairweir.audit.world import hosted
from fairweir.ccas.cca_spec import name_part, table_of
from fairweir.errors import CcaError
from fairweir.play.run import Run, run
from fairweir.play.simulate import is_users
from fairweir.scenario.dumbbell import PACKET, ScenarioDict
from fairweir.scenario.model import CcaSpec, Scenario
from fairweir.units import Bytes, Duration, Rate

TRACE_SAMPLES = 240
"""Number of points of a time series for figures; a report's figure is too narrow to show more."""


@dataclass(frozen=True)
class Job:
    """A run of a family's scenario at one place with one seed."""

    subject: Subject
    family: str
    depth: Depth
    index: int
    """Index of the place among the family's places of this depth."""
    seed: int
    patience: float
    is_traced: bool = False

    def place(self) -> Place:
        """Return the point on the family's axis."""
        return FAMILIES[self.family].place(self.depth, self.index)

    def scenario_dict(self) -> ScenarioDict:
        """Return the scenario as a TOML document."""
        seed = self.seed + self.subject.seed_shift
        return hosted(FAMILIES[self.family].scenario(self.subject, self.place(), seed, self.patience), self.subject)

    def scenario(self) -> Scenario:
        """Return the scenario, validated."""
        return Scenario.from_dict(self.scenario_dict(), source=f"exhibit {self.family}")

    def packets(self) -> int:
        """Return the number of data packets on full links, as the cost of the run before it starts."""
        return packets_of(self.scenario_dict())


@dataclass(frozen=True)
class Measured:
    """Measurements of a run."""

    values: dict[str, float]
    """Metric -> value, for the metrics that are defined in this run."""
    packets: int
    trace: Trace | None = None


def packets_of(scenario: ScenarioDict) -> int:
    """Return the number of data packets of `scenario` if all links are full.

    If all flows are finite, the result is the number of their packets.
    """
    flows = scenario["flow"]
    if all("bytes" in flow for flow in flows):
        return int(sum((Bytes.parse(flow["bytes"]) for flow in flows), Bytes(0)) / PACKET)
    duration = Duration.parse(scenario["duration"])
    return int(sum((_rate(link) * duration for link in scenario["link"].values()), Bytes(0)) / PACKET)


def _rate(link: dict[str, Any]) -> Rate:
    if "rate" in link:
        return Rate.parse(link["rate"])
    rates = [Rate.parse(rate) for _, rate in link["steps"]]
    return sum(rates, Rate.from_mbps(0)) / len(rates)


def measure(job: Job) -> Measured:
    """Run the scenario and compute the family's metrics.

    Raises
    ------
    FairweirError : as :func:`fairweir.play.run.run`
    """
    family = FAMILIES[job.family]
    scenario = job.scenario()
    record = run(scenario, interval=_interval(family, job, scenario), on=job.subject.world)
    measured = Duration.parse(scenario.duration) - Duration.parse(scenario.warmup)
    reading = Reading(
        summary=record.summary,
        place=job.place(),
        measured_s=measured.s,
        series=_series(record) if family.series_interval else None,
    )
    values = {}
    for metric in family.metrics:
        value = metric.read(reading)
        if value is not None and math.isfinite(value):
            values[metric.name] = value
    trace = trace_of(record, job.subject, job.place(), job.seed) if job.is_traced else None
    return Measured(values, record.summary.packets, trace)


def _interval(family: Family, job: Job, scenario: Scenario) -> str | None:
    if family.series_interval:
        return family.series_interval
    if job.is_traced:
        return str(Duration.from_ns(Duration.parse(scenario.duration).ns // TRACE_SAMPLES))
    return None


def _series(record: Run) -> Series:
    table = record.flows
    rows: dict[int, list[float]] = {}
    times: list[float] = []
    columns = (table[name].tolist() for name in ("t_ns", "flow", "throughput_mbps"))
    for t_ns, flow, throughput in zip(*columns, strict=True):
        rows.setdefault(flow, []).append(throughput)
        if flow == 0:
            times.append(Duration.from_ns(t_ns).s)
    return Series(t_s=times, throughput_mbps=[rows[i] for i in range(len(rows))])


def trace_of(record: Run, subject: Subject, place: Place, seed: int) -> Trace:
    """Return a run's time series in the form that figures need."""
    scenario = record.scenario
    flows, links = record.flows.to_rows(), record.links.to_rows()
    times = [Duration.from_ns(row["t_ns"]).s for row in flows if row["flow"] == 0]
    under_audit = CcaSpec.model_validate(table_of(subject.cca))
    specs = [flow.cca for flow in scenario.flow for _ in range(flow.count)]
    return Trace(
        label=place.label,
        x=place.x,
        seed=seed,
        warmup_s=Duration.parse(scenario.warmup).s,
        t_s=[round(t, 4) for t in times],
        flows=[
            TraceFlow(
                id=summary.id,
                cca=subject.name if specs[i] == under_audit else summary.cca,
                throughput_mbps=[_number(row["throughput_mbps"]) for row in flows if row["flow"] == i],
                cwnd_pkts=[_number(row["cwnd_bytes"] / PACKET.bytes) for row in flows if row["flow"] == i],
                rtt_ms=[_number(row["rtt_ms"]) for row in flows if row["flow"] == i],
            )
            for i, summary in enumerate(record.summary.flows)
        ],
        links=[
            TraceLink(
                name=summary.name,
                queue_pkts=[_number(row["queue_bytes"] / PACKET.bytes) for row in links if row["link"] == i],
                drops=[int(row["drops"]) for row in links if row["link"] == i],
            )
            for i, summary in enumerate(record.summary.links)
        ],
        scenario_toml=scenario.to_toml(),
    )


@dataclass(frozen=True)
class TraceRequest:
    """A scenario that a search found, to be run again to record its time series."""

    subject: Subject
    place: Place
    scenario: ScenarioDict


def show(found: TraceRequest) -> Trace:
    """Run a found scenario and record its time series.

    Raises
    ------
    FairweirError : as :func:`fairweir.play.run.run`
    """
    scenario = Scenario.from_dict(found.scenario, source=found.place.label)
    interval = str(Duration.from_ns(Duration.parse(scenario.duration).ns // TRACE_SAMPLES))
    record = run(scenario, interval=interval, on=found.subject.world)
    return trace_of(record, found.subject, found.place, scenario.seed)


def _number(value: float) -> float | None:
    """Return a number rounded to four digits, as figures show it; None if it is not finite (no samples)."""
    return float(f"{value:.4g}") if math.isfinite(value) else None


CALIBRATION = "calibration"
CALIBRATION_RTPROP = Duration.from_ms(50)
FILLED_MS = 1000.0
"""Queueing delay, ms, above which a CCA is assumed to fill any buffer.

20 BDP: four times the maximum of BBR's startup, and more than the delay that any delay-based CCA maintains.
"""


def calibration_scenario(cca: str) -> ScenarioDict:
    """Return a scenario with a single flow on a link with a buffer of 100 BDP."""
    return {
        "name": "calibration",
        "duration": "60s",
        "warmup": "20s",
        "seed": 1,
        "link": {"bottleneck": {"rate": "12Mbps", "buffer": "100bdp"}},
        "flow": [{"cca": cca, "rtprop": str(CALIBRATION_RTPROP)}],
    }


def fills_buffers(subject: Subject) -> bool:
    """Return whether a single flow of a CCA fills any buffer; a user's code runs twice, and both runs must be equal.

    Raises
    ------
    CcaError : the two runs differ, so no result of an audit could be repeated
    FairweirError : as :func:`fairweir.play.run.run`
    """
    scenario = Scenario.from_dict(calibration_scenario(subject.cca), source=CALIBRATION)
    first = run(scenario, on=subject.world)
    summary = first.summary
    if is_users(scenario.flow[0].cca.name) and _result_of(run(scenario, on=subject.world)) != _result_of(first):
        raise CcaError(
            f"`{subject.name}` is not repeatable: two runs of the same scenario differ",
            hint="a controller reads no clock, shares no state between flows, and draws random numbers only from a "
            "generator that is seeded with the seed that it is given",
            cca=subject.name,
        )
    qdelay_ms = summary.flows[0].qdelay_ms.p95
    return qdelay_ms is not None and qdelay_ms > FILLED_MS


def _result_of(record: Run) -> dict[str, Any]:
    """Return a run's summary without the time that it took."""
    return {key: value for key, value in record.summary.document.items() if key != "wall_s"}


def whole_path(cca: str) -> str:
    """Return `cca` with an absolute path, if it names a file, so that a scenario can be replayed from any directory."""
    whole, params = name_part(cca)
    path, colon, name = whole.rpartition(":")
    if colon and path.endswith(".py"):
        return f"{Path(path).resolve()}:{name}{params}"
    return f"{Path(whole).resolve()}{params}" if whole.endswith((".bpf.c", ".so", ".toml")) else cca
