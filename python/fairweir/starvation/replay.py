"""Replay the flows of a certificate of starvation, to show that the CCA sends as recorded.

A certificate has the send and arrival times of the packets of two flows, each recorded alone on an ideal link. Here
each flow is run alone again. If a CCA's behavior depends only on its observations and on random numbers (from the
scenario's seed), it sends the same packets at the same nanoseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from fairweir.starvation.check import Finding
from fairweir.starvation.trajectory import record
from fairweir.units import Duration

if TYPE_CHECKING:
    from fairweir.starvation.certificate import Alone, Certificate


def replay(certificate: Certificate, on_progress: Callable[[str, float], object]) -> list[Finding]:
    """Run each flow of a certificate alone again, and return one finding per flow: whether its packets are the same.

    Raises
    ------
    ConfigError, ControllerError, CcaError : a scenario of the file cannot be run here
    """
    alone = (("slow", certificate.header.slow), ("fast", certificate.header.fast))
    return [
        _same(i, name, flow, certificate, lambda part, i=i: on_progress("replaying each flow alone", (i + part) / 2))  # type: ignore[misc]
        for i, (name, flow) in enumerate(alone)
    ]


def _same(
    index: int, name: str, alone: Alone, certificate: Certificate, on_progress: Callable[[float], object]
) -> Finding:
    import numpy as np

    played = record(
        alone.scenario,
        Duration.from_ns(alone.origin_ns),
        Duration.from_ns(certificate.header.span_ns),
        on_progress,
    )
    rows = certificate.flow == index
    sent, arrived = certificate.sent_ns[rows], certificate.arrived_ns[rows]
    what = f"{name} flow: matches a run alone"
    if len(sent) != len(played.sent_ns):
        return Finding(what, False, f"{len(played.sent_ns)} packets instead of {len(sent)}")
    differ = np.flatnonzero((sent != played.sent_ns) | (arrived != played.arrived_ns))
    if len(differ):
        return Finding(what, False, f"{len(differ)} packets differ, the first sent at {sent[differ[0]]} ns")
    return Finding(what, True, "every packet, to the nanosecond")
