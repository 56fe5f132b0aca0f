"""What the construction is asked."""

from __future__ import annotations

from dataclasses import dataclass

from fairweir.dumbbell import Cca, cca_name
from fairweir.hunting.search import CONFIRM_SEEDS


@dataclass(frozen=True)
class Question:
    """What is asked.

    Attributes
    ----------
    cca : name or table, as scenarios have it
    ratio : float, throughput ratio s to be shown
    jitter_ms : float, most jitter D allowed; None: one rtprop, as the network models have it
    lowest_mbps, highest_mbps : float, rates scanned
    rtprop_ms : float
    seeds : of the confirming runs
    """

    cca: Cca
    ratio: float = 10.0
    jitter_ms: float | None = None
    lowest_mbps: float = 1.0
    highest_mbps: float = 1000.0
    rtprop_ms: float = 40.0
    seeds: tuple[int, ...] = CONFIRM_SEEDS

    @property
    def name(self) -> str:
        """The CCA's."""
        return cca_name(self.cca)

    @property
    def d_ms(self) -> float:
        """The bound on jitter."""
        return self.rtprop_ms if self.jitter_ms is None else self.jitter_ms
