"""Search space of the starvation hunt: kinds of jitter on one flow, links, and the scenario for each combination.

D is the maximum jitter: the longest time for which a packet or ACK is held.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fairweir.ccas.cca_spec import as_written
from fairweir.documents.digits import plain
from fairweir.play.measure import packets
from fairweir.scenario.dumbbell import PHASE_SPREAD, Cca, cca_name, dumbbell_document, flows
from fairweir.units import Duration, Rate

if TYPE_CHECKING:
    from fairweir.scenario.dumbbell import ScenarioDict


@dataclass(frozen=True)
class Spot:
    """A point of the search space: a link, and a jitter on the first of the flows that share the link.

    Attributes
    ----------
    kind : name of a :class:`Kind`; "none": no flow has jitter
    d : D, the longest time for which a packet or ACK is held
    rate : rate of the bottleneck
    buffer : buffer of the bottleneck, in scenario notation
    duration : duration of the run; its second half is measured
    believed : rate of the link that jitter of the kind "virtual-link" imitates; None: a sixteenth of `rate`
    """

    kind: str
    d: Duration
    rate: Rate
    buffer: str
    duration: Duration
    believed: Rate | None = None

    def at(self, **changes: Any) -> Spot:
        """Return a copy with these fields replaced."""
        return replace(self, **changes)

    @property
    def packets(self) -> int:
        """Number of packets in a run; the hunt counts it as the run's cost."""
        return packets(self.rate, self.duration)


@dataclass(frozen=True)
class Kind:
    """A way to delay one flow's packets or ACKs by at most D.

    Attributes
    ----------
    name : name of the kind in results
    text : description of the jitter's effect
    keys : function from a spot to the scenario keys that are added to the jittered flow's table
    """

    name: str
    text: str
    keys: Callable[[Spot], dict[str, Any]]


US = Duration.from_us(1)

VIRTUAL_DIVISOR = 16.0
"""If the jitter imitates a link of 1/16 of the rate, the jittered flow leaves 15 times its own throughput to the other
flow: twice the hunt's default bound of 7 on the throughput ratio.
"""


def believed(spot: Spot) -> Rate:
    """Return the rate of the link that jitter of the kind "virtual-link" imitates for the jittered flow."""
    return spot.believed or spot.rate / VIRTUAL_DIVISOR


def _held(spot: Spot) -> str:
    """Return D in scenario notation, to the microsecond."""
    return str(spot.d.rounded(US))


KINDS: tuple[Kind, ...] = (
    Kind(
        "early-packet",
        "every packet is held D longer, except one every 5 s, which releases all held packets: the min RTT is D below "
        "that of all other packets (starvation paper, section 5.1)",
        lambda spot: {"jitter": {"kind": "early-packet", "offset": _held(spot), "every": "5s"}},
    ),
    Kind(
        "offset",
        "every packet is held D longer: equivalent to a larger rtprop (section 5.2 adds 40 ms for one of two BBR "
        "flows)",
        lambda spot: {"jitter": {"kind": "constant", "delay": _held(spot)}},
    ),
    Kind(
        "uniform",
        "each packet is held for a random time in [0, D], without reordering",
        lambda spot: {"jitter": {"kind": "uniform", "max": _held(spot)}},
    ),
    Kind(
        "ack-aggregation",
        "ACKs wait for up to D and leave in bursts (FRCC paper, section 7)",
        lambda spot: {"ack_jitter": {"kind": "ack-aggregation", "hold": _held(spot)}},
    ),
    Kind(
        "random-aggregation",
        "ACKs wait for random times of up to D and leave in bursts (thesis, appendix B.6)",
        lambda spot: {"ack_jitter": {"kind": "random-aggregation", "max": _held(spot)}},
    ),
    Kind(
        "periodic",
        "ACKs leave only at multiples of D (section 5.3)",
        lambda spot: {"ack_jitter": {"kind": "periodic", "period": _held(spot)}},
    ),
    Kind(
        "virtual-link",
        "each packet is held for as long as it would queue on a slower link of its own, at most D: the adversary of "
        "theorem 1 (docs/derivations.md)",
        lambda spot: {
            "jitter": {
                "kind": "virtual-link",
                "rate": str(believed(spot)),
                "bound": _held(spot),
            }
        },
    ),
)


@dataclass(frozen=True)
class Space:
    """The values that a hunt may try.

    Attributes
    ----------
    kinds : names of :data:`KINDS`
    rates : link rates of the coarse grid; to measure the ratio's growth, the hunt goes beyond the highest of these
        rates
    buffers : bottleneck buffers, deepest first, in scenario notation. Buffers other than the deepest are tried only if
        the CCA loses packets in the deepest buffer. Buffers too small for a standing queue are not searched
    d : grid of D, ascending; at most one rtprop, as in the thesis's network models (section 4.2.3 and appendix
        B.6)
    rtprop : round-trip propagation delay of all flows, without jitter
    flows : number of flows that share the link; the first has jitter
    duration : duration of the coarse grid's runs
    """

    kinds: tuple[str, ...] = tuple(kind.name for kind in KINDS)
    rates: tuple[Rate, ...] = tuple(map(Rate.from_mbps, (6, 24, 96)))
    buffers: tuple[str, ...] = ("4bdp", "1bdp")
    d: tuple[Duration, ...] = tuple(map(Duration.from_ms, (0.5, 2, 8, 20, 40)))
    rtprop: Duration = Duration.from_ms(40)
    flows: int = 2
    duration: Duration = Duration.from_s(60)

    def but(self, **changes: Any) -> Space:
        """Return a copy with these fields replaced."""
        return replace(self, **changes)


def scenario(cca: Cca, space: Space, spot: Spot, seed: int) -> ScenarioDict:
    """Return the scenario of one run at `spot`.

    Parameters
    ----------
    seed : seed of the flows' start times and of all other random numbers in the run
    """
    # The claim is about long-run throughputs, so the first half of the run is warm-up (FRCC's scripts use 60 %).
    tables = flows("", [space.rtprop] * space.flows, seed, PHASE_SPREAD)
    for table in tables:
        table["cca"] = as_written(cca)
    about = f"{space.flows} flows of {cca_name(cca)} share {spot.rate}"
    if spot.kind != "none":
        kind = next(k for k in KINDS if k.name == spot.kind)
        tables[0].update(kind.keys(spot))
        tables[0]["id"] = "jittered"
        about += f"; the first has jitter ({spot.kind}, D = {plain(spot.d.ms, 4)} ms): {kind.text}"
    return dumbbell_document(
        f"{cca_name(cca)}-{spot.kind}",
        about,
        rate=spot.rate,
        buffer=spot.buffer,
        flow_tables=tables,
        duration=spot.duration,
        warmup=spot.duration / 2,
        seed=seed,
    )
