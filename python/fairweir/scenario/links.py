"""Validate the shared links of a scenario file and their queues.

Each class is one kind of TOML table; its method ``base`` converts it to base units (ns, bytes, bytes/s). AQM queues
drop or mark packets before the buffer is full.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from fairweir import _core
from fairweir.documents.quantities import (
    Data,
    FiniteSize,
    Fraction,
    PositiveTime,
    Rate,
    Size,
    StepRate,
    Time,
    as_pair,
    invalid,
    parse_fraction,
)
from fairweir.errors import ConfigError
from fairweir.scenario.elements import Table
from fairweir.units import NS_PER_S

#: Number of bytes that may pass at each time that a mahimahi trace lists.
TRACE_PACKET_BYTES = 1504


class Droptail(Table):
    """Drops packets that do not fit into `buffer`."""

    kind: Literal["droptail"]

    def base(self, limit: int | None, packet_bytes: int, bdp_bytes: int, rate: int) -> dict[str, Any]:
        """Return the queue in base units; `limit` is the link's buffer in bytes, None if unlimited."""
        return {"kind": "droptail", "limit": limit}


class Red(Table):
    """Random early detection (Floyd and Jacobson 1993): drops packets; if `ecn` is set, marks ECN-capable packets
    instead.

    If the average backlog is below `min`, no packet is dropped. From `min` to `max` the drop probability rises from 0
    to `probability`. Above `max` all packets are dropped; if `gentle` is set, the probability instead rises to 1 at
    twice `max`. `weight` is the weight of a new sample in the average.
    """

    kind: Literal["red"]
    min: FiniteSize = Field(examples=['"5pkts"'])
    max: FiniteSize = Field(examples=['"15pkts"'])
    probability: Fraction = "10%"
    weight: Fraction = "0.2%"
    ecn: bool = False
    gentle: bool = False

    @model_validator(mode="after")
    def _in_order(self) -> Red:
        low, high = _core.parse_size(self.min), _core.parse_size(self.max)
        if low[0] == high[0] and low[1] >= high[1]:
            raise invalid("{noun}'s min is not below its max", self.min, f"use a value below {self.max}")
        if parse_fraction(self.weight) == 0:
            raise invalid("{noun}'s weight must be positive", self.weight, 'write weight = "0.2%"')
        return self

    def base(self, limit: int | None, packet_bytes: int, bdp_bytes: int, rate: int) -> dict[str, Any]:
        """Return the queue in base units; `limit` is the link's buffer in bytes, None if unlimited."""
        return {
            "kind": "red",
            "limit": limit,
            "min_threshold": _core.resolve_size(self.min, packet_bytes, bdp_bytes),
            "max_threshold": _core.resolve_size(self.max, packet_bytes, bdp_bytes),
            "max_per_billion": parse_fraction(self.probability),
            "weight_per_billion": parse_fraction(self.weight),
            "ecn": self.ecn,
            "gentle": self.gentle,
            "packet_time": packet_bytes * NS_PER_S // rate,
        }


class EcnThreshold(Table):
    """Marks a packet that arrives when more than `threshold` is queued (DCTCP); drops a packet that `buffer` cannot
    hold.
    """

    kind: Literal["ecn-threshold"]
    threshold: FiniteSize = Field(examples=['"60pkts"'])

    def base(self, limit: int | None, packet_bytes: int, bdp_bytes: int, rate: int) -> dict[str, Any]:
        """Return the queue in base units; `limit` is the link's buffer in bytes, None if unlimited."""
        mark = _core.resolve_size(self.threshold, packet_bytes, bdp_bytes)
        return {"kind": "ecn-threshold", "limit": limit, "mark_above": mark}


class CoDel(Table):
    """Controlled delay (RFC 8289): drops packets; if `ecn` is set, marks ECN-capable packets instead."""

    kind: Literal["codel"]
    target: PositiveTime = "5ms"
    interval: PositiveTime = "100ms"
    ecn: bool = False

    def base(self, limit: int | None, packet_bytes: int, bdp_bytes: int, rate: int) -> dict[str, Any]:
        """Return the queue in base units; `limit` is the link's buffer in bytes, None if unlimited."""
        target, interval = _core.parse_time(self.target), _core.parse_time(self.interval)
        return {
            "kind": "codel",
            "limit": limit,
            "target": target,
            "interval": interval,
            "packet": packet_bytes,
            "ecn": self.ecn,
        }


class DualPi2(Table):
    """Coupled dual queue (RFC 9332): L4S flows have a queue of low delay, all others a queue controlled by PI2.

    L4S flows are those with ``ecn = true`` whose controller meets the L4S requirements (ECT(1)). `alpha` and `beta` are
    the gains of the PI controller, in Hz. Packets of the L4S queue are marked when their delay reaches `step`; the
    probability rises to 1 over `ramp`. `classic_weight` is the share of the other queue when both have packets.
    """

    kind: Literal["dualpi2"]
    target: PositiveTime = "15ms"
    update: PositiveTime = "16ms"
    alpha: float = Field(default=0.16, ge=0.001, le=1e6)
    beta: float = Field(default=3.2, ge=0.001, le=1e6)
    coupling: int = Field(default=2, ge=1, le=255)
    step: Time = "1ms"
    ramp: Time = "0s"
    classic_weight: Fraction = "10%"

    @model_validator(mode="after")
    def _in_range(self) -> DualPi2:
        if _core.parse_time(self.update) < NS_PER_S // 10_000:
            raise invalid("{noun}'s update is below 100us", self.update, 'the default is "16ms"')
        if _core.parse_time(self.target) > 10 * NS_PER_S:
            raise invalid("{noun}'s target is above 10s", self.target, 'the default is "15ms"')
        return self

    def base(self, limit: int | None, packet_bytes: int, bdp_bytes: int, rate: int) -> dict[str, Any]:
        """Return the queue in base units; `limit` is the link's buffer in bytes, None if unlimited."""
        return {
            "kind": "dualpi2",
            "limit": limit,
            "target": _core.parse_time(self.target),
            "update": _core.parse_time(self.update),
            "alpha_nanohertz": round(self.alpha * NS_PER_S),
            "beta_nanohertz": round(self.beta * NS_PER_S),
            "coupling": self.coupling,
            "l_threshold": _core.parse_time(self.step),
            "l_range": _core.parse_time(self.ramp),
            "classic_weight_per_billion": parse_fraction(self.classic_weight),
            "packet": packet_bytes,
        }


