"""Creates a certificate for two rates that look alike: records each flow alone, and merges both onto one link."""

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
"""Time by which a flow that started well has converged, at 40 ms and up to 1 Gbps."""
BEGINNINGS = (0.0, 0.9, 0.5)
"""Initial windows as fractions of the BDP, in the order tried. From ten packets, Vegas needs a minute at 1 Gbps,
because it grows by one packet per RTT; from 0.9 BDP, Copa can stay at half the rate for as long."""
AS_ALONE = 0.01
"""Relative tolerance between a converged flow's throughput and that of the scan."""
MAX_ROWS = 400_000
MAX_DURATION = Duration.from_s(30)
"""Three of BBR's RTT probes."""
D_STEP_NS = Duration.from_us(1).ns


class NoCertificateError(Exception):
    """The trajectories do not prove the claim; the message has the reason."""


def certify(question: Question, pair: Pair, on_progress: Callable[[str, float], object]) -> Certificate:
    """Compute the jitter that lets both flows of `pair` behave on one link as they do alone.

    Raises
    ------
    NoCertificateError : the required jitter exceeds the bound, or throughputs do not differ enough
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
    """Record a converged flow, from the first initial window that gives the scan's throughput, else from the
    closest.
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
    """Return the text to print for a certificate."""
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
