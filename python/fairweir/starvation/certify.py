"""Create a certificate of starvation for a pair of link rates that look alike to a CCA.

Two link rates look alike if jitter of at most D can hide the difference between a flow's delays on both links. The
trajectory of a flow is the send and arrival times of the flow's packets when the flow is alone on an ideal link. The
module records one trajectory for each rate, and computes the jitter with which both trajectories are possible together
on one link.
"""

from __future__ import annotations

import importlib.metadata
import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from fairweir.scenario.dumbbell import PACKET
from fairweir.starvation import links
from fairweir.starvation.certificate import Alone, Certificate, Header
from fairweir.starvation.merge import Merge, closest
from fairweir.starvation.result import Certified
from fairweir.starvation.trajectory import TAIL, Trajectory, record
from fairweir.units import Bytes, Duration, Rate

if TYPE_CHECKING:
    from pathlib import Path

    from fairweir.starvation.question import Question
    from fairweir.starvation.result import Pair

CONVERGED = Duration.from_s(20)
"""Time after which a flow has converged if it starts with a suitable cwnd, for rtprop 40 ms and rates up to 1 Gbps."""
BEGINNINGS = (0.0, 0.9, 0.5)
"""Initial cwnd as fractions of the BDP, in the order in which they are tried. From ten packets, Vegas needs a minute at
1 Gbps to converge, because its cwnd grows by one packet per RTT. From 0.9 BDP, Copa can stay at half the link rate for
a minute.
"""
AS_ALONE = 0.01
"""Relative tolerance between the throughput of a recorded flow and the throughput measured when the pair was found."""
MAX_ROWS = 400_000
MAX_DURATION = Duration.from_s(30)
"""Maximum duration of a trajectory. It includes three of the intervals at which BBR probes for the minimum RTT."""
D_STEP_NS = Duration.from_us(1).ns


class NoCertificateError(Exception):
    """The recorded trajectories do not prove starvation; the message has the reason."""


def certify(question: Question, pair: Pair, on_progress: Callable[[str, float], object]) -> Certificate:
    """Record one flow on each link of `pair`, and return the jitter with which both flows behave the same on one link.

    Raises
    ------
    NoCertificateError : the required jitter exceeds the bound of `question`, or the throughput ratio is too small
    ConfigError, ControllerError, CcaError : a flow alone cannot be run or recorded
    """
    span = min(MAX_DURATION, MAX_ROWS * PACKET / Rate.from_mbps(pair.slow_mbps + pair.fast_mbps))
    slow, fast = (
        _recorded(question, Rate.from_mbps(rate), Rate.from_mbps(throughput), span, on_progress)
        for rate, throughput in (
            (pair.slow_mbps, pair.slow_throughput_mbps),
            (pair.fast_mbps, pair.fast_throughput_mbps),
        )
    )
    if fast.throughput < question.ratio * slow.throughput:
        raise NoCertificateError(
            f"alone they send {fast.throughput.mbps:.4g} and {slow.throughput.mbps:.4g} Mbit/s while recorded"
        )
    merged = closest(slow, fast)
    if merged is None:
        raise NoCertificateError("on every link tried a packet would have to arrive before it could")
    if merged.d_ns > question.d.ns:
        raise NoCertificateError(f"the trajectories take D = {Duration.from_ns(merged.d_ns).ms:.4g} ms")
    return _certificate(question, slow, fast, merged)


def _recorded(
    question: Question,
    rate: Rate,
    throughput: Rate,
    span: Duration,
    on_progress: Callable[[str, float], object],
) -> Trajectory:
    """Return the trajectory of a converged flow on an ideal link.

    The initial cwnd is the first of :data:`BEGINNINGS` with which the flow reaches `throughput`; if there is none, it
    is the cwnd with which the flow's throughput is closest.
    """
    duration = Duration.from_s(math.ceil((CONVERGED + span + TAIL).s))
    closest_so_far: tuple[float, Trajectory] | None = None
    for share in BEGINNINGS:
        document = links.begun(question.cca, rate, question.rtprop, duration, share)
        trajectory = record(
            document,
            CONVERGED,
            span,
            lambda part: on_progress(f"recording one flow at {rate.mbps:g} Mbit/s", part),
        )
        off = abs(trajectory.throughput / throughput - 1.0)
        if closest_so_far is None or off < closest_so_far[0]:
            closest_so_far = off, trajectory
        if off <= AS_ALONE:
            break
    if closest_so_far is None:
        raise ValueError("no initial state was tried")
    return closest_so_far[1]


def summary(certificate: Certificate, path: Path) -> Certified:
    """Return the numbers of a certificate that are shown to the user."""
    header = certificate.header
    fast = int((certificate.flow == 1).sum())
    link = Rate.from_bytes_per_s(header.link_bytes_per_s)
    return Certified(
        file=str(path),
        packets=len(certificate.flow),
        span_s=Duration.from_ns(header.span_ns).s,
        d_ms=Duration.from_ns(header.d_ns).ms,
        link_mbps=link.mbps,
        backlog_ms=(Bytes(header.backlog_bytes) / link).ms,
        ratio=fast / (len(certificate.flow) - fast),
    )


def _certificate(question: Question, slow: Trajectory, fast: Trajectory, merged: Merge) -> Certificate:
    import numpy as np

    counts = [len(slow.sent_ns), len(fast.sent_ns)]
    return Certificate(
        header=Header(
            version=importlib.metadata.version("fairweir"),
            cca=question.name,
            ratio=question.ratio,
            d_ns=math.ceil(merged.d_ns / D_STEP_NS) * D_STEP_NS,
            span_ns=slow.span_ns,
            one_way_ns=slow.one_way_ns,
            packet_bytes=slow.packet_bytes,
            link_bytes_per_s=merged.link_bytes_per_s,
            backlog_bytes=merged.backlog_bytes,
            slow=_alone(slow),
            fast=_alone(fast),
        ),
        flow=np.repeat(np.array([0, 1], dtype=np.int64), counts),
        sent_ns=np.concatenate([slow.sent_ns, fast.sent_ns]),
        arrived_ns=np.concatenate([slow.arrived_ns, fast.arrived_ns]),
        hold_ns=np.rint(np.concatenate([merged.slow_holds_ns, merged.fast_holds_ns])).astype(np.int64),
    )


def _alone(trajectory: Trajectory) -> Alone:
    return Alone(
        link_bytes_per_s=trajectory.link_bytes_per_s, origin_ns=trajectory.origin_ns, scenario=trajectory.scenario
    )
