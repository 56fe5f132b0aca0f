"""Give typed access to the summary of a run, the document that ``fairweir run --json`` prints.

The fields have the names and values of the document's keys (`crates/scenario/src/summary.rs`), which end in the unit.
Properties without a unit in their name return quantities of :mod:`fairweir.units`. The warm-up is the initial part of a
run that results exclude; rtprop is the round-trip propagation delay.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Generic, Literal, Self, TypeVar

from fairweir.documents.suggestions import did_you_mean
from fairweir.units import Duration, Rate

T = TypeVar("T")

#: Names of the statistics in :class:`Statistics`.
Statistic = Literal["mean", "min", "p50", "p95", "p99", "max"]


@dataclass(frozen=True)
class Statistics(Generic[T]):
    """Statistics of a delay; percentiles have an error of at most 1 %.

    Attributes
    ----------
    samples : int
    mean, min, p50, p95, p99, max : the delay; None without samples
    """

    samples: int
    mean: T | None
    min: T | None
    p50: T | None
    p95: T | None
    p99: T | None
    max: T | None

    def value(self, statistic: Statistic) -> T | None:
        """Return the statistic with this name."""
        found: T | None = getattr(self, statistic)
        return found


def _durations(ms: Statistics[float]) -> Statistics[Duration]:
    found = {one.name: getattr(ms, one.name) for one in fields(ms) if one.name != "samples"}
    return Statistics(ms.samples, **{name: None if of is None else Duration.from_ms(of) for name, of in found.items()})


@dataclass(frozen=True)
class FlowSummary:
    """Results of a flow after the warm-up.

    Attributes
    ----------
    id : str
    cca : str, the CCA as written in the scenario
    throughput_mbps : float, Mbit/s; acknowledged data divided by the time in which the flow was active. Each packet
        counts once
    goodput_mbps : float, Mbit/s; the throughput without headers
    rtt_ms : Statistics of float, ms; RTT samples
    qdelay_ms : Statistics of float, ms; RTT samples minus rtprop
    loss_rate : float; packets declared lost divided by packets lost or delivered
    lost_pkts, retransmits, timeouts, sent_pkts, delivered_pkts : int; retransmissions count as sent
    mark_rate : float; congestion-experienced marks divided by packets delivered
    completion_s : float, s; completion time, from the flow's start. None if the flow did not complete or is endless.
    violations : int; how often path elements violated their own bounds, such as a virtual link its jitter bound
    extra : dict; keys that are not in all runs
    """

    id: str
    cca: str
    throughput_mbps: float
    goodput_mbps: float
    rtt_ms: Statistics[float]
    qdelay_ms: Statistics[float]
    loss_rate: float
    lost_pkts: int
    retransmits: int
    timeouts: int
    mark_rate: float
    sent_pkts: int
    delivered_pkts: int
    completion_s: float | None
    violations: int
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def throughput(self) -> Rate:
        """Acknowledged data divided by the time the flow was active."""
        return Rate.from_mbps(self.throughput_mbps)

    @property
    def goodput(self) -> Rate:
        """The throughput without headers."""
        return Rate.from_mbps(self.goodput_mbps)

    @property
    def rtt(self) -> Statistics[Duration]:
        """RTT samples."""
        return _durations(self.rtt_ms)

    @property
    def qdelay(self) -> Statistics[Duration]:
        """RTT samples minus rtprop."""
        return _durations(self.qdelay_ms)

    @property
    def completion(self) -> Duration | None:
        """Time from the flow's start to its completion; None if it did not complete."""
        return None if self.completion_s is None else Duration.from_s(self.completion_s)

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Self:
        """Convert an entry of the document's ``flows``.

        Raises
        ------
        KeyError : a key is missing
        """
        return cls(**_values(cls, document, ("rtt_ms", "qdelay_ms")))


@dataclass(frozen=True)
class LinkSummary:
    """Results of a link after the warm-up.

    Attributes
    ----------
    name : str
    utilization : float; bytes served divided by the bytes that the link could have served
    queue_ms : Statistics of float, ms; queueing delay, without the transmission time
    drops, marks, arrivals : int, packets
    extra : dict; keys that are not in all runs
    """

    name: str
    utilization: float
    queue_ms: Statistics[float]
    drops: int
    marks: int
    arrivals: int
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def queue(self) -> Statistics[Duration]:
        """Queueing delay, without the transmission time."""
        return _durations(self.queue_ms)

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Self:
        """Convert an entry of the document's ``links``; raises as :meth:`FlowSummary.of`."""
        return cls(**_values(cls, document, ("queue_ms",)))


@dataclass(frozen=True)
class Lateness:
    """Percentiles of a lateness, us."""

    p50: float
    p90: float
    p99: float
    p999: float
    max: float


@dataclass(frozen=True)
class Answers:
    """Times that a real host takes to answer a packet, us; answers after more than 2 ms do not count.

    Attributes
    ----------
    samples : int
    mean, p50, p99 : float, us; 0 without samples
    """

    samples: int
    mean: float
    p50: float
    p99: float


@dataclass(frozen=True)
class HostAnswers:
    """Times of the answers of all flows' hosts.

    Attributes
    ----------
    receiver : Answers; from the intended release of a data packet to its ACK
    sender : Answers; from the intended release of an ACK to the next data packet
    """

    receiver: Answers
    sender: Answers

    @property
    def round_trip_us(self) -> float | None:
        """Mean time that both hosts of a flow together take in each round trip, us; None if they were not measured.

        A flow that paces answers an ACK with its pace, so that the sender's time counts as at most the receiver's.
        """
        if not self.receiver.samples or not self.sender.samples:
            return None
        return self.receiver.mean + min(self.receiver.mean, self.sender.mean)


