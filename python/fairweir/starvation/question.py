"""Parameters of the construction."""

from __future__ import annotations

from dataclasses import dataclass

from fairweir.hunting.search import CONFIRM_SEEDS
from fairweir.scenario.dumbbell import Cca, cca_name
from fairweir.units import Duration, Rate


@dataclass(frozen=True)
class Question:
    """The requested construction.

    Attributes
    ----------
    cca : name or table, in scenario notation
    ratio : float, the required throughput ratio s
    jitter : maximum jitter D; None: one rtprop, as in the network models
    lowest, highest : lowest and highest link rate of the scan
    rtprop : rtprop of both flows
    seeds : seeds of the confirming runs
    """

    cca: Cca
    ratio: float = 10.0
    jitter: Duration | None = None
    lowest: Rate = Rate.from_mbps(1)
    highest: Rate = Rate.from_mbps(1000)
    rtprop: Duration = Duration.from_ms(40)
    seeds: tuple[int, ...] = CONFIRM_SEEDS

    @property
    def name(self) -> str:
        """The CCA's name."""
        return cca_name(self.cca)

    @property
    def d(self) -> Duration:
        """The bound D on jitter."""
        return self.rtprop if self.jitter is None else self.jitter
