"""Where the starvation hunt looks: kinds of jitter on one flow, links, and the scenario each combination stands for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fairweir.cca_spec import as_written
from fairweir.dumbbell import Cca, cca_name, dumbbell, flows, mbps
from fairweir.measure import packets
from fairweir.units import Duration, Rate

if TYPE_CHECKING:
    from fairweir.dumbbell import ScenarioDict


@dataclass(frozen=True)
class Spot:
    """A link and a jitter on the first of the flows that share it.

    Attributes
    ----------
    kind : name of a :class:`Kind`; "none" leaves all flows alike
    d_ms : most that a packet is held, ms
    rate_mbps : of the bottleneck
    buffer : of the bottleneck, as scenarios write it
    duration_s : of the run; its second half is measured
    believed_mbps : rate of the link that a "virtual-link" shows to the jittered flow; 0: a sixteenth of `rate_mbps`
    """

    kind: str
    d_ms: float
    rate_mbps: float
    buffer: str
    duration_s: float
    believed_mbps: float = 0.0

    def at(self, **changes: Any) -> Spot:
        """Give the same with other values."""
        return replace(self, **changes)

    @property
    def packets(self) -> int:
        """What a run costs."""
        return packets(Rate.from_mbps(self.rate_mbps), Duration.from_s(self.duration_s))


@dataclass(frozen=True)
class Kind:
    """A way to delay one flow's packets or ACKs by at most D.

    Attributes
    ----------
    name : as results print it
    text : what it does, for people
    keys : the spot -> the keys it adds to the flow's table
    """

    name: str
    text: str
    keys: Callable[[Spot], dict[str, Any]]


def time_text(time_ms: float) -> str:
    """Give a time as scenarios write it, to the microsecond."""
    return f"{round(time_ms * 1e3)}us"


START_SPREAD_S = 0.1
"""Flows start within it: early enough for all to see an empty queue first, so that jitter is the only difference, and
late enough for phases to be random. What a late-comer gets is another exhibit's question."""

VIRTUAL_DIVISOR = 16.0
"""A flow that believes in a link of this part of the rate leaves the other fifteen times as much: twice the bound of
7."""


def believed_mbps(spot: Spot) -> float:
    """Give the rate of the link that a virtual link shows to the jittered flow."""
    return spot.believed_mbps or spot.rate_mbps / VIRTUAL_DIVISOR


KINDS: tuple[Kind, ...] = (
    Kind(
        "early-packet",
        "every packet is held D longer, but for one every 5 s, with which all that is held leaves: min RTT is D too "
        "small for the rest (starvation paper, section 5.1)",
        lambda spot: {"jitter": {"kind": "early-packet", "offset": time_text(spot.d_ms), "every": "5s"}},
    ),
    Kind(
        "offset",
        "every packet is held D longer: another rtprop (section 5.2 has 40 ms more for one of two BBR flows)",
        lambda spot: {"jitter": {"kind": "constant", "delay": time_text(spot.d_ms)}},
    ),
    Kind(
        "uniform",
        "each packet is held for a random time in [0, D], in order",
        lambda spot: {"jitter": {"kind": "uniform", "max": time_text(spot.d_ms)}},
    ),
    Kind(
        "ack-aggregation",
        "ACKs wait for up to D and leave in bursts (FRCC paper, section 7)",
        lambda spot: {"ack_jitter": {"kind": "ack-aggregation", "hold": time_text(spot.d_ms)}},
    ),
    Kind(
        "random-aggregation",
        "ACKs wait for random times of up to D and leave in batches (thesis, appendix B.6)",
        lambda spot: {"ack_jitter": {"kind": "random-aggregation", "max": time_text(spot.d_ms)}},
    ),
    Kind(
        "periodic",
        "ACKs leave only at multiples of D (section 5.3)",
        lambda spot: {"ack_jitter": {"kind": "periodic", "period": time_text(spot.d_ms)}},
    ),
    Kind(
        "virtual-link",
        "each packet is held for as long as it would queue on a link of its own, of a sixteenth of the rate, but for "
        "at most D: the adversary of theorem 1 (docs/derivations.md)",
        lambda spot: {
            "jitter": {
                "kind": "virtual-link",
                "rate": mbps(believed_mbps(spot)),
                "bound": time_text(spot.d_ms),
            }
        },
    ),
)


@dataclass(frozen=True)
class Space:
    """Everything the hunt may try.

    Attributes
    ----------
    kinds : names of :data:`KINDS`
    rates_mbps : of the coarse grid; the growth of the ratio is followed beyond the last one
    buffers : bottleneck buffers from deep to shallow, as scenarios write them; the shallow ones are for CCAs that lose
        packets even in the deepest, since what a buffer too small for a standing queue does is another question
    d_ms : grid of D, ascending; up to one rtprop, as the network models have it (thesis, section 4.2.3 and appendix
        B.6)
    rtprop_ms : of all flows, before jitter
    flows : how many share the link; the first is jittered
    duration_s : of the coarse grid's runs
    """

    kinds: tuple[str, ...] = tuple(kind.name for kind in KINDS)
    rates_mbps: tuple[float, ...] = (6.0, 24.0, 96.0)
    buffers: tuple[str, ...] = ("4bdp", "1bdp")
    d_ms: tuple[float, ...] = (0.5, 2.0, 8.0, 20.0, 40.0)
    rtprop_ms: float = 40.0
    flows: int = 2
    duration_s: float = 60.0

    def but(self, **changes: Any) -> Space:
        """Give the same with other values."""
        return replace(self, **changes)


def scenario(cca: Cca, space: Space, spot: Spot, seed: int) -> ScenarioDict:
    """Give the scenario of one run at `spot`.

    Parameters
    ----------
    seed : draws the flows' start times and everything random in the run
    """
    # The claim is on long-run shares; half of the run is left for convergence (FRCC's scripts leave 60 %).
    tables = flows("", [space.rtprop_ms] * space.flows, seed, spread_s=START_SPREAD_S)
    for table in tables:
        table["cca"] = as_written(cca)
    about = f"{space.flows} flows of {cca_name(cca)} share {mbps(spot.rate_mbps)}"
    if spot.kind != "none":
        kind = next(k for k in KINDS if k.name == spot.kind)
        tables[0].update(kind.keys(spot))
        tables[0]["id"] = "jittered"
        about += f"; the first suffers {spot.kind} of D = {spot.d_ms:.4g} ms: {kind.text}"
    return dumbbell(
        f"{cca_name(cca)}-{spot.kind}",
        about,
        rate_mbps=spot.rate_mbps,
        buffer=spot.buffer,
        flow_tables=tables,
        duration_s=spot.duration_s,
        warmup_s=spot.duration_s / 2,
        seed=seed,
    )
