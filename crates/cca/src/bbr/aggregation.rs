//! Packets that ACKs deliver at once in excess of the bandwidth.

use super::bandwidth::Bandwidth;
use fairweir_units::{Dur, Time};

/// An epoch that has delivered this number of packets is restarted (`bbr_ack_epoch_acked_reset_thresh`).
const MAX_EPOCH_PKTS: u64 = 1 << 20;

/// The allowance is at most the number of packets that the bandwidth delivers in this time (`bbr_extra_acked_max_us`).
const MAX_ALLOWANCE: Dur = Dur::from_millis(100);

/// Windowed maximum of the excess; it covers between one and two windows of rounds.
#[derive(Clone, Debug)]
pub(crate) struct Aggregation {
    epoch_start: Time,
    epoch_acked: u64,
    /// Maximum excess in the current window and in the previous window, packets.
    extra_acked: [u64; 2],
    rounds: u32,
}

impl Aggregation {
    pub(crate) fn new() -> Aggregation {
        Aggregation { epoch_start: Time::ZERO, epoch_acked: 0, extra_acked: [0; 2], rounds: 0 }
    }

    /// Starts a round; a window has `window_rounds` rounds.
    pub(crate) fn start_round(&mut self, window_rounds: u32) {
        self.rounds += 1;
        if self.rounds >= window_rounds {
            self.rounds = 0;
            self.extra_acked = [0, self.extra_acked[0]];
        }
    }

    /// Starts a new epoch, because the flow was idle.
    pub(crate) fn restart(&mut self, now: Time) {
        self.epoch_start = now;
        self.epoch_acked = 0;
    }

    /// Processes the delivery of `acked` packets by one ACK. The excess counts up to `cwnd`. Returns whether it is the
    /// current window's new maximum.
    #[inline]
    pub(crate) fn update(&mut self, now: Time, acked: u64, bandwidth: Bandwidth, cwnd: u64) -> bool {
        let mut expected = bandwidth.packets_in(now.since(self.epoch_start));
        if self.epoch_acked <= expected || self.epoch_acked + acked >= MAX_EPOCH_PKTS {
            self.restart(now);
            expected = 0;
        }
        self.epoch_acked += acked;
        let extra = (self.epoch_acked - expected).min(cwnd);
        let is_largest = extra > self.extra_acked[0];
        self.extra_acked[0] = self.extra_acked[0].max(extra);
        is_largest
    }

    /// Returns the number of packets to add to cwnd.
    #[inline]
    pub(crate) fn allowance(&self, bandwidth: Bandwidth) -> u64 {
        self.extra_acked[0].max(self.extra_acked[1]).min(bandwidth.packets_in(MAX_ALLOWANCE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_count_and_are_forgotten_after_two_windows() {
        // 1 packet per ms, in batches of 20 packets every 20 ms
        let bandwidth = Bandwidth::of_sample(1000, Dur::from_secs(1));
        let mut aggregation = Aggregation::new();
        for i in 1..100u64 {
            aggregation.update(Time::from_nanos(i * 20_000_000), 20, bandwidth, 1000);
        }
        assert_eq!(aggregation.allowance(bandwidth), 20);
        (0..5).for_each(|_| aggregation.start_round(5));
        assert_eq!(aggregation.allowance(bandwidth), 20);
        (0..5).for_each(|_| aggregation.start_round(5));
        assert_eq!(aggregation.allowance(bandwidth), 0);
    }

    #[test]
    fn the_allowance_is_bounded_by_a_tenth_of_a_second() {
        let bandwidth = Bandwidth::of_sample(1000, Dur::from_secs(1));
        let mut aggregation = Aggregation::new();
        aggregation.update(Time::from_nanos(1), 500, bandwidth, 1000);
        assert_eq!(aggregation.allowance(bandwidth), 100);
    }
}
