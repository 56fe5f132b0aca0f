"""Effort of each depth of the battery."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairweir.audit.exhibits.family import Depth

if TYPE_CHECKING:
    from collections.abc import Mapping

PYTHON_MAX_PACKETS = 4_000_000
"""Maximum data packets of a run with a Python class: at about 300 000 ACKs per second, such a run takes 13 s."""
QUIC_MAX_PACKETS = 40_000_000
"""Maximum data packets of a run with QUIC stacks: at 0.8 million datagrams per second, such a run takes 50 s."""
QUIC_TIME_LIMITS = 5.0
"""Factor for the limits of a run's real time: QUIC stacks are slower than the simulator by more than that."""


@dataclass(frozen=True)
class Budget:
    """Effort of a depth.

    Attributes
    ----------
    seeds : runs of each point
    refine_to : total runs of each point that is undecided after `seeds` runs
    refine_packets : maximum data packets of the additional runs, times the number of CCAs
    new_seeds : runs that confirm a difference from a reference
    patience : factor by which all durations of scenarios are multiplied
    timeout_s : s; maximum real time of a run
    """

    seeds: int
    refine_to: int
    refine_packets: int
    new_seeds: int
    patience: float
    timeout_s: float


BUDGETS: Mapping[Depth, Budget] = {
    Depth.QUICK: Budget(seeds=3, refine_to=5, refine_packets=30_000_000, new_seeds=12, patience=0.5, timeout_s=60.0),
    Depth.DEFAULT: Budget(
        seeds=3, refine_to=7, refine_packets=150_000_000, new_seeds=12, patience=1.0, timeout_s=120.0
    ),
    Depth.DEEP: Budget(
        seeds=10, refine_to=20, refine_packets=2_000_000_000, new_seeds=16, patience=2.0, timeout_s=900.0
    ),
}
