"""Validate the path elements of one flow in a scenario file: jitter, loss, policers and access links.

A path element delays or drops a flow's packets. Each class is one kind of TOML table; its method ``base(cx)`` returns
the element in base units (ns, bytes, bytes/s), in the format of ``crates/path``. rtprop is the round-trip propagation
delay.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from fairweir import _core
from fairweir.documents.quantities import (
    Data,
    Fraction,
    PositiveTime,
    Rate,
    Size,
    Time,
    as_pair,
    invalid,
    parse_fraction,
)
from fairweir.units import Bytes, Duration

Side = Literal["data", "acks"]

#: Rate of 32 packets of 1504 bytes per millisecond, as in the FRCC paper's scripts (docs/derivations.md), bytes/s.
PAPER_BURST_RATE = (Bytes(32 * 1504) / Duration.from_ms(1)).bytes_per_s


class Table(BaseModel):
    """A table of a scenario file. An unknown key is an error, and strings are not converted to numbers."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


@dataclass(frozen=True)
class Surroundings:
    """Properties of a flow and its path on which sizes and defaults of an element depend.

    Attributes
    ----------
    packet_bytes : int
    bdp_bytes : int; rate of the flow's bottleneck times the flow's rtprop
    rate : int, bytes/s; rate of the flow's bottleneck
    rtprop_ns : int
    base_ns : int; propagation delay from the sender to the element
    side : the packets that the element handles, "data" or "acks"
    """

    packet_bytes: int
    bdp_bytes: int
    rate: int
    rtprop_ns: int
    base_ns: int = 0
    side: Side = "data"

    def size(self, text: str) -> int | None:
        """Return the size that a text means, in bytes, or None if the size is unlimited.

        The result is at least 1, so that a small fraction of a small BDP is not rounded to 0.
        """
        size = _core.resolve_size(text, self.packet_bytes, self.bdp_bytes)
        return size if size is None else max(size, 1)

    @property
    def counts_as(self) -> int | None:
        """The number of bytes that an element counts per packet.

        For ACKs this is the size of a data packet; None means the actual size of the packet.
        """
        return self.packet_bytes if self.side == "acks" else None


class Element(Table):
    """An element in the path of one flow."""

    #: The position of the element: after the bottleneck on the data path ("data"), or on the ACK path ("acks").
    side: ClassVar[Side] = "data"

    def base(self, cx: Surroundings) -> dict[str, Any]:
        """Return the element in base units."""
        raise NotImplementedError


class ConstantDelay(Element):
    """Delays packets by a constant time; packets that arrive before `after` are not delayed."""

    kind: Literal["constant"]
    delay: PositiveTime = Field(examples=['"5ms"'])
    after: Time = "0s"

    def base(self, cx: Surroundings) -> dict[str, Any]:
        return {"kind": "delay", "by": _core.parse_time(self.delay), "from": _core.parse_time(self.after)}


class UniformDelay(Element):
    """Delays each packet by a random time, uniform between 0 and `max`, without reordering packets."""

    kind: Literal["uniform"]
    max: PositiveTime = Field(examples=['"20ms"'])

    def base(self, cx: Surroundings) -> dict[str, Any]:
        return {"kind": "uniform", "max": _core.parse_time(self.max)}


class AckAggregation(Element):
    """Periodically holds ACKs and releases them in a burst. The element is on the ACK path.

    In each period of length `hold`, no ACK passes for ``hold (1 - rate / burst_rate)``. Before the time `smooth`
    (default: twice the rtprop), ACKs are not held. By default, `rate` is the bottleneck's rate, and `burst_rate` is the
    larger of ten times `rate` and the FRCC paper's 32 packets per millisecond.
    """

    side: ClassVar[Side] = "acks"
    kind: Literal["ack-aggregation"]
    hold: PositiveTime = Field(examples=['"32ms"'])
    rate: Rate | None = None
    burst_rate: Rate | None = None
    smooth: Time | None = None

    def base(self, cx: Surroundings) -> dict[str, Any]:
        rate = _core.parse_rate(self.rate) if self.rate else cx.rate
        burst = _core.parse_rate(self.burst_rate) if self.burst_rate else max(PAPER_BURST_RATE, 10 * rate)
        return {
            "kind": "ack-aggregation",
            "hold": _core.parse_time(self.hold),
            "rate": rate,
            "burst_rate": burst,
            "smooth": _core.parse_time(self.smooth) if self.smooth else 2 * cx.rtprop_ns,
        }


