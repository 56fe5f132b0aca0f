"""Effort of each depth of the battery."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairweir.audit.exhibits.family import Depth

if TYPE_CHECKING:
    from collections.abc import Mapping

PYTHON_MAX_PACKETS = 4_000_000
"""A Python class handles some 300 thousand ACKs per second: a longer run takes more than a quarter of a minute."""


@dataclass(frozen=True)
class Budget:
    """Effort of a depth.

    Attributes
    ----------
    seeds : runs of every point
    refine_to : runs of points that are undecided after `seeds`
    refine_packets : maximum data packets of the second pass
    patience : factor on every duration
    timeout_s : s of wall time that a run may take
    """

    seeds: int
    refine_to: int
    refine_packets: int
    patience: float
    timeout_s: float


BUDGETS: Mapping[Depth, Budget] = {
    Depth.QUICK: Budget(seeds=3, refine_to=5, refine_packets=30_000_000, patience=0.5, timeout_s=60.0),
    Depth.DEFAULT: Budget(seeds=3, refine_to=7, refine_packets=150_000_000, patience=1.0, timeout_s=120.0),
    Depth.DEEP: Budget(seeds=10, refine_to=20, refine_packets=2_000_000_000, patience=2.0, timeout_s=900.0),
}
