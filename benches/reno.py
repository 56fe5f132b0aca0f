"""Reno as a Python class: the cost of a user's controller."""

import fairweir


class Reno(fairweir.Cca):
    """Additive increase, multiplicative decrease (RFC 5681)."""

    def __init__(self, start: fairweir.Start) -> None:
        super().__init__(start)
        self.ssthresh_bytes = float("inf")

    def on_ack(self, ack: fairweir.Ack) -> None:
        """Grow by one packet per acknowledged packet in slow start, else by one packet per window."""
        if not ack.is_cwnd_limited or ack.in_recovery:
            return
        if self.cwnd_bytes < self.ssthresh_bytes:
            self.cwnd_bytes += ack.acked * self.mss_bytes
        else:
            self.cwnd_bytes += ack.acked * self.mss_bytes * self.mss_bytes / self.cwnd_bytes

    def on_loss(self, loss: fairweir.Loss) -> None:
        """Halve the window; after a timeout, restart in slow start."""
        self.ssthresh_bytes = max(self.cwnd_bytes / 2, 2 * self.mss_bytes)
        self.cwnd_bytes = self.mss_bytes if loss.cause == "timeout" else self.ssthresh_bytes
