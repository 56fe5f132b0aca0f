"""Finite flows: completion times on an idle link, compared with slow start (RFC 9743 section 5.1.5)."""

from __future__ import annotations

import math

from fairweir.audit.axis import Axis
from fairweir.audit.exhibits.family import Claim, Family, Metric, Place, Reading, Subject
from fairweir.audit.exhibits.setting import places
from fairweir.judging.interval import Scale
from fairweir.judging.outcome import Direction, Threshold
from fairweir.scenario.dumbbell import PACKET, ScenarioDict, dumbbell_document, flow, start_times
from fairweir.units import Duration, Rate

RATE, RTPROP = Rate.from_mbps(48), Duration.from_ms(40)
INITIAL_CWND = 10
SENDING = PACKET / RATE
"""Transmission time of a packet."""
REPEATS = 5
"""Transfers per run, one after another."""
GAP = Duration.from_s(12)

COMPARABLE = Threshold(
    bound=2.0,
    direction=Direction.AT_MOST,
    reason="short flows should not be slower than with standard slow start; a factor of 2 is lenient",
    source="RFC 9743 section 5.1.5; RFC 6928 (initial window of 10)",
)


def slow_start(packets: int) -> Duration:
    """Return the completion time of a transfer whose window starts at 10 packets and doubles every RTT until the link
    is full.

    Parameters
    ----------
    packets : size of the transfer

    Returns
    -------
    Duration, from the first packet sent to the last acknowledgment, if there is no other traffic
    """
    bdp = RTPROP / SENDING
    window, left, elapsed = float(INITIAL_CWND), packets, Duration.from_s(0)
    while left > window and window < bdp:
        left -= int(window)
        elapsed += RTPROP
        window *= 2
    return elapsed + RTPROP + left * SENDING


def _scenario(subject: Subject, place: Place, seed: int, patience: float) -> ScenarioDict:
    packets = int(place.x)
    offsets = start_times(seed, REPEATS)
    tables = [
        flow(subject.cca, RTPROP, i * GAP + offset, bytes=str(packets * PACKET), id=f"transfer{i + 1}")
        for i, offset in enumerate(offsets)
    ]
    return dumbbell_document(
        "finite-flows",
        f"{REPEATS} transfers of {place.label}, one after another, over an idle link",
        rate=RATE,
        buffer="1bdp",
        flow_tables=tables,
        duration=REPEATS * GAP,
        warmup=Duration.from_s(0),
        seed=seed,
    )


def _slowdown(reading: Reading) -> float:
    """Return the mean completion time divided by that of slow start; an unfinished transfer counts as `GAP`."""
    return _mean_time(reading) / slow_start(int(reading.place.x))


def _completion(reading: Reading) -> float:
    return _mean_time(reading).ms


def _mean_time(reading: Reading) -> Duration:
    times_s = [flow.completion_s for flow in reading.summary.flows]
    return Duration.from_s(math.fsum(GAP.s if time is None else time for time in times_s) / len(times_s))


FINITE = Family(
    name="finite-flows",
    title="Finite flows",
    question="Do short transfers complete as fast as with standard slow start?",
    setup=f"transfers over an idle link, {RATE.mbps:g} Mbps, rtprop {RTPROP.ms:g} ms, initial window {INITIAL_CWND}",
    axis=Axis(name="size", unit="packets", scale="log"),
    places=places("packets", quick=[100], default=[10, 100, 1000, 10000], deep=[10, 30, 100, 300, 1000, 3000, 10000]),
    scenario=_scenario,
    metrics=(
        Metric(
            "slowdown",
            "",
            Scale.POSITIVE,
            _slowdown,
            label="completion time / ideal",
            better=Direction.AT_MOST,
            relevant=0.02,
        ),
        Metric(
            "completion_ms",
            "ms",
            Scale.POSITIVE,
            _completion,
            label="completion time (ms)",
            better=Direction.AT_MOST,
            relevant=1.0,
        ),
    ),
    claims=(
        Claim(
            metric="slowdown",
            title="completion times",
            text="transfers complete within twice the time of standard slow start",
            threshold=COMPARABLE,
            expectations={
                "frcc": "grows by one packet per ACK, like slow start",
                "pcc_vivace": "slow: its rate grows by one step per RTT",
            },
        ),
    ),
)

FAMILIES = (FINITE,)