@dataclass(frozen=True)
class Emulator:
    """Accuracy of the kernel world's emulator.

    Attributes
    ----------
    judged : bool; whether the emulator was accurate enough for the run's results to count
    reason : str; why the run is not judged, else empty
    mode : "mtu" or "tso"
    budget_us : float, us; maximum 99th percentile of `release_error_us`
    release_error_us : Lateness; actual minus intended time at which packets left the emulator
    stalls_us : list of float, us; the longest lateness of the emulator's thread, which also runs the receivers, in each
        second of the run; empty if it was not measured, by an older version
    host_us : HostAnswers, us
    """

    judged: bool
    reason: str
    mode: str
    budget_us: float
    release_error_us: Lateness
    stalls_us: Sequence[float]
    host_us: HostAnswers


@dataclass(frozen=True)
class OverTime:
    """Time series of a run.

    Attributes
    ----------
    t_s : list of float, s; end of each interval
    throughput_mbps : list per flow of float, Mbit/s
    lost_pkts : list per flow of int
    """

    t_s: Sequence[float]
    throughput_mbps: Sequence[Sequence[float]]
    lost_pkts: Sequence[Sequence[int]]


@dataclass(frozen=True)
class Summary:
    """Results of a run; rates and delays exclude the warm-up.

    Attributes
    ----------
    document : dict; what ``fairweir run --json`` prints
    """

    document: Mapping[str, Any] = field(repr=False)

    @cached_property
    def flows(self) -> tuple[FlowSummary, ...]:
        """Results of each flow, in the scenario's order."""
        return tuple(map(FlowSummary.of, self.document["flows"]))

    @cached_property
    def links(self) -> tuple[LinkSummary, ...]:
        """Results of each link, in the scenario's order."""
        return tuple(map(LinkSummary.of, self.document["links"]))

    @property
    def jain(self) -> float | None:
        """Jain's index of the throughputs, 1/n to 1; None if nothing was delivered."""
        jain: float | None = self.document["fairness"]["jain"]
        return jain

    @property
    def max_min_ratio(self) -> float | None:
        """Largest throughput divided by the smallest; None if a flow delivered nothing."""
        ratio: float | None = self.document["fairness"]["max_min_ratio"]
        return ratio

    @property
    def world(self) -> str:
        """``sim``, ``kernel`` or ``quic``."""
        return str(self.document["world"])

    @property
    def seed(self) -> int:
        """The scenario's seed."""
        return int(self.document["seed"])

    @property
    def packets(self) -> int:
        """Data packets delivered and acknowledged in the whole run."""
        return int(self.document["packets"])

    @property
    def events(self) -> int:
        """Events handled in the whole run."""
        return int(self.document["events"])

    @property
    def wall(self) -> Duration:
        """Real time of the run."""
        return Duration.from_s(self.document["wall_s"])

    @cached_property
    def emulator(self) -> Emulator | None:
        """The emulator's accuracy in a run in the kernel world; None for a simulated run."""
        found = self.document.get("emulator")
        if found is None:
            return None
        return Emulator(
            judged=found["judged"],
            reason=found["reason"],
            mode=found["mode"],
            budget_us=found["budget_us"],
            release_error_us=Lateness(**found["release_error_us"]),
            stalls_us=found.get("stalls_us", []),
            host_us=HostAnswers(**{name: Answers(**answers) for name, answers in found["host_us"].items()}),
        )

    @cached_property
    def over_time(self) -> OverTime:
        """Time series of the run.

        Raises
        ------
        KeyError : the run recorded no time series
        """
        return OverTime(**self.document["over_time"])

    @classmethod
    def from_json(cls, content: bytes | str) -> Summary:
        """Parse a JSON document such as summary.json; raises as :meth:`check`, or a ValueError."""
        found = cls(json.loads(content))
        found.check()
        return found

    def check(self) -> None:
        """Convert all flows, links and the accuracy of the emulator.

        Raises
        ------
        KeyError, TypeError : a key is missing, or a value has the wrong type
        """
        _ = self.flows, self.links, self.emulator

    def to_json(self) -> bytes:
        """Return the document as JSON."""
        return json.dumps(self.document).encode()

    def without_scenario(self) -> Summary:
        """Return the summary without the scenario, for documents that store the scenario separately."""
        return Summary({key: value for key, value in self.document.items() if key != "scenario"})


def _values(kind: type[Any], document: Mapping[str, Any], delays: Sequence[str]) -> dict[str, Any]:
    names = [one.name for one in fields(kind) if one.name != "extra"]
    values = {name: Statistics(**document[name]) if name in delays else document[name] for name in names}
    return {**values, "extra": {key: value for key, value in document.items() if key not in names}}


class Named(Mapping[str, T]):
    """Results by id or name, in the scenario's order."""

    def __init__(self, found: Mapping[str, T]) -> None:
        self._found = found

    def __getitem__(self, name: str) -> T:
        if name not in self._found:
            raise KeyError(f"`{name}`: {did_you_mean(name, self._found)}")
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def __repr__(self) -> str:
        return f"<{', '.join(self._found)}>"
