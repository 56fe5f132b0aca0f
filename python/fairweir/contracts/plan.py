"""Choose the simulator runs from which a CCA's contract is derived.

A contract is a flow's rate as a function of a congestion statistic. The fit of this function needs runs that differ in
link rate and number of flows. The round-trip propagation delay is called rtprop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fairweir.contracts.points import Setting
from fairweir.scenario.dumbbell import Cca, cca_name
from fairweir.units import Duration, Rate


@dataclass(frozen=True)
class Plan:
    """The values that the settings of the runs combine.

    Attributes
    ----------
    capacities, flows : link rates and numbers of flows, which are all combined at the first rtprop
    rtprops : the runs for the fit have the first rtprop; fewer runs have the others, and show whether the rate depends
        on rtprop
    deep_buffer, ample_buffer, shallow_buffer : buffer sizes in scenario notation. The deep buffer is the default, the
        ample buffer is for CCAs that occasionally overflow the deep buffer, and the shallow buffer is for CCAs that
        fill any buffer. The thesis uses one BDP for Cubic and four for other CCAs
    duration, warmup : duration of each run, and the part of it before the measurement
    seeds : seeds with which each setting is run
    ecn : whether the bottleneck marks packets
    oracle : whether the flows know their rtprop from the start
    """

    capacities: tuple[Rate, ...] = (Rate.from_mbps(24), Rate.from_mbps(48), Rate.from_mbps(96))
    flows: tuple[int, ...] = (2, 3, 4, 6, 8)
    rtprops: tuple[Duration, ...] = (Duration.from_ms(40), Duration.from_ms(20), Duration.from_ms(80))
    deep_buffer: str = "4bdp"
    ample_buffer: str = "20bdp"
    shallow_buffer: str = "1bdp"
    duration: Duration = Duration.from_s(90)
    warmup: Duration = Duration.from_s(30)
    seeds: tuple[int, ...] = (1, 2)
    ecn: bool = False
    oracle: bool = False

    def settings(self, buffer: str) -> list[Setting]:
        """Return the settings of the runs to which the contract is fitted."""
        return [self._setting(c, self.rtprops[0], n, buffer) for c in self.capacities for n in self.flows]

    def corners(self, rtprops: Sequence[Duration], buffer: str) -> list[Setting]:
        """Return settings with the first, middle and last of the link rates and of the numbers of flows, at each of
        `rtprops`.
        """
        capacities, flows = self.capacities, self.flows
        picked_capacities = sorted({capacities[0], capacities[len(capacities) // 2], capacities[-1]})
        picked_flows = sorted({flows[0], flows[len(flows) // 2], flows[-1]})
        return [self._setting(c, r, n, buffer) for r in rtprops for c in picked_capacities for n in picked_flows]

    def _setting(self, capacity: Rate, rtprop: Duration, flows: int, buffer: str) -> Setting:
        return Setting(capacity, rtprop, flows, buffer, self.ecn, self.oracle)


PYTHON_PLAN = Plan(
    capacities=(Rate.from_mbps(6), Rate.from_mbps(12), Rate.from_mbps(24)),
    flows=(2, 4, 8),
    rtprops=(Duration.from_ms(40),),
    duration=Duration.from_s(40),
    warmup=Duration.from_s(15),
)
"""Plan for CCAs that are Python classes. These are slow, because each ACK calls a Python method: about a million calls
in this plan.
"""


def plan_for(cca: Cca) -> Plan:
    """Return the plan for a CCA: `PYTHON_PLAN` if the CCA is a Python class, and otherwise the default plan."""
    return PYTHON_PLAN if ":" in cca_name(cca) else Plan()
