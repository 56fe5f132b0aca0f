"""Record a trajectory: the send and arrival times of the packets of one flow that is alone on an ideal link."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairweir.play.run import MAX_PACKETS, run
from fairweir.scenario.model import Scenario
from fairweir.scenario.resolve import resolve
from fairweir.units import Bytes, Duration, Rate

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

TAIL = Duration.from_s(2)
"""Time for which a run continues after the span, so that the span's last packets arrive."""


@dataclass(frozen=True)
class Trajectory:
    """The packets that one flow sent in a part of its run (the span).

    Attributes
    ----------
    scenario : dict, the scenario of the run
    link_bytes_per_s : int, rate of the ideal link
    origin_ns : int, time in the run at which the span begins
    span_ns : int, length of the span
    packet_bytes : int, size of a packet
    one_way_ns : int, propagation delay from the sender to the receiver
    sent_ns, arrived_ns : int64 arrays with one element per packet, in ns after `origin_ns`
    """

    scenario: dict[str, Any]
    link_bytes_per_s: int
    origin_ns: int
    span_ns: int
    packet_bytes: int
    one_way_ns: int
    sent_ns: npt.NDArray[np.int64]
    arrived_ns: npt.NDArray[np.int64]

    @property
    def throughput(self) -> Rate:
        """Bytes sent in the span, divided by the length of the span."""
        return Bytes(len(self.sent_ns) * self.packet_bytes) / Duration.from_ns(self.span_ns)


def record(
    document: dict[str, Any],
    origin: Duration,
    span: Duration,
    on_progress: Callable[[float], object] | None = None,
) -> Trajectory:
    """Run one flow alone, and return the packets that the flow sent in the span.

    Parameters
    ----------
    document : scenario of one flow and one link, as a TOML document; the scenario must end well after the span
    origin, span : time in the run at which the span begins, and length of the span
    on_progress : called periodically with the completed fraction of the run

    Raises
    ------
    ConfigError : the flow sends more packets than a record can hold
    ControllerError, CcaError : the CCA fails during the run or cannot be loaded
    """
    import numpy as np

    scenario = Scenario.from_dict(document, source="starve")
    packets = run(scenario, record_packets=MAX_PACKETS, on_progress=on_progress).packets
    sent = packets["sent_ns"].astype(np.int64) - origin.ns
    arrived = np.ma.filled(packets["arrived_ns"], 0).astype(np.int64) - origin.ns
    within = slice(*np.searchsorted(sent, [0, span.ns]))
    config = resolve(scenario)
    return Trajectory(
        scenario=document,
        link_bytes_per_s=Rate.parse(document["link"]["bottleneck"]["rate"]).bytes_per_s,
        origin_ns=origin.ns,
        span_ns=span.ns,
        packet_bytes=config["packet"],
        one_way_ns=config["flows"][0]["forward_delay"],
        sent_ns=sent[within],
        arrived_ns=arrived[within],
    )
