"""What is read off a run: one number, of some of its flows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import Any

from fairweir.audit import metrics
from fairweir.audit.intervals import Scale
from fairweir.errors import ConfigError
from fairweir.reproduce.experiment import Check, Reading
from fairweir.scenario import Scenario

SCALES: dict[Reading, Scale] = {
    "ratio": Scale.RATIO,
    "jain": Scale.FRACTION,
    "late_jain": Scale.FRACTION,
    "utilization": Scale.FRACTION,
    "loss_rate": Scale.FRACTION,
}
"""Where the values of readings end; the errors of the others multiply."""

LATE = 1 / 3
"""Share of the time between two changes, at its end, in which flows should have settled."""


def read(check: Check, scenario: Scenario, summary: Mapping[str, Any]) -> float:
    """Give the reading of one run.

    Parameters
    ----------
    summary : of the run; for ``late_jain`` with ``over_time``

    Raises
    ------
    ConfigError : the check names flows that the scenario has not
    """
    if check.reading == "late_jain":
        return late_jain(scenario, summary["over_time"])
    if check.reading == "utilization":
        return metrics.utilization(summary)
    flows = chosen(summary, check.of)
    if check.reading == "lost_per_rtprop":
        return _lost_per_rtprop(scenario, flows)
    if check.reading in _OF_A_FLOW:
        return _mean(_OF_A_FLOW[check.reading](flow) for flow in flows)
    throughputs = [_throughput(flow) for flow in flows]
    if check.reading == "gain":
        others = _mean(_throughput(flow) for flow in chosen(summary, check.by))
        return min(_mean(throughputs) / others, metrics.RATIO_CEILING) if others > 0 else metrics.RATIO_CEILING
    return metrics.jain(throughputs) if check.reading == "jain" else metrics.max_min_ratio(throughputs)


def chosen(summary: Mapping[str, Any], names: Sequence[str]) -> list[Mapping[str, Any]]:
    """Give the flows whose ids `names` match, each once."""
    flows = [flow for flow in summary["flows"] if any(fnmatchcase(flow["id"], name) for name in names)]
    if not flows:
        known = ", ".join(flow["id"] for flow in summary["flows"])
        raise ConfigError(f"no flow is called `{', '.join(names)}`", hint=f"flows are {known}")
    return flows


def late_jain(scenario: Scenario, over_time: Mapping[str, Any]) -> float:
    """Smallest Jain's index over the last third of each time between two changes, of the flows that are active."""
    config = scenario.resolve()
    starts = [flow["start"] / 1e9 for flow in config["flows"]]
    end_s = config["duration"] / 1e9
    stops = [flow["stop"] / 1e9 if flow["stop"] is not None else end_s for flow in config["flows"]]
    changes = sorted({*starts, *stops, end_s})
    worst = 1.0
    for begin, end in pairwise(changes):
        active = [
            i for i, (start, stop) in enumerate(zip(starts, stops, strict=True)) if start <= begin and stop >= end
        ]
        late = [k for k, t in enumerate(over_time["t_s"]) if end - (end - begin) * LATE < t <= end + 1e-9]
        if len(active) > 1 and late:
            worst = min(worst, metrics.jain([_mean(over_time["throughput_mbps"][i][k] for k in late) for i in active]))
    return worst


def _lost_per_rtprop(scenario: Scenario, flows: Sequence[Mapping[str, Any]]) -> float:
    """Packets that a flow loses in its rtprop, mean over the time that counts and over flows."""
    config = scenario.resolve()
    rtprops = {flow["id"]: flow["rtprop"] for flow in config["flows"]}
    counted_ns = config["duration"] - config["warmup"]
    return _mean(flow["lost_pkts"] * rtprops[flow["id"]] / counted_ns for flow in flows)


def _throughput(flow: Mapping[str, Any]) -> float:
    return float(flow["throughput_mbps"])


_OF_A_FLOW: dict[Reading, Callable[[Mapping[str, Any]], float]] = {
    "throughput_mbps": _throughput,
    "rtt_ms": lambda flow: float(flow["rtt_ms"]["mean"]),
    "rtt_p99_ms": lambda flow: float(flow["rtt_ms"]["p99"]),
    "qdelay_ms": lambda flow: float(flow["qdelay_ms"]["mean"]),
    "loss_rate": lambda flow: float(flow["loss_rate"]),
}
"""Readings that are the mean over flows of what each flow has."""


def _mean(values: Any) -> float:
    numbers = list(values)
    return sum(numbers) / len(numbers) if numbers else 0.0
