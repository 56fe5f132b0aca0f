"""A CCA whose window is fixed except for one increase: it isolates the effect of FRCC's probe."""

from __future__ import annotations

from fairweir._core import Ack, Loss, Start
from fairweir.ccas.cca import Cca

#: If `start_mbps` is given, the flow is paced at that rate until this time.
START_MS = 1000.0


class Prober(Cca):
    """Keeps `window_pkts` packets in flight, and from the time `probe_ms` on `extra_pkts` packets more.

    The increase is immediate, or takes `ramp_ms`. If `start_mbps` is given, the flow is paced at this rate in the first
    second, so that packets of several flows alternate instead of forming bursts. ACK clocking then preserves the order.
    """

    def __init__(
        self,
        start: Start,
        window_pkts: int = 100,
        extra_pkts: int = 0,
        probe_ms: float = 0.0,
        ramp_ms: float = 0.0,
        start_mbps: float | None = None,
    ) -> None:
        super().__init__(start)
        self.window_pkts, self.extra_pkts = window_pkts, extra_pkts
        self.probe_ms, self.ramp_ms = probe_ms, ramp_ms
        self.cwnd_bytes = window_pkts * self.mss_bytes
        self.pacing_rate_mbps = start_mbps

    def on_ack(self, ack: Ack) -> None:
        """Set the window: after `probe_ms`, add the part of `extra_pkts` that is due."""
        if ack.now_ms > START_MS:
            self.pacing_rate_mbps = None
        since_ms = ack.now_ms - self.probe_ms
        if since_ms >= 0:
            part = min(1.0, since_ms / self.ramp_ms) if self.ramp_ms > 0 else 1.0
            self.cwnd_bytes = (self.window_pkts + part * self.extra_pkts) * self.mss_bytes

    def on_loss(self, loss: Loss) -> None:
        """Do nothing: the buffers of these scenarios hold all packets, so no loss occurs."""
