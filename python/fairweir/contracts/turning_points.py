"""Where a flow's window turns: the delay at which it stops growing or shrinking, and its rate then.

A CCA that compares the delay with its contract's delay at its rate turns where the two are equal. With small steps it
stays there, and its mean delay is equivalent; if it cycles widely about the contract, with different steps up and down,
or with an empty queue for a part of the cycle, neither mean nor median of the delay is on the contract, but its turning
points are (thesis section 5.2.1: steady states, limit cycles among them).
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
"""Samples of the window in an rtprop: few CCAs decide more often."""

MIN_TURNINGS = 10
"""Of each kind; fewer are not a cycle."""


def watch(scenario: ScenarioDict) -> Summary:
    """Return the summary of a run; each flow also has ``turning``: ``qdelay_ms`` and ``rate_mbps``, or None.

    Parameters
    ----------
    scenario : dict, as TOML has it, its seed included
    """
    loaded = Scenario.from_dict(scenario)
    rtprop_ns = min(_core.parse_time(flow.rtprop) for flow in loaded.flow)
    record = run(loaded, interval=_core.format_time(max(rtprop_ns // SAMPLES_PER_RTPROP, 1)))
    document = record.summary.document
    flows = [flow | {"turning": turning(record, i)} for i, flow in enumerate(document["flows"])]
    return Summary({**document, "flows": flows})


def turning(record: Run, flow: int) -> dict[str, float] | None:
    """Return where the window of a flow turns in the measured time; None if it rarely does.

    Returns
    -------
    dict : ``qdelay_ms``, mean, and ``rate_mbps``, geometric mean; turnings down and up weigh the same
    """
    table, config = record.flows, record.scenario.resolve()
    here = (table["flow"] == flow) & (table["t_ns"] > config["warmup"])
    column = {name: table[name][here].astype(float) for name in COLUMNS}
    qdelay_ms = column["rtt_ms"] - Duration.from_ns(config["flows"][flow]["rtprop"]).ms
    # Rate that the controller allows: its pacing rate, or its window per RTT, if that is less.
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
    """Return indices of the last samples before the window turns up, and before it turns down; plateaus are allowed."""
    step = np.sign(np.diff(window))
    moves = np.flatnonzero(step)
    turns = moves[1:][step[moves[1:]] != step[moves[:-1]]]
    return turns[step[turns] > 0], turns[step[turns] < 0]