class RandomAggregation(Element):
    """Aggregates packets (thesis B.6): holds them for a random time, uniform between 0 and `max`, and then releases the
    data that the rate `rate` carries in that time.
    """

    kind: Literal["random-aggregation"]
    max: PositiveTime = Field(examples=['"40ms"'])
    rate: Rate | None = None

    def base(self, cx: Surroundings) -> dict[str, Any]:
        rate = _core.parse_rate(self.rate) if self.rate else cx.rate
        hold = _core.parse_time(self.max)
        return {"kind": "random-aggregation", "max": hold, "rate": rate, "counts_as": cx.counts_as}


class PeriodicRelease(Element):
    """Releases packets only at `offset` plus multiples of `period`. The element is on the ACK path."""

    side: ClassVar[Side] = "acks"
    kind: Literal["periodic"]
    period: PositiveTime = Field(examples=['"60ms"'])
    offset: Time = "0s"

    def base(self, cx: Surroundings) -> dict[str, Any]:
        period, offset = _core.parse_time(self.period), _core.parse_time(self.offset)
        return {"kind": "periodic-release", "period": period, "offset": offset}


class EarlyPacket(Element):
    """Delays all packets by `offset`, except for one packet, which is delayed by the shorter time `early`. The early
    packet biases estimates of the minimum RTT.

    The early packet is the first packet that arrives at or after `at`. If `every` is given, there is another early
    packet after each interval of this length.
    """

    kind: Literal["early-packet"]
    offset: PositiveTime = Field(examples=['"1ms"'])
    early: Time = "0s"
    at: Time = "0s"
    every: PositiveTime | None = None

    @model_validator(mode="after")
    def _is_early(self) -> EarlyPacket:
        if _core.parse_time(self.early) >= _core.parse_time(self.offset):
            raise invalid(
                f"{{noun}}'s early packet is not early: `{self.early}`", hint=f"hold it less than {self.offset}"
            )
        return self

    def base(self, cx: Surroundings) -> dict[str, Any]:
        return {
            "kind": "early-packet",
            "offset": _core.parse_time(self.offset),
            "early": _core.parse_time(self.early),
            "at": _core.parse_time(self.at),
            "every": _core.parse_time(self.every) if self.every else None,
        }


class Trajectory(Element):
    """Delays packets by a function of time, given as points [time, delay].

    Between points the delay is constant, or linear if `interpolation` says so. If `repeat` is given, the function
    repeats with this period.
    """

    kind: Literal["trajectory"]
    points: list[Annotated[tuple[Time, Time], BeforeValidator(as_pair)]] = Field(
        min_length=1, examples=['[["0s", "0ms"], ["10s", "5ms"]]']
    )
    interpolation: Literal["step", "linear"] = "step"
    repeat: PositiveTime | None = None

    @model_validator(mode="after")
    def _in_order(self) -> Trajectory:
        times = [_core.parse_time(at) for at, _ in self.points]
        for i in range(1, len(times)):
            if times[i] <= times[i - 1]:
                raise invalid("{noun}'s points must be in order of time", self.points[i][0])
        if self.repeat is not None and _core.parse_time(self.repeat) <= times[-1]:
            raise invalid("{noun} repeats before its last point", self.repeat, f"repeat after {self.points[-1][0]}")
        return self

    def base(self, cx: Surroundings) -> dict[str, Any]:
        return {
            "kind": "trajectory",
            "points": [{"at": _core.parse_time(at), "delay": _core.parse_time(delay)} for at, delay in self.points],
            "interpolation": self.interpolation,
            "repeat": _core.parse_time(self.repeat) if self.repeat else None,
        }


class VirtualLink(Element):
    """Delays packets by at most `bound`, so that the flow observes an ideal link of rate `rate` (docs/derivations.md).

    Before the time `after` the delay is not limited, so that the flow can first converge on this virtual link.
    """

    kind: Literal["virtual-link"]
    rate: Rate = Field(examples=['"12Mbps"'])
    bound: PositiveTime = Field(examples=['"10ms"'])
    after: Time = "0s"

    def base(self, cx: Surroundings) -> dict[str, Any]:
        return {
            "kind": "virtual-link",
            "rate": _core.parse_rate(self.rate),
            "bound": _core.parse_time(self.bound),
            "from": _core.parse_time(self.after),
            "base": cx.base_ns,
            "counts_as": cx.counts_as,
        }


