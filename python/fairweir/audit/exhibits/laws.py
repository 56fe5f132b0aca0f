"""What theory expects of the mean RTT on an ideal link.

Sources: FRCC section 7 and its sources for BBR and Copa; specs/ccas.md sections 3, 5, 6.
"""

from __future__ import annotations

from dataclasses import dataclass

PACKET_BITS = 1500 * 8
LOSS_BASED_BUFFER_BDP = 3.0
FRCC_THETA_MS = 10.0
COPA_PACKETS_PER_FLOW = 2.0
"""1/delta at the default delta = 0.5."""
VEGAS_PACKETS_PER_FLOW = 3.0
"""Half-way between alpha = 2 and beta = 4."""
BBR_PACKETS_PER_FLOW = 3.0
"""alpha_BBR: three send quanta of one packet."""


@dataclass(frozen=True)
class IdealLink:
    """A dumbbell without jitter."""

    rate_mbps: float
    rtprop_ms: float
    n: int

    def packets_ms(self, packets: float) -> float:
        """Time that the link takes for so many packets."""
        return packets * PACKET_BITS / (self.rate_mbps * 1e3)


def rtt_formula(cca: str) -> str | None:
    """The law in the paper's words, if `cca` has one."""
    return {
        "frcc": "R + θ n",
        "bbr": "2R + n α/C",
        "copa": "R + n/(δ C)",
        "vegas": "R + n (α+β)/2C",
        "reno": "R + buffer/C = 4R",
        "cubic": "R + buffer/C = 4R",
    }.get(cca)


def rtt_ms(cca: str, link: IdealLink) -> float | None:
    """Mean RTT that the law of `cca` gives on `link`.

    Returns
    -------
    ms ; None if no law is published for `cca`. BBR's law is that of its cwnd-limited mode, which needs two flows: one
    alone stays within [R, 1.25 R], and R stands for it.
    """
    r, n = link.rtprop_ms, link.n
    match cca:
        case "frcc":
            return r + FRCC_THETA_MS * n
        case "bbr":
            return r if n == 1 else 2 * r + link.packets_ms(n * BBR_PACKETS_PER_FLOW)
        case "copa":
            return r + link.packets_ms(n * COPA_PACKETS_PER_FLOW)
        case "vegas":
            return r + link.packets_ms(n * VEGAS_PACKETS_PER_FLOW)
        case "reno" | "cubic":
            return r * (1 + LOSS_BASED_BUFFER_BDP)
    return None
