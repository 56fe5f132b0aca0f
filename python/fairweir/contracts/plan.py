"""The runs from which an empirical contract is derived."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fairweir.contracts.points import Setting
from fairweir.scenario.dumbbell import Cca, cca_name
from fairweir.units import Duration, Rate


@dataclass(frozen=True)
class Plan:
    """The settings of the runs.

    Attributes
    ----------
    capacities, flows : link rates and numbers of flows; all combinations run at the first rtprop
    rtprops : the first is that of the fit; the others, at fewer settings, show a bias with respect to rtprop
    deep_buffer, ample_buffer, shallow_buffer : buffers in scenario notation. The ample buffer is for CCAs that
        occasionally overflow the deep buffer, the shallow buffer for CCAs that fill any buffer. The thesis uses one BDP
        for Cubic and four for other CCAs
    duration, warmup : duration and warm-up of each run
    seeds : seeds of each setting
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
        """Return the settings of the runs for the fit."""
        return [self._setting(c, self.rtprops[0], n, buffer) for c in self.capacities for n in self.flows]

    def corners(self, rtprops: Sequence[Duration], buffer: str) -> list[Setting]:
        """Return settings with the first, middle and last link rate and number of flows, at each of `rtprops`."""
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
"""Plan for CCAs that are Python classes, which are slow: a plan calls them about a million times, once per ACK."""


def plan_for(cca: Cca) -> Plan:
    """Return the plan for a CCA: a small one for Python classes, the default for others."""
    return PYTHON_PLAN if ":" in cca_name(cca) else Plan()
