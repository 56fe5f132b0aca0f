"""Define the scenarios from which a contract is derived, and read the flows' observations from their runs.

A contract is a function from a statistic, which a flow observes, to an output, such as the flow's rate. A turning point
is a moment at which a flow's window changes from growth to decline or back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from fairweir.ccas.cca_spec import as_written
from fairweir.contracts.fit import Points
from fairweir.judging.summary import Summary
from fairweir.play.measure import packets
from fairweir.scenario.dumbbell import PACKET, Cca, cca_name, exact_dumbbell, flows
from fairweir.units import Duration, Rate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairweir.scenario.dumbbell import ScenarioDict

STATISTICS: dict[str, str] = {
    "p50_qdelay_ms": "ms",
    "mean_qdelay_ms": "ms",
    "loss_rate": "",
    "mark_rate": "",
    "turning_qdelay_ms": "ms",
}
"""The statistics and their units. They are the observations of congestion of thesis section 5.2.1, the mark rate (ECN),
and the queueing delay at the turning points of a window with a limit cycle.
"""

OUTPUTS: dict[str, str] = {
    "rate": "Mbps",
    "window": "packets",
    "share": "of capacity",
    "turning_rate": "Mbps",
}
"""The outputs of a contract and their units: a rate; a window, which is a rate with an RTT bias (thesis section 5.2.2);
a fraction of the link, as for FRCC (thesis section 6.6); or the rate at the turning points of a window. Of equally good
outputs, the first in this order is chosen.
"""

TURNING = ("turning_qdelay_ms", "turning_rate")
"""The statistic and the output that are read at turning points. Each is meaningful only together with the other."""

PAIRS: tuple[tuple[str, str], ...] = (
    *((s, o) for s in STATISTICS for o in OUTPUTS if s != TURNING[0] and o != TURNING[1]),
    TURNING,
)
"""The pairs of a statistic and an output to which contracts are fitted."""


@dataclass(frozen=True)
class Setting:
    """A scenario in which identical flows share one bottleneck link.

    Attributes
    ----------
    capacity, rtprop, flows, buffer : link rate, round-trip propagation delay, number of flows, and buffer in scenario
        notation
    ecn : whether the bottleneck marks packets
    oracle : whether the flows know the propagation delay
    """

    capacity: Rate
    rtprop: Duration
    flows: int
    buffer: str
    ecn: bool = False
    oracle: bool = False

    def scenario(self, cca: Cca, duration: Duration, warmup: Duration, seed: int) -> ScenarioDict:
        """Return the scenario of one run. The flows start at random times in the first two seconds, which depend on
        `seed`.
        """
        tables = flows("", [self.rtprop] * self.flows, seed)
        for table in tables:
            table["cca"] = as_written(cca)
            if self.oracle:
                table["oracle_rtprop"] = True
        link: dict[str, Any] = {}
        if self.ecn:
            # A threshold of a fifth of a BDP is far from an empty queue and from a full buffer.
            link["aqm"] = {"kind": "ecn-threshold", "threshold": "0.2bdp"}
            for table in tables:
                table["ecn"] = True
        return exact_dumbbell(
            f"contract-{cca_name(cca)}",
            f"{self.flows} flows of {cca_name(cca)} on a dumbbell: one point of its contract",
            rate=self.capacity,
            buffer=self.buffer,
            flow_tables=tables,
            duration=duration,
            warmup=warmup,
            seed=seed,
            **link,
        )

    def packets(self, duration: Duration) -> int:
        """Return the number of packets that the link carries in a run, which measures the cost of the simulation."""
        return packets(self.capacity, duration)


class ContractPoint(BaseModel):
    """The observations and the rate of one flow in one run."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    run: int
    capacity_mbps: float
    rtprop_ms: float
    flows: int
    seed: int
    rate_mbps: float
    window_pkts: float
    """The rate times the mean RTT, in packets of 1500 bytes."""
    share: float
    """The rate divided by the link rate."""
    p50_qdelay_ms: float
    mean_qdelay_ms: float
    loss_rate: float
    mark_rate: float
    turning_qdelay_ms: float = 0.0
    turning_rate_mbps: float = 0.0
    """The rate at turning points (`contracts/turning_points.py`); 0 if the window has too few, or if they were not
    measured.
    """

    def statistic(self, name: str) -> float:
        """Return the value of the statistic `name`, one of `STATISTICS`."""
        return float(getattr(self, name))

    def output(self, name: str) -> float:
        """Return the value of the output `name`, one of `OUTPUTS`."""
        of = {"rate": self.rate_mbps, "window": self.window_pkts, "share": self.share}
        return {**of, "turning_rate": self.turning_rate_mbps}[name]


def read(setting: Setting, seed: int, run: int, summary: Summary) -> list[ContractPoint]:
    """Return, from the summary of a run, a point for each flow that measured an RTT."""
    return [
        ContractPoint(
            run=run,
            capacity_mbps=setting.capacity.mbps,
            rtprop_ms=setting.rtprop.ms,
            flows=setting.flows,
            seed=seed,
            rate_mbps=flow.throughput_mbps,
            window_pkts=Rate.from_mbps(flow.throughput_mbps) * Duration.from_ms(flow.rtt_ms.mean) / PACKET,
            share=flow.throughput_mbps / setting.capacity.mbps,
            p50_qdelay_ms=flow.qdelay_ms.p50,
            mean_qdelay_ms=flow.qdelay_ms.mean,
            loss_rate=flow.loss_rate,
            mark_rate=flow.mark_rate,
            **{f"turning_{name}": value for name, value in (flow.extra.get("turning") or {}).items()},
        )
        for flow in summary.flows
        # A flow without an RTT sample has no window and no queueing delay.
        if flow.rtt_ms.mean is not None
    ]


def points_of(
    measured: Sequence[ContractPoint], statistic: str, output: str, *, min_spread: float = 1.2
) -> Points | None:
    """Return the values of one statistic and one output in the form that :mod:`fairweir.contracts.fit` requires.

    Parameters
    ----------
    measured : points with all statistics and outputs
    statistic, output : names in `STATISTICS` and `OUTPUTS`
    min_spread : minimum ratio of the 95th to the 5th percentile of the statistic. If the ratio is smaller, the
        statistic does not distinguish rates

    Returns
    -------
    Points, without flows whose statistic or output is 0; None if more than a fifth of the flows are left out, or if the
        statistic varies too little
    """
    use = [p for p in measured if p.statistic(statistic) > 0.0 and p.output(output) > 0.0]
    if len(use) < max(6, 0.8 * len(measured)):
        return None
    values = np.array([p.statistic(statistic) for p in use])
    low, high = np.percentile(values, [5.0, 95.0])
    if high < min_spread * low:
        return None
    return Points(
        statistic=values,
        rate=np.array([p.output(output) for p in use]),
        group=np.array([p.run for p in use], dtype=np.int64),
        capacity=np.array([p.capacity_mbps for p in use]),
    )
