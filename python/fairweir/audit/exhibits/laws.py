"""Theoretical mean RTT on an ideal link.

Sources: FRCC section 7, the papers that it cites for BBR and Copa, and docs/derivations.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairweir.scenario.dumbbell import PACKET
from fairweir.units import Duration, Rate

if TYPE_CHECKING:
    from collections.abc import Callable

LOSS_BASED_BUFFER_BDP = 3.0
FRCC_THETA_MS = 10.0
COPA_PACKETS_PER_FLOW = 2.0
"""1/delta, with the default delta = 0.5."""
VEGAS_PACKETS_PER_FLOW = 3.0
"""Midpoint between alpha = 2 and beta = 4."""
BBR_PACKETS_PER_FLOW = 3.0
"""alpha_BBR: three send quanta of one packet."""


@dataclass(frozen=True)
class IdealLink:
    """A dumbbell without jitter."""

    rate: Rate
    rtprop: Duration
    n: int

    def packets_ms(self, packets: float) -> float:
        """Return the transmission time of this number of packets, ms."""
        return (packets * PACKET / self.rate).ms


@dataclass(frozen=True)
class RttLaw:
    """Mean RTT as a function of the link, in ms."""

    formula: str
    rtt_ms: Callable[[IdealLink], float]


def rtt_law(cca: str) -> RttLaw | None:
    """Return the law of the mean RTT of `cca`; None if no law is published.

    BBR's law is for its cwnd-limited mode, which requires at least two flows. A single flow's RTT stays within
    [R, 1.25 R]; its law returns R.
    """
    return RTT_LAWS.get(cca)


def _bbr_ms(link: IdealLink) -> float:
    if link.n == 1:
        return link.rtprop.ms
    return 2 * link.rtprop.ms + link.packets_ms(link.n * BBR_PACKETS_PER_FLOW)


def _full_buffer_ms(link: IdealLink) -> float:
    return link.rtprop.ms * (1 + LOSS_BASED_BUFFER_BDP)


RTT_LAWS = {
    "frcc": RttLaw("R + θ n", lambda link: link.rtprop.ms + FRCC_THETA_MS * link.n),
    "bbr": RttLaw("2R + n α/C", _bbr_ms),
    "copa": RttLaw("R + n/(δ C)", lambda link: link.rtprop.ms + link.packets_ms(link.n * COPA_PACKETS_PER_FLOW)),
    "vegas": RttLaw("R + n (α+β)/2C", lambda link: link.rtprop.ms + link.packets_ms(link.n * VEGAS_PACKETS_PER_FLOW)),
    "reno": RttLaw("R + buffer/C = 4R", _full_buffer_ms),
    "cubic": RttLaw("R + buffer/C = 4R", _full_buffer_ms),
}
