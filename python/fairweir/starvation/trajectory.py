"""Trajectories: the send times and arrival times of the packets of one flow alone on an ideal link."""

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
    """The packets that one flow sent in a span of its run.

    Attributes
    ----------
    scenario : dict, the scenario of the run
    link_bytes_per_s : int, the ideal link's rate
    origin_ns : int, the run's time at which the span begins
    span_ns : int
    packet_bytes, one_way_ns : int, size of a packet; propagation to the receiver
    sent_ns, arrived_ns : int64 arrays, n packets, since `origin_ns`
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
        """Rate at which data were sent over the span."""
        return Bytes(len(self.sent_ns) * self.packet_bytes) / Duration.from_ns(self.span_ns)


def record(
    document: dict[str, Any],
    origin: Duration,
    span: Duration,
    on_progress: Callable[[float], object] | None = None,
) -> Trajectory:
    """Run one flow alone and return the packets that it sent in the span.

    Parameters
    ----------
    origin, span : where the span begins in the run, and its length
    document : a scenario of one flow and one link, as a TOML document, that ends well after the span
    on_progress : called periodically with the completed fraction

    Raises
    ------
    ConfigError : there are more packets than a record can hold
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
