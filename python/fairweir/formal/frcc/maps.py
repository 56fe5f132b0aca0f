"""One round of two flows of the CCA FRCC on a link without jitter, as maps from a state (N_C, N_T) to the next state.

In a round, each flow sends a probe (packets that lengthen the queue for a short time), measures the delay that the
probe adds, and updates its cwnd once. If the flows' probes overlap in time, a flow may measure the delay of both
probes. There is one map for each kind of overlap. The maps are for FRCC's main update of cwnd without clamps (limits
per round) and without averaging (alpha = 1), and for flows with equal propagation delays (thesis section 7.5.4, FRCC
paper section 6.4). ``algebra.py`` derives closed forms of the maps, except for the two of flows that update in turn;
the functions here evaluate floats and arrays.

Symbols: N_C, link rate divided by the first flow's throughput; N_T, queueing delay divided by theta; theta, queueing
delay per flow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np


@dataclass(frozen=True)
class Path:
    """Parameters of the network and of FRCC in the maps.

    Attributes
    ----------
    r, theta : round-trip propagation delay, and queueing delay per flow, both in the same unit of time
    """

    r: Any
    theta: Any


State = tuple[Any, Any]
"""The state: N_C of the first flow, and N_T."""

Map = Callable[[Path, Any, Any], State]


def other(n_c: Any) -> Any:
    """Return N_C of the other flow; the flows' shares, 1/N_C, add up to 1."""
    return n_c / (n_c - 1)


def together(path: Path, n_c: Any, n_t: Any) -> State:
    """Return the next state if probes do not overlap, and both flows measure before either updates: figure 7.12 (a)."""
    return n_c * (path.r + 2 * path.theta) / (path.r + path.theta * n_c), 2 + 0 * n_t


def in_turn(path: Path, n_c: Any, n_t: Any) -> State:
    """Return the next state if probes do not overlap, and the first flow updates before the second measures (panel b).

    The second flow uses the maximum throughput and the minimum RTT of its round, so it observes the first flow's update
    only if the update shortened the queue (thesis section 7.5.4, footnote 2).
    """
    return _one_by_one(path, n_c, n_t, np.minimum)


def in_turn_without_filters(path: Path, n_c: Any, n_t: Any) -> State:
    """Return the next state as :func:`in_turn`, but the second flow observes the first flow's update in both
    directions. The published code of figure 7.12 draws this map in panel (b), without the filters of footnote 2.
    """
    return _one_by_one(path, n_c, n_t, lambda after, before: after)


def _one_by_one(path: Path, n_c: Any, n_t: Any, observed: Callable[[Any, Any], Any]) -> State:
    """Return the next state if the second flow's RTT is `observed`, of the RTTs after and before the first's update."""
    n_c2 = other(n_c)
    window1 = (path.r + path.theta * n_c) / n_c
    window2 = (path.r + path.theta * n_t) / n_c2
    rtt = observed(window1 + window2, path.r + path.theta * n_t)
    window2 = window2 * (path.r + path.theta * rtt / window2) / rtt
    return next_state(path, window1, window2)


def both_see_both(path: Path, n_c: Any, n_t: Any) -> State:
    """Return the next state if both flows measure the delay of both probes (full overlap): figure 7.12 (c)."""
    return n_c + 0 * n_t, 1 + 0 * (n_c + n_t)


def first_sees_both(path: Path, n_c: Any, n_t: Any) -> State:
    """Return the next state if the first flow measures both probes, and the second flow only its own probe (panel d).

    The first flow's share of the link decreases.
    """
    return n_c + path.theta / (path.r + path.theta), 1 + 1 / n_c + 0 * n_t


def second_sees_both(path: Path, n_c: Any, n_t: Any) -> State:
    """Return the next state if the second flow measures both probes, and the first flow only its own (panel e)."""
    n_c2, n_t2 = first_sees_both(path, other(n_c), n_t)
    return other(n_c2), n_t2


def next_state(path: Path, window1: Any, window2: Any) -> State:
    """Return the state that results from the cwnd of both flows (paper eq. C.1).

    Parameters
    ----------
    path : Path
    window1, window2 : cwnd of each flow divided by the link rate, in the unit of time of `path`
    """
    total = window1 + window2
    return total / window1, (total - path.r) / path.theta


PANELS: Final[Mapping[str, Map]] = {
    "a: no overlap, together": together,
    "b: no overlap, in turn": in_turn,
    "c: full overlap": both_see_both,
    "d: partial overlap, yields": first_sees_both,
    "e: partial overlap, receives": second_sees_both,
}
"""The map of each panel of figure 7.12, by the panel's letter and description."""
