"""CUBIC (RFC 9438) with fast convergence applied any number of times: a defect that stacks have had."""

import fairweir


class Cubic(fairweir.Cca):
    """CUBIC; windows in packets, times in s."""

    def __init__(self, start: fairweir.Start, fast_convergence: int = 1) -> None:
        super().__init__(start)
        self.fast_convergence = fast_convergence
        self.cwnd_pkts = start.initial_cwnd_bytes / self.mss_bytes
        self.ssthresh = float("inf")
        self.w_max = 0.0
        self.epoch_s: float | None = None
        self.plateau = self.k = self.w_est = 0.0

    def on_ack(self, ack: fairweir.Ack) -> None:
        if not ack.is_cwnd_limited or ack.in_recovery:
            return
        now_s, srtt_s = ack.now_ms / 1000, (ack.srtt_ms or 0.0) / 1000
        if self.cwnd_pkts < self.ssthresh:
            self.cwnd_pkts += ack.acked
        else:
            if self.epoch_s is None:
                self.epoch_s, self.plateau = now_s, max(self.w_max, self.cwnd_pkts)
                self.k = ((self.plateau - self.cwnd_pkts) / 0.4) ** (1 / 3)
                self.w_est = self.cwnd_pkts
            target = self.plateau + 0.4 * (now_s + srtt_s - self.epoch_s - self.k) ** 3
            target = min(max(target, self.cwnd_pkts), 1.5 * self.cwnd_pkts)
            # RFC 9438 section 4.3: alpha = 3 (1 - beta) / (1 + beta)
            self.w_est += 0.53 * ack.acked / self.cwnd_pkts
            self.cwnd_pkts = max(self.cwnd_pkts + ack.acked * (target - self.cwnd_pkts) / self.cwnd_pkts, self.w_est)
        self.cwnd_bytes = self.cwnd_pkts * self.mss_bytes

    def on_loss(self, loss: fairweir.Loss) -> None:
        w_max, self.w_max = self.w_max, self.cwnd_pkts
        if self.cwnd_pkts < w_max:
            # RFC 9438 section 4.7, each time with beta = 0.7
            self.w_max *= 0.85**self.fast_convergence
        self.ssthresh = max(self.cwnd_pkts * 0.7, 2.0)
        self.cwnd_pkts = 1.0 if loss.cause == "timeout" else self.ssthresh
        self.cwnd_bytes = self.cwnd_pkts * self.mss_bytes
        self.epoch_s = None
