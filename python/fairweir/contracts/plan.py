"""Which runs an empirical contract is derived from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fairweir.contracts.points import Setting
from fairweir.dumbbell import Cca, cca_name


@dataclass(frozen=True)
class Plan:
    """Which runs to make.

    Attributes
    ----------
    capacities_mbps, flows : all combinations, at the first rtprop
    rtprops_ms : the first for the fit; the others, at fewer settings, for what depends on rtprop
    deep_buffer, ample_buffer, shallow_buffer : as scenarios write them; the ample one is for CCAs that overflow the
        deep one now and then, the shallow one for those that fill any buffer: the thesis gives Cubic one BDP, the
        others four
    duration_s, warmup_s : of each run
    seeds : of each setting
    ecn : may the bottleneck mark, and flows react?
    oracle : are the flows told their rtprop from the start?
    """

    capacities_mbps: tuple[float, ...] = (24.0, 48.0, 96.0)
    flows: tuple[int, ...] = (2, 3, 4, 6, 8)
    rtprops_ms: tuple[float, ...] = (40.0, 20.0, 80.0)
    deep_buffer: str = "4bdp"
    ample_buffer: str = "20bdp"
    shallow_buffer: str = "1bdp"
    duration_s: float = 90.0
    warmup_s: float = 30.0
    seeds: tuple[int, ...] = (1, 2)
    ecn: bool = False
    oracle: bool = False

    def settings(self, buffer: str) -> list[Setting]:
        """Give settings of the fit."""
        return [self._setting(c, self.rtprops_ms[0], n, buffer) for c in self.capacities_mbps for n in self.flows]

    def corners(self, rtprops_ms: Sequence[float], buffer: str) -> list[Setting]:
        """First, middle and last capacity and flow count, at each of `rtprops_ms`."""
        capacities, flows = self.capacities_mbps, self.flows
        picked_capacities = sorted({capacities[0], capacities[len(capacities) // 2], capacities[-1]})
        picked_flows = sorted({flows[0], flows[len(flows) // 2], flows[-1]})
        return [self._setting(c, r, n, buffer) for r in rtprops_ms for c in picked_capacities for n in picked_flows]

    def _setting(self, capacity_mbps: float, rtprop_ms: float, flows: int, buffer: str) -> Setting:
        return Setting(capacity_mbps, rtprop_ms, flows, buffer, self.ecn, self.oracle)


PYTHON_PLAN = Plan(
    capacities_mbps=(6.0, 12.0, 24.0), flows=(2, 4, 8), rtprops_ms=(40.0,), duration_s=40.0, warmup_s=15.0
)
"""For Python classes, which are called for every ACK: a million of them."""


def plan_for(cca: Cca) -> Plan:
    """Give the plan that suits the kind of CCA."""
    return PYTHON_PLAN if ":" in cca_name(cca) else Plan()
