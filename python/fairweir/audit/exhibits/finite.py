"""Finite flows: completion times on an idle link, against slow start (RFC 9743 section 5.1.5)."""

from __future__ import annotations

import math

from fairweir.audit.exhibits.family import Claim, Family, Metric, Place, Reading, Subject
from fairweir.audit.exhibits.setting import places
from fairweir.audit.results import Axis
from fairweir.dumbbell import ScenarioDict, dumbbell, flow, start_times_s
from fairweir.intervals import Scale
from fairweir.verdict import Direction, Threshold

RATE_MBPS, RTPROP_MS = 48.0, 40.0
INITIAL_CWND = 10
PACKET_MS = 12.0 / RATE_MBPS
REPEATS = 5
"""Transfers a run, one after the other."""
GAP_S = 12.0

COMPARABLE = Threshold(
    bound=2.0,
    direction=Direction.AT_MOST,
    reason="short flows should not be worse off than with the slow start that everyone has; twice is lenient",
    source="RFC 9743 section 5.1.5; RFC 6928 (initial window of 10)",
)


def slow_start_s(packets: int) -> float:
    """Completion time of a transfer that doubles its window every RTT from 10 packets until the link is full.

    Parameters
    ----------
    packets : size of the transfer

    Returns
    -------
    s, from the first packet sent to the last acknowledgement, with no queue but its own
    """
    bdp = RTPROP_MS / PACKET_MS
    window, left, elapsed_ms = float(INITIAL_CWND), packets, 0.0
    while left > window and window < bdp:
        left -= int(window)
        elapsed_ms += RTPROP_MS
        window *= 2
    return (elapsed_ms + RTPROP_MS + left * PACKET_MS) / 1e3


def _scenario(subject: Subject, place: Place, seed: int, patience: float) -> ScenarioDict:
    packets = int(place.x)
    offsets = start_times_s(seed, REPEATS)
    tables = [
        flow(subject.cca, RTPROP_MS, i * GAP_S + offset, bytes=f"{packets * 1500}B", id=f"transfer{i + 1}")
        for i, offset in enumerate(offsets)
    ]
    return dumbbell(
        "finite-flows",
        f"transfers of {place.label} over an idle link",
        rate_mbps=RATE_MBPS,
        buffer="1bdp",
        flow_tables=tables,
        duration_s=REPEATS * GAP_S,
        warmup_s=0.0,
        seed=seed,
    )


def _slowdown(reading: Reading) -> float:
    """Mean completion time by that of slow start; a transfer that did not end counts with the gap to the next."""
    times = [flow["completion_s"] if flow["completion_s"] is not None else GAP_S for flow in reading.summary["flows"]]
    return math.fsum(times) / len(times) / slow_start_s(int(reading.place.x))


def _completion(reading: Reading) -> float:
    times = [flow["completion_s"] if flow["completion_s"] is not None else GAP_S for flow in reading.summary["flows"]]
    return math.fsum(times) / len(times) * 1e3


FINITE = Family(
    name="finite-flows",
    title="Finite flows",
    question="Are short transfers as quick as with the slow start that everyone has?",
    setup=f"transfers over an idle link, {RATE_MBPS:g} Mbps, rtprop {RTPROP_MS:g} ms, initial window {INITIAL_CWND}",
    axis=Axis(name="size", unit="packets", scale="log"),
    places=places("packets", quick=[100], default=[10, 100, 1000, 10000], deep=[10, 30, 100, 300, 1000, 3000, 10000]),
    scenario=_scenario,
    metrics=(
        Metric("slowdown", "", Scale.POSITIVE, _slowdown),
        Metric("completion_ms", "ms", Scale.POSITIVE, _completion),
    ),
    claims=(
        Claim(
            metric="slowdown",
            title="completion times",
            text="transfers end within twice the time of a slow start",
            threshold=COMPARABLE,
            expectations={
                "frcc": "grows by a packet an ACK event, as slow start does",
                "pcc_vivace": "one step an RTT",
            },
        ),
    ),
)

FAMILIES = (FINITE,)
