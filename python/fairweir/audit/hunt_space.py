"""Where the starvation hunt looks: kinds of jitter on one flow, links, and the scenario each combination stands for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TYPE_CHECKING

from fairweir.audit.exhibits.setting import dumbbell, flows, mbps
from fairweir.audit.measure import packets

if TYPE_CHECKING:
    from fairweir.audit.exhibits.family import ScenarioDict


@dataclass(frozen=True)
class Kind:
    """A way to delay one flow's packets or ACKs by at most D.

    Attributes
    ----------
    name : as results print it
    text : what it does, for people
    keys : D in ms -> the keys it adds to the flow's table
    """

    name: str
    text: str
    keys: Callable[[float], dict[str, Any]]


def time_text(time_ms: float) -> str:
    """Give a time as scenarios write it, to the microsecond."""
    return f"{round(time_ms * 1e3)}us"


KINDS: tuple[Kind, ...] = (
    Kind(
        "early-packet",
        "every packet is held D longer, but for one every few seconds that is not: min RTT is D too small for the rest "
        "(starvation paper, section 5.1)",
        lambda d: {"jitter": {"kind": "early-packet", "offset": time_text(d), "every": "5s"}},
    ),
    Kind(
        "offset",
        "every packet is held D longer: another rtprop (section 5.2 has 40 ms more for one of two BBR flows)",
        lambda d: {"jitter": {"kind": "constant", "delay": time_text(d)}},
    ),
    Kind(
        "uniform",
        "each packet is held for a random time in [0, D], in order",
        lambda d: {"jitter": {"kind": "uniform", "max": time_text(d)}},
    ),
    Kind(
        "ack-aggregation",
        "ACKs wait for up to D and leave in bursts (FRCC paper, section 7)",
        lambda d: {"ack_jitter": {"kind": "ack-aggregation", "hold": time_text(d)}},
    ),
    Kind(
        "random-aggregation",
        "ACKs wait for random times of up to D and leave in batches (thesis, appendix B.6)",
        lambda d: {"ack_jitter": {"kind": "random-aggregation", "max": time_text(d)}},
    ),
    Kind(
        "periodic",
        "ACKs leave only at multiples of D (section 5.3)",
        lambda d: {"ack_jitter": {"kind": "periodic", "period": time_text(d)}},
    ),
)


@dataclass(frozen=True)
class Spot:
    """A link and a jitter on the first of the flows that share it.

    Attributes
    ----------
    kind : name of a :class:`Kind`; "none" leaves all flows alike
    d_ms : most that a packet is held, ms
    rate_mbps : of the bottleneck
    buffer : of the bottleneck, as scenarios write it
    duration_s : of the run; the first third is not measured
    """

    kind: str
    d_ms: float
    rate_mbps: float
    buffer: str
    duration_s: float

    def at(self, **changes: Any) -> Spot:
        """Give the same with other values."""
        return replace(self, **changes)

    @property
    def packets(self) -> int:
        """What a run costs."""
        return packets(self.rate_mbps, self.duration_s)


@dataclass(frozen=True)
class Space:
    """Everything the hunt may try.

    Attributes
    ----------
    kinds : names of :data:`KINDS`
    rates_mbps : of the coarse grid; the growth of the ratio is followed beyond the last one
    buffers : bottleneck buffers, as scenarios write them
    d_ms : grid of D, ascending
    rtprop_ms : of all flows, before jitter
    flows : how many share the link; the first is jittered
    duration_s : of the coarse grid's runs
    """

    kinds: tuple[str, ...] = tuple(kind.name for kind in KINDS)
    rates_mbps: tuple[float, ...] = (24.0, 96.0, 384.0)
    buffers: tuple[str, ...] = ("1bdp", "4bdp")
    d_ms: tuple[float, ...] = (0.5, 2.0, 8.0, 32.0, 128.0)
    rtprop_ms: float = 40.0
    flows: int = 2
    duration_s: float = 30.0

    def with_rates(self, rates_mbps: tuple[float, ...]) -> Space:
        """Give the same with other rates."""
        return replace(self, rates_mbps=rates_mbps)


Cca = str | Mapping[str, Any]
"""A CCA as scenarios name it: ``"vegas"`` or ``{"name": "vegas", "alpha": 4}``."""


def cca_name(cca: Cca) -> str:
    """Give the name alone."""
    return cca if isinstance(cca, str) else str(cca["name"])


def scenario(cca: Cca, space: Space, spot: Spot, seed: int) -> ScenarioDict:
    """Give the scenario of one run at `spot`.

    Parameters
    ----------
    seed : draws the flows' start times, within the first tenth of the run, and everything random in it
    """
    # The claim is on long-run shares; a third of the run is left for convergence (specs/frcc.md section 4 leaves 60 %).
    tables = flows("", [space.rtprop_ms] * space.flows, seed, spread_s=min(2.0, spot.duration_s / 10))
    for table in tables:
        table["cca"] = cca if isinstance(cca, str) else dict(cca)
    about = f"{space.flows} flows of {cca_name(cca)} share {mbps(spot.rate_mbps)}"
    if spot.kind != "none":
        kind = next(k for k in KINDS if k.name == spot.kind)
        tables[0].update(kind.keys(spot.d_ms))
        tables[0]["id"] = "jittered"
        about += f"; the first suffers {spot.kind} of D = {spot.d_ms:.4g} ms: {kind.text}"
    return dumbbell(
        f"{cca_name(cca)}-{spot.kind}",
        about,
        rate_mbps=spot.rate_mbps,
        buffer=spot.buffer,
        flow_tables=tables,
        duration_s=spot.duration_s,
        warmup_s=round(spot.duration_s / 3, 3),
        seed=seed,
    )
