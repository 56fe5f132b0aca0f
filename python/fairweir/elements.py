"""A flow's own parts of a path as scenario files describe them: jitter, loss, policers, access links.

Each model is one table of TOML; ``base(cx)`` gives the same in base units, as ``crates/path`` reads it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from fairweir import _core
from fairweir.quantities import (
    Data,
    Fraction,
    PositiveTime,
    Rate,
    Size,
    Time,
    complain,
    parse_fraction,
)

Side = Literal["data", "acks"]


class Table(BaseModel):
    """A table of a scenario file: unknown keys are errors, and texts are never taken for numbers."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


@dataclass(frozen=True)
class Surroundings:
    """What sizes and defaults of an element depend on.

    Attributes
    ----------
    packet_bytes : int
    bdp_bytes : int; the flow's bottleneck rate times its own rtprop
    rate : int, bytes/s; of the flow's bottleneck
    rtprop_ns : int
    """

    packet_bytes: int
    bdp_bytes: int
    rate: int
    rtprop_ns: int

    def size(self, text: str) -> int | None:
        """Bytes; None means no limit."""
        return _core.resolve_size(text, self.packet_bytes, self.bdp_bytes)


class Element(Table):
    """One flow's own part of the path."""

    #: Where ``jitter`` puts it: after the bottleneck on the data's way, or on the ACKs' way.
    side: ClassVar[Side] = "data"

    def base(self, cx: Surroundings) -> dict[str, Any]:
        """Give the element in base units."""
        raise NotImplementedError


class ConstantDelay(Element):
    """Holds every packet equally long."""

    kind: Literal["constant"]
    delay: PositiveTime = Field(examples=['"5ms"'])

    def base(self, cx: Surroundings) -> dict[str, Any]:  # noqa: ARG002, D102
        return {"kind": "delay", "by": _core.parse_time(self.delay)}


class UniformDelay(Element):
    """Holds each packet for a random time, uniform from none to `max`; never reorders."""

    kind: Literal["uniform"]
    max: PositiveTime = Field(examples=['"20ms"'])

    def base(self, cx: Surroundings) -> dict[str, Any]:  # noqa: ARG002, D102
        return {"kind": "uniform", "max": _core.parse_time(self.max)}


class AckAggregation(Element):
    """Holds ACKs and lets them go in a burst, periodically (specs/frcc.md section 4); on the ACKs' way.

    Without `smooth` nothing is held for the first two RTprops; without `rate` the bottleneck's is taken.
    """

    side: ClassVar[Side] = "acks"
    kind: Literal["ack-aggregation"]
    hold: PositiveTime = Field(examples=['"32ms"'])
    rate: Rate | None = None
    smooth: Time | None = None

    def base(self, cx: Surroundings) -> dict[str, Any]:  # noqa: D102
        return {
            "kind": "ack-aggregation",
            "hold": _core.parse_time(self.hold),
            "rate": _core.parse_rate(self.rate) if self.rate else cx.rate,
            "smooth": _core.parse_time(self.smooth) if self.smooth else 2 * cx.rtprop_ns,
        }


class RandomAggregation(Element):
    """Holds for a random time, uniform from none to `max`, then lets that time's worth of data go (thesis B.6)."""

    kind: Literal["random-aggregation"]
    max: PositiveTime = Field(examples=['"40ms"'])
    rate: Rate | None = None

    def base(self, cx: Surroundings) -> dict[str, Any]:  # noqa: D102
        rate = _core.parse_rate(self.rate) if self.rate else cx.rate
        return {"kind": "random-aggregation", "max": _core.parse_time(self.max), "rate": rate}


class PeriodicRelease(Element):
    """Lets packets go only at multiples of `period`; on the ACKs' way."""

    side: ClassVar[Side] = "acks"
    kind: Literal["periodic"]
    period: PositiveTime = Field(examples=['"60ms"'])
    offset: Time = "0s"

    def base(self, cx: Surroundings) -> dict[str, Any]:  # noqa: ARG002, D102
        return {"kind": "periodic", "period": _core.parse_time(self.period), "offset": _core.parse_time(self.offset)}


class EarlyPacket(Element):
    """Holds every packet for `offset` but one, which passes early and poisons min RTT estimates.

    The early one is the first packet after `at`, and again every `every`, if given.
    """

    kind: Literal["early-packet"]
    offset: PositiveTime = Field(examples=['"1ms"'])
    at: Time = "0s"
    every: PositiveTime | None = None

    def base(self, cx: Surroundings) -> dict[str, Any]:  # noqa: ARG002, D102
        return {
            "kind": "early-packet",
            "offset": _core.parse_time(self.offset),
            "at": _core.parse_time(self.at),
            "every": _core.parse_time(self.every) if self.every else None,
        }