AnyJitter = Annotated[
    ConstantDelay
    | UniformDelay
    | AckAggregation
    | RandomAggregation
    | PeriodicRelease
    | EarlyPacket
    | Trajectory
    | VirtualLink,
    Field(discriminator="kind"),
]


class IidLoss(Element):
    """Drops each packet independently with the same probability."""

    kind: Literal["iid"]
    probability: Fraction = Field(examples=['"2%"'])

    def base(self, cx: Surroundings) -> dict[str, Any]:
        return {"kind": "iid-loss", "per_billion": parse_fraction(self.probability)}


class BurstLoss(Element):
    """Drops packets in bursts (Gilbert-Elliott model); in each of two states packets have a drop probability, `good` or
    `bad`.

    Per packet, the state changes from good to bad with the probability `enter`, and from bad to good with `leave`.
    """

    kind: Literal["burst"]
    enter: Fraction = Field(examples=['"0.1%"'])
    leave: Fraction = Field(examples=['"30%"'])
    good: Fraction = "0%"
    bad: Fraction = "100%"

    @model_validator(mode="after")
    def _ends(self) -> BurstLoss:
        if parse_fraction(self.leave) == 0:
            raise invalid("{noun}'s bursts never end: leave", self.leave, 'write leave = "30%"')
        return self

    def base(self, cx: Surroundings) -> dict[str, Any]:
        return {
            "kind": "burst-loss",
            "to_bad_per_billion": parse_fraction(self.enter),
            "to_good_per_billion": parse_fraction(self.leave),
            "in_good_per_billion": parse_fraction(self.good),
            "in_bad_per_billion": parse_fraction(self.bad),
        }


class PeriodicLoss(Element):
    """Drops every n-th packet."""

    kind: Literal["periodic"]
    every: int = Field(ge=1, le=1 << 62, examples=["1000"])

    def base(self, cx: Surroundings) -> dict[str, Any]:
        return {"kind": "periodic-loss", "every": self.every}


def _loss_from_fraction(value: Any) -> Any:
    return {"kind": "iid", "probability": value} if isinstance(value, (str, int, float)) else value


AnyLoss = Annotated[
    Annotated[IidLoss | BurstLoss | PeriodicLoss, Field(discriminator="kind")], BeforeValidator(_loss_from_fraction)
]


class Policer(Element):
    """A token bucket that drops the packets for which it has too few tokens; the bucket is full at the start."""

    rate: Rate = Field(examples=['"12Mbps"'])
    burst: Data = Field(examples=['"64KiB"'])

    def base(self, cx: Surroundings) -> dict[str, Any]:
        return {"kind": "policer", "rate": _core.parse_rate(self.rate), "burst": _core.parse_bytes(self.burst)}


class Access(Element):
    """An access link, which the flow's packets cross before the shared links; its delay is a part of the flow's
    rtprop.
    """

    rate: Rate | None = None
    delay: Time = "0s"
    buffer: Size = "infinite"

    @model_validator(mode="after")
    def _does_something(self) -> Access:
        if self.rate is None and _core.parse_time(self.delay) == 0:
            raise invalid("{noun} needs a rate or a delay", hint='write access = { rate = "1Gbps", delay = "2ms" }')
        return self

    def elements(self, cx: Surroundings) -> list[dict[str, Any]]:
        """Return the path elements of the access link in base units: a link if it has a rate, and a delay."""
        found: list[dict[str, Any]] = []
        if self.rate is not None:
            link = {"kind": "constant", "rate": _core.parse_rate(self.rate)}
            found.append({"kind": "link", "link": link, "limit": cx.size(self.buffer)})
        if delay := _core.parse_time(self.delay):
            found.append({"kind": "delay", "by": delay})
        return found


def as_list(value: Any) -> Any:
    """Return a list unchanged, and a single table as a list with one entry."""
    return value if isinstance(value, list) else [value]
