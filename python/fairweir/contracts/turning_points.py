"""Find the turning points of a flow's window: the delay and the rate at which the window stops growing or shrinking.

A contract is a CCA's rate as a function of the queueing delay. If a CCA compares the measured delay with its contract's
delay at the current rate, the window turns where both are equal. With small steps the window stays near this point, and
the mean delay is on the contract. In a wide limit cycle (with different steps up and down, or with an empty queue for a
part of the cycle), neither the mean nor the median of the delay is on the contract, but the turning points are (thesis
section 5.2.1, which includes limit cycles in steady states).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fairweir import _core
from fairweir.judging.summary import Summary
from fairweir.play.run import Run, run
from fairweir.scenario.model import Scenario
from fairweir.units import BYTES_PER_MBPS_MS, Duration

if TYPE_CHECKING:
    from fairweir.contracts.fit import Array
    from fairweir.scenario.dumbbell import ScenarioDict

SAMPLES_PER_RTPROP = 4
"""Number of samples of the window per round-trip propagation delay (rtprop). Few CCAs make more than four decisions in
this time.
"""

MIN_TURNINGS = 10
"""Minimum number of turning points upwards, and of turning points downwards. With fewer, the window has no cycle."""


def watch(scenario: ScenarioDict) -> Summary:
    """Run a scenario and return its summary, with an entry ``turning`` for each flow: the result of :func:`turning`.

    Parameters
    ----------
    scenario : dict with the content of a scenario file, including the seed
    """
    loaded = Scenario.from_dict(scenario)
    rtprop_ns = min(_core.parse_time(flow.rtprop) for flow in loaded.flow)
    record = run(loaded, interval=_core.format_time(max(rtprop_ns // SAMPLES_PER_RTPROP, 1)))
    document = record.summary.document
    flows = [flow | {"turning": turning(record, i)} for i, flow in enumerate(document["flows"])]
    return Summary({**document, "flows": flows})


def turning(record: Run, flow: int) -> dict[str, float] | None:
    """Return the mean turning point of a flow's window after the warm-up; None if there are too few turning points.

    Returns
    -------
    dict : ``qdelay_ms``, the mean queueing delay, and ``rate_mbps``, the geometric mean rate. Turning points upwards
        and downwards have equal weight
    """
    table, config = record.flows, record.scenario.resolve()
    here = (table["flow"] == flow) & (table["t_ns"] > config["warmup"])
    column = {name: table[name][here].astype(float) for name in COLUMNS}
    qdelay_ms = column["rtt_ms"] - Duration.from_ns(config["flows"][flow]["rtprop"]).ms
    # The rate that the CCA permits: the smaller of its pacing rate and its window per RTT.
    by_window_mbps = column["cwnd_bytes"] / BYTES_PER_MBPS_MS / column["rtt_ms"]
    rate_mbps = np.fmin(column["pacing_rate_mbps"], by_window_mbps)
    up, down = (turns[(qdelay_ms[turns] > 0.0) & (rate_mbps[turns] > 0.0)] for turns in turns_of(column["cwnd_bytes"]))
    if min(up.size, down.size) < MIN_TURNINGS:
        return None
    return {
        "qdelay_ms": float(qdelay_ms[up].mean() + qdelay_ms[down].mean()) / 2.0,
        "rate_mbps": float(np.exp((np.log(rate_mbps[up]).mean() + np.log(rate_mbps[down]).mean()) / 2.0)),
    }


COLUMNS = ("rtt_ms", "cwnd_bytes", "pacing_rate_mbps")


def turns_of(window: Array) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of the last samples before the window starts to grow, and before the window starts to shrink.

    The window may be constant for some samples in between.
    """
    step = np.sign(np.diff(window))
    moves = np.flatnonzero(step)
    turns = moves[1:][step[moves[1:]] != step[moves[:-1]]]
    return turns[step[turns] > 0], turns[step[turns] < 0]
