"""A sender with prescribed send times, which reproduces the arrivals of a solver's trace packet by packet.

A trace lists the cumulative bytes that a flow sent at equally spaced points in time.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise

from fairweir import _core
from fairweir.ccas.cca import Cca
from fairweir.errors import CcaError

#: Minimum time between two packets, ns.
SHORTEST_GAP_NS = 100.0
#: A window that never limits the sender: only the schedule does.
WINDOW_BYTES = 1e9


class Scheduled(Cca):
    """Sends packets, retransmissions included, such that their cumulative number follows a curve, regardless of ACKs.

    Parameters
    ----------
    schedule : list of [time in s, packets sent by that time], increasing; between two points the rate is constant
    """

    own_recovery = True

    def __init__(self, start: _core.Start, schedule: Sequence[Sequence[float]]) -> None:
        super().__init__(start)
        points = [(float(t_s) * 1e9, float(packets)) for t_s, packets in schedule]
        if len(points) < 2 or any(b[0] <= a[0] or b[1] < a[1] for a, b in pairwise(points)):
            raise CcaError(
                "a schedule needs at least two points in increasing order of time", hint="such as [[0, 0], [0.1, 50]]"
            )
        self.points = points
        self.sent = 0
        self.cwnd_bytes = WINDOW_BYTES
        # `on_send` sets the gap after the next packet; the gap after the first packet must be set before `on_send`.
        self.gap_ns = max(self.due_ns(2) - self.due_ns(1), SHORTEST_GAP_NS)
        self._pace()

    def due_ns(self, number: int) -> float:
        """Return the time at which the curve reaches the middle of packet `number`, in ns.

        If the curve ends before, return a time after the end of any scenario.
        """
        wanted = number - 0.5
        at = bisect_left(self.points, wanted, key=lambda point: point[1])
        if at == 0:
            return self.points[0][0]
        if at == len(self.points):
            return self.points[-1][0] + 1e12
        (before_ns, before), (after_ns, after) = self.points[at - 1], self.points[at]
        return before_ns + (after_ns - before_ns) * (wanted - before) / (after - before)

    def on_send(self, sent: _core.Sent) -> None:
        """Set the gap between the next packet and the packet after it, so that the latter is sent when due."""
        self.sent += 1
        following_ns = sent.now_ns + self.gap_ns
        self.gap_ns = max(self.due_ns(self.sent + 2) - following_ns, SHORTEST_GAP_NS)
        self._pace()

    def on_ack(self, ack: _core.Ack) -> None:
        """Ignore ACKs."""

    def on_loss(self, loss: _core.Loss) -> None:
        """Ignore losses."""

    def _pace(self) -> None:
        self.pacing_rate_mbps = self.mss_bytes * 8e3 / self.gap_ns