def _named(value: Any) -> Any:
    return {"kind": value} if isinstance(value, str) else value


AnyAqm = Annotated[
    Annotated[Droptail | Red | EcnThreshold | CoDel | DualPi2, Field(discriminator="kind")], BeforeValidator(_named)
]


class Shaper(Table):
    """A token bucket that delays packets until it has enough tokens; the bucket is full at the start."""

    rate: Rate = Field(examples=['"12Mbps"'])
    burst: Data = Field(examples=['"64KiB"'])


class Link(Table):
    """A link with its queue, which flows share.

    Exactly one of `rate`, `trace`, `steps` and `shaper` determines the link's rate. `delay` is the one-way propagation
    delay to the next link on a path; it is a part of the round-trip propagation delay of each flow that crosses the
    link.
    """

    rate: Rate | None = Field(default=None, examples=['"96Mbps"'])
    trace: str | None = Field(default=None, examples=['"cellular.up"'])
    steps: list[Annotated[tuple[Time, StepRate], BeforeValidator(as_pair)]] | None = None
    shaper: Shaper | None = None
    buffer: Size = "1bdp"
    aqm: AnyAqm = Droptail(kind="droptail")
    delay: Time = "0s"

    @model_validator(mode="after")
    def _one_speed(self) -> Link:
        given = [name for name in ("rate", "trace", "steps", "shaper") if getattr(self, name) is not None]
        if not given:
            raise invalid("{noun} has no rate", hint='write rate = "96Mbps" (or trace, steps, shaper)')
        if len(given) > 1:
            raise invalid("{noun} has more than one speed: `" + "`, `".join(given) + "`", hint="keep one of them")
        if self.steps is not None:
            _check_steps(self.steps)
        return self

    def base(self, folder: Path | None) -> dict[str, Any]:
        """Return the link in base units, without its queue; the path of a trace file is relative to `folder`.

        Raises
        ------
        ConfigError : the trace cannot be read or is invalid
        """
        if self.rate is not None:
            return {"kind": "constant", "rate": _core.parse_rate(self.rate)}
        if self.steps is not None:
            steps = [{"at": _core.parse_time(at), "rate": _core.parse_rate(rate)} for at, rate in self.steps]
            return {"kind": "steps", "steps": steps}
        if self.shaper is not None:
            rate, burst = _core.parse_rate(self.shaper.rate), _core.parse_bytes(self.shaper.burst)
            return {"kind": "token-bucket", "rate": rate, "burst": burst}
        return {
            "kind": "trace",
            "opportunities": read_trace(Path(self.trace or ""), folder),
            "bytes": TRACE_PACKET_BYTES,
        }

    def nominal_rate(self, base: dict[str, Any]) -> int:
        """Return the rate, in bytes/s, that defines a BDP: the mean rate of a trace, or the largest rate of steps.

        Parameters
        ----------
        base : the link in base units
        """
        if base["kind"] == "steps":
            return max(int(step["rate"]) for step in base["steps"])
        if base["kind"] == "trace":
            period_ns = base["opportunities"][-1]
            return len(base["opportunities"]) * TRACE_PACKET_BYTES * NS_PER_S // int(period_ns)
        return int(base["rate"])


def _check_steps(steps: list[tuple[str, str]]) -> None:
    if not steps:
        raise invalid("{noun} has no steps", hint='write steps = [["0s", "24Mbps"], ["20s", "48Mbps"]]')
    times = [_core.parse_time(at) for at, _ in steps]
    if times[0] != 0:
        raise invalid("{noun}'s first step must be at 0s", steps[0][0], 'write steps = [["0s", "24Mbps"], ...]')
    for i in range(1, len(times)):
        if times[i] <= times[i - 1]:
            raise invalid("{noun}'s steps must be in order of time", steps[i][0])
    if all(_core.parse_rate(rate) == 0 for _, rate in steps):
        raise invalid("{noun} never sends a packet", hint="set a positive rate in one step")
    if _core.parse_rate(steps[-1][1]) == 0:
        raise invalid("{noun}'s last step must have a positive rate", steps[-1][1])


def read_trace(path: Path, folder: Path | None) -> list[int]:
    """Return the times, in ns, at which a packet may pass according to a mahimahi trace. Each line of the file is a
    time in ms.

    Raises
    ------
    ConfigError : the file does not exist, or a line is not a time; the error names file and line
    """
    found = path if path.is_absolute() or folder is None else folder / path
    try:
        text = found.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ConfigError(
            "trace is not a text file", source=str(path), hint="a trace has one line per packet: a time in ms"
        ) from None
    except OSError as error:
        raise ConfigError(
            f"trace cannot be read: {(error.strerror or str(error)).lower()}", source=str(path)
        ) from error
    try:
        return _core.parse_trace(text)
    except ConfigError as error:
        error.source = str(path)
        raise
