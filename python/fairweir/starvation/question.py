"""Parameters for the construction of starvation: a network in which jitter starves a flow of a CCA.

Symbols: s, required ratio of the throughputs of two flows; D, maximum jitter; rtprop, round-trip propagation delay.
"""

from __future__ import annotations

from dataclasses import dataclass

from fairweir.hunting.search import CONFIRM_SEEDS
from fairweir.scenario.dumbbell import Cca, cca_name
from fairweir.units import Duration, Rate


@dataclass(frozen=True)
class Question:
    """Parameters of one construction.

    Attributes
    ----------
    cca : name of the CCA, or its table in scenario notation
    ratio : float, s
    jitter : D; None: one rtprop, as in the network models
    lowest, highest : lowest and highest link rate at which one flow is measured
    rtprop : rtprop of both flows
    seeds : seeds of the runs that confirm the throughput ratio
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
        """D, with the default applied."""
        return self.rtprop if self.jitter is None else self.jitter