class Trajectory(Element):
    """Holds packets as a table of (time, delay) says, constant between the times or linear."""

    kind: Literal["trajectory"]
    points: list[tuple[Time, Time]] = Field(min_length=1, examples=['[["0s", "0ms"], ["10s", "5ms"]]'], strict=False)
    interpolate: Literal["step", "linear"] = "step"

    def base(self, cx: Surroundings) -> dict[str, Any]:  # noqa: ARG002, D102
        points = [[_core.parse_time(at), _core.parse_time(delay)] for at, delay in self.points]
        return {"kind": "trajectory", "points": points, "interpolate": self.interpolate}


class VirtualLink(Element):
    """Holds packets so that the flow sees an ideal link of `rate`, for at most `bound` (specs/ccas.md section 22.7)."""

    kind: Literal["virtual-link"]
    rate: Rate = Field(examples=['"12Mbps"'])
    bound: PositiveTime = Field(examples=['"10ms"'])

    def base(self, cx: Surroundings) -> dict[str, Any]:  # noqa: D102
        rate, bound = _core.parse_rate(self.rate), _core.parse_time(self.bound)
        return {"kind": "virtual-link", "rate": rate, "bound": bound, "base": cx.rtprop_ns // 2}


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
    """Loses each packet with the same probability, independently."""

    kind: Literal["iid"]
    probability: Fraction = Field(examples=['"2%"'])

    def base(self, cx: Surroundings) -> dict[str, Any]:  # noqa: ARG002, D102
        return {"kind": "iid-loss", "per_billion": parse_fraction(self.probability)}


class BurstLoss(Element):
    """Loses packets in bursts (Gilbert-Elliott): `enter` and `leave` are the chances, per packet, to change state."""

    kind: Literal["burst"]
    enter: Fraction = Field(examples=['"0.1%"'])
    leave: Fraction = Field(examples=['"30%"'])
    good: Fraction = "0%"
    bad: Fraction = "100%"

    def base(self, cx: Surroundings) -> dict[str, Any]:  # noqa: ARG002, D102
        parts = {key: parse_fraction(getattr(self, key)) for key in ("enter", "leave", "good", "bad")}
        return {"kind": "burst-loss", **{f"{key}_per_billion": value for key, value in parts.items()}}


class PeriodicLoss(Element):
    """Loses every n-th packet."""

    kind: Literal["periodic"]
    every: int = Field(ge=2, examples=["1000"])

    def base(self, cx: Surroundings) -> dict[str, Any]:  # noqa: ARG002, D102
        return {"kind": "periodic-loss", "every": self.every}


def _loss_from_fraction(value: Any) -> Any:
    return {"kind": "iid", "probability": value} if isinstance(value, (str, int, float)) else value


AnyLoss = Annotated[
    Annotated[IidLoss | BurstLoss | PeriodicLoss, Field(discriminator="kind")], BeforeValidator(_loss_from_fraction)
]


class Policer(Element):
    """A token bucket that drops what does not conform; full at the start."""

    rate: Rate = Field(examples=['"12Mbps"'])
    burst: Data = Field(examples=['"64KiB"'])

    def base(self, cx: Surroundings) -> dict[str, Any]:  # noqa: ARG002, D102
        return {"kind": "policer", "rate": _core.parse_rate(self.rate), "burst": _core.parse_bytes(self.burst)}


class Access(Element):
    """The flow's own link before the shared ones; its delay is part of rtprop."""

    rate: Rate | None = None
    delay: Time = "0s"
    buffer: Size = "infinite"

    @model_validator(mode="after")
    def _does_something(self) -> Access:
        if self.rate is None and _core.parse_time(self.delay) == 0:
            raise complain("{noun} needs a rate or a delay", hint='write access = { rate = "1Gbps", delay = "2ms" }')
        return self

    def elements(self, cx: Surroundings) -> list[dict[str, Any]]:
        """Give the link, if it has a rate, and then the delay, in base units."""
        found: list[dict[str, Any]] = []
        if self.rate is not None:
            link = {"kind": "constant", "rate": _core.parse_rate(self.rate)}
            found.append({"kind": "link", "link": link, "limit": cx.size(self.buffer)})
        if delay := _core.parse_time(self.delay):
            found.append({"kind": "delay", "by": delay})
        return found


def as_list(value: Any) -> Any:
    """Take a table that stands alone for a list of one."""
    return value if isinstance(value, list) else [value]
