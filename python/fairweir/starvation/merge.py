"""Merge the records of two flows onto one link, and compute the jitter that this requires.

The trajectory of a flow is the send and arrival times of the flow's packets when the flow is alone on an ideal link. On
a shared link, each packet has another queueing delay; the jitter of the packet is the difference between its recorded
delay and its delay on the shared link. Both flows then observe the recorded delays, so both send as recorded. D is the
maximum jitter. "The proof" is that of theorem 1 in the starvation paper.
"""

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
"""Rates of the shared link divided by the sum of the two links' rates, in the order in which they are tried. Case 2 of
the proof requires a link that is "large enough".
"""
LOWERINGS = 50
"""Maximum number of attempts to find the longest initial queue with which no packet is late. A packet is late if its
delay on the shared link exceeds its recorded delay. If the queue never empties, one attempt suffices."""


@dataclass(frozen=True)
class Merge:
    """A shared link, and the jitter with which both trajectories are possible on this link.

    Attributes
    ----------
    link_bytes_per_s : int, rate of the shared link
    backlog_bytes : int, bytes in the queue of the shared link at time 0
    slow_holds_ns, fast_holds_ns : arrays with the jitter of each packet of the slow and of the fast flow
    """

    link_bytes_per_s: int
    backlog_bytes: int
    slow_holds_ns: npt.NDArray[np.float64]
    fast_holds_ns: npt.NDArray[np.float64]

    @property
    def min_ns(self) -> float:
        """The minimum jitter of all packets; negative if the shared link delays a packet by more than was recorded."""
        return float(min(self.slow_holds_ns.min(), self.fast_holds_ns.min()))

    @property
    def d_ns(self) -> float:
        """The maximum jitter of all packets, which is the required D."""
        return float(max(self.slow_holds_ns.max(), self.fast_holds_ns.max()))


def merge(slow: Trajectory, fast: Trajectory, link_bytes_per_s: int, backlog_bytes: int) -> Merge:
    """Compute the delays of both flows' packets on one FIFO link, and from them the jitter.

    In the paper's notation, eta_i is the jitter and dbar_i the recorded delay of flow i, and d* the delay of the shared
    link's queue.

    References
    ----------
    Starvation paper, appendix A: eta_i = dbar_i - d*; docs/derivations.md, Packets instead of fluid
    """
    import numpy as np

    sent = np.concatenate([slow.sent_ns, fast.sent_ns])
    order = np.argsort(sent, kind="stable")
    transmission_ns = slow.packet_bytes * NS_PER_S / link_bytes_per_s
    turn = np.arange(len(sent)) * transmission_ns
    # The transmission of a packet begins when the packet has arrived and all earlier packets have been transmitted.
    # `turn` is the transmission time of all earlier packets.
    begins = np.maximum(np.maximum.accumulate(sent[order] - turn), backlog_bytes * NS_PER_S / link_bytes_per_s) + turn
    through = np.empty(len(sent))
    through[order] = begins + transmission_ns
    arrived = np.concatenate([slow.arrived_ns, fast.arrived_ns])
    holds = arrived - slow.one_way_ns - through
    return Merge(link_bytes_per_s, backlog_bytes, holds[: len(slow.sent_ns)], holds[len(slow.sent_ns) :])


def merges(slow: Trajectory, fast: Trajectory) -> Iterator[Merge]:
    """Yield candidates for the shared link on which no packet is late, in the order of their rates.

    The candidates are a link with the sum of both rates and an empty queue, the same link with the longest initial
    queue with which no packet is late (case 1 of the proof), and faster links with an empty queue (case 2).
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
    """Return the merge with the longest initial queue, in whole packets, with which no packet is late."""
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
    """Return the merge that requires the smallest D; None if a packet is late on each candidate link."""
    return min(merges(slow, fast), key=lambda found: found.d_ns, default=None)
