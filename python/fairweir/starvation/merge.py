"""Merges two trajectories onto one link, and computes the required jitter from the records."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairweir.units import NS_PER_S

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from fairweir.starvation.trajectory import Trajectory

HEADROOMS = (1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0)
"""Rates of the shared link divided by the sum of the two links' rates, in the order tried (case 2: "large enough")."""
LOWERINGS = 50
"""Attempts to find the maximum queue that makes no packet late: one suffices if the queue never empties."""


@dataclass(frozen=True)
class Merge:
    """One link for both trajectories.

    Attributes
    ----------
    link_bytes_per_s : int, the shared link's rate
    backlog_bytes : int, its queue at time 0
    slow_holds_ns, fast_holds_ns : arrays, n packets each: part of each delay not caused by the link, to be added by
      jitter
    """

    link_bytes_per_s: int
    backlog_bytes: int
    slow_holds_ns: npt.NDArray[np.float64]
    fast_holds_ns: npt.NDArray[np.float64]

    @property
    def min_ns(self) -> float:
        """The minimum jitter; negative if a packet would pass the shared link later than its own link."""
        return float(min(self.slow_holds_ns.min(), self.fast_holds_ns.min()))

    @property
    def d_ns(self) -> float:
        """The required jitter bound D."""
        return float(max(self.slow_holds_ns.max(), self.fast_holds_ns.max()))


def merge(slow: Trajectory, fast: Trajectory, link_bytes_per_s: int, backlog_bytes: int) -> Merge:
    """Send both trajectories through one FIFO link.

    References
    ----------
    Starvation paper, appendix A: eta_i = dbar_i - d*; docs/derivations.md, Packets instead of fluid
    """
    import numpy as np

    sent = np.concatenate([slow.sent_ns, fast.sent_ns])
    order = np.argsort(sent, kind="stable")
    transmission_ns = slow.packet_bytes * NS_PER_S / link_bytes_per_s
    turn = np.arange(len(sent)) * transmission_ns
    # A packet's transmission begins when it has arrived and all earlier packets are transmitted; each of them takes one
    # `turn`.
    begins = np.maximum(np.maximum.accumulate(sent[order] - turn), backlog_bytes * NS_PER_S / link_bytes_per_s) + turn
    through = np.empty(len(sent))
    through[order] = begins + transmission_ns
    arrived = np.concatenate([slow.arrived_ns, fast.arrived_ns])
    holds = arrived - slow.one_way_ns - through
    return Merge(link_bytes_per_s, backlog_bytes, holds[: len(slow.sent_ns)], holds[len(slow.sent_ns) :])


def merges(slow: Trajectory, fast: Trajectory) -> Iterator[Merge]:
    """Yield the candidate links on which no packet is late, the link with the smallest margin first.

    The candidates are a link of both rates with an empty queue, the same link with the maximum queue that makes no
    packet late (case 1 of the proof), and faster links (case 2).
    """
    both = slow.link_bytes_per_s + fast.link_bytes_per_s
    empty = merge(slow, fast, both, 0)
    if empty.min_ns >= 0.0:
        yield empty
        standing = _standing(slow, fast, both)
        if standing.backlog_bytes:
            yield standing
    for headroom in HEADROOMS[1:]:
        faster = merge(slow, fast, round(both * headroom), 0)
        if faster.min_ns >= 0.0:
            yield faster


def _standing(slow: Trajectory, fast: Trajectory, link_bytes_per_s: int) -> Merge:
    """Return the link with the maximum initial queue, in whole packets, that makes no packet late."""
    longest_ns = max(int((t.arrived_ns - t.sent_ns).max()) - t.one_way_ns for t in (slow, fast))
    queued = longest_ns * link_bytes_per_s // (slow.packet_bytes * 10**9)
    for _ in range(LOWERINGS):
        tried = merge(slow, fast, link_bytes_per_s, queued * slow.packet_bytes)
        if tried.min_ns >= 0.0 or not queued:
            return tried
        late = -tried.min_ns * link_bytes_per_s / (slow.packet_bytes * NS_PER_S)
        queued = max(0, queued - math.ceil(late))
    return merge(slow, fast, link_bytes_per_s, 0)


def closest(slow: Trajectory, fast: Trajectory) -> Merge | None:
    """Return the link that needs the minimum jitter; None if on each link tried a packet would have to arrive early."""
    return min(merges(slow, fast), key=lambda found: found.d_ns, default=None)
