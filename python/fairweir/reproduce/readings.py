"""Compute readings: numbers that checks of published results use, each computed from some of a run's flows.

Jain's index is 1 if all rates are equal; rtprop is the round-trip propagation delay.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from itertools import accumulate, pairwise
from typing import Any

from fairweir.errors import ConfigError
from fairweir.judging import metrics
from fairweir.judging.interval import Scale
from fairweir.judging.summary import FlowSummary, OverTime, Summary
from fairweir.reproduce.experiment import Check, Reading
from fairweir.scenario.model import Scenario
from fairweir.units import Duration

SCALES: dict[Reading, Scale] = {
    "ratio": Scale.RATIO,
    "jain": Scale.FRACTION,
    "late_jain": Scale.FRACTION,
    "utilization": Scale.FRACTION,
    "loss_rate": Scale.FRACTION,
    "large_losses": Scale.FRACTION,
}
"""Reading -> scale of its values, for readings whose errors add. The errors of all other readings multiply."""

LARGE_LOSS_PKTS = 10
"""If a flow loses more than this number of packets within one rtprop, the loss is large: 2 alpha, where alpha is 5
packets (thesis 4.2.4).
"""

LATE = 1 / 3
"""A change is a start or end of a flow. Flows should have converged in the last part of the time between two changes;
this is the length of that part, as a fraction.
"""


def read(check: Check, scenario: Scenario, summary: Summary) -> float:
    """Return the reading of a check for one run.

    Parameters
    ----------
    summary : Summary of the run; ``late_jain``, ``max_lost_in_rtprop`` and ``large_losses`` need its ``over_time``

    Raises
    ------
    ConfigError : the check names flows that are not in the scenario
    """
    if check.reading == "late_jain":
        return late_jain(scenario, summary.over_time)
    if check.reading == "max_lost_in_rtprop":
        return float(max(max(lost) for lost in _lost_in_rtprops(scenario, summary, check.of)))
    if check.reading == "large_losses":
        return _mean(
            count > LARGE_LOSS_PKTS for lost in _lost_in_rtprops(scenario, summary, check.of) for count in lost
        )
    if check.reading == "utilization":
        return metrics.utilization(summary)
    flows = chosen(summary, check.of)
    if check.reading == "lost_per_rtprop":
        return _lost_per_rtprop(scenario, flows)
    if check.reading in _OF_A_FLOW:
        return _mean(value for flow in flows if (value := _OF_A_FLOW[check.reading](flow)) is not None)
    throughputs = [_throughput(flow) for flow in flows]
    if check.reading == "gain":
        others = _mean(_throughput(flow) for flow in chosen(summary, check.by))
        return min(_mean(throughputs) / others, metrics.RATIO_CEILING) if others > 0 else metrics.RATIO_CEILING
    return metrics.jain(throughputs) if check.reading == "jain" else metrics.max_min_ratio(throughputs)


def chosen(summary: Summary, names: Sequence[str]) -> list[FlowSummary]:
    """Return the flows whose ids match at least one of the patterns `names`."""
    flows = [flow for flow in summary.flows if any(fnmatchcase(flow.id, name) for name in names)]
    if not flows:
        known = ", ".join(flow.id for flow in summary.flows)
        raise ConfigError(f"no flow is named `{', '.join(names)}`", hint=f"flows are {known}")
    return flows


def late_jain(scenario: Scenario, over_time: OverTime) -> float:
    """Return Jain's index of the active flows in the last third of the time between two changes: the minimum over all
    such times.
    """
    config = scenario.resolve()
    starts = [Duration.from_ns(flow["start"]).s for flow in config["flows"]]
    end_s = Duration.from_ns(config["duration"]).s
    stops = [Duration.from_ns(flow["stop"]).s if flow["stop"] is not None else end_s for flow in config["flows"]]
    changes = sorted({*starts, *stops, end_s})
    worst = 1.0
    for begin, end in pairwise(changes):
        active = [
            i for i, (start, stop) in enumerate(zip(starts, stops, strict=True)) if start <= begin and stop >= end
        ]
        late = [k for k, t in enumerate(over_time.t_s) if end - (end - begin) * LATE < t <= end + 1e-9]
        if len(active) > 1 and late:
            worst = min(worst, metrics.jain([_mean(over_time.throughput_mbps[i][k] for k in late) for i in active]))
    return worst


def _lost_per_rtprop(scenario: Scenario, flows: Sequence[FlowSummary]) -> float:
    """Return the number of packets that a flow loses per rtprop: the mean over time, after the warm-up, and over
    flows.
    """
    config = scenario.resolve()
    rtprops = {flow["id"]: flow["rtprop"] for flow in config["flows"]}
    counted_ns = config["duration"] - config["warmup"]
    return _mean(flow.lost_pkts * rtprops[flow.id] / counted_ns for flow in flows)


def _lost_in_rtprops(scenario: Scenario, summary: Summary, names: Sequence[str]) -> list[list[int]]:
    """Return, for each flow, the packets lost in each interval of one rtprop after the warm-up. The intervals
    overlap.
    """
    config, over_time = scenario.resolve(), summary.over_time
    t_s, warmup_s = over_time.t_s, Duration.from_ns(config["warmup"]).s
    first = next(i for i, t in enumerate(t_s) if t > warmup_s)
    wanted = {flow.id for flow in chosen(summary, names)}
    found = []
    for flow, lost in zip(config["flows"], over_time.lost_pkts, strict=True):
        if flow["id"] in wanted:
            window = max(1, round(Duration.from_ns(flow["rtprop"]).s / (t_s[1] - t_s[0])))
            sums = [0, *accumulate(lost[first:])]
            found.append([after - before for before, after in zip(sums, sums[window:], strict=False)])
    return found


def _throughput(flow: FlowSummary) -> float:
    return flow.throughput_mbps


_OF_A_FLOW: dict[Reading, Callable[[FlowSummary], float | None]] = {
    "throughput_mbps": _throughput,
    "rtt_ms": lambda flow: flow.rtt_ms.mean,
    "rtt_p99_ms": lambda flow: flow.rtt_ms.p99,
    "qdelay_ms": lambda flow: flow.qdelay_ms.mean,
    "loss_rate": lambda flow: flow.loss_rate,
}
"""Readings that are means over flows. A flow without an RTT sample is left out of means of RTTs."""


def _mean(values: Any) -> float:
    numbers = list(values)
    return sum(numbers) / len(numbers) if numbers else 0.0
