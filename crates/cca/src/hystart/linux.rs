//! HyStart of Linux's CUBIC. Slow start ends when the ACKs of a round form a train longer than half an RTT, or when the
//! round's minimum RTT is well above the flow's minimum RTT.
//!
//! **Source**: Ha and Rhee, "Taming the elephants: new TCP slow start", Computer Networks 55(9), 2011; constants and
//! the allowance for aggregation are those of the kernel's `tcp_cubic.c`. **Deviations**: the allowance is always its
//! maximum of 1 ms, which the kernel uses at pacing rates below 262 MB/s; RTT samples are those of the whole ACK.

use crate::Ack;
use fairweir_units::{Dur, Time};

/// HyStart is inactive below this window, packets.
const LOW_WINDOW: u64 = 16;
/// Two ACKs with a longer gap belong to separate trains.
const ACK_DELTA: Dur = Dur::from_millis(2);
/// Duration by which aggregation on the host may lengthen a train.
const ACK_DELAY: Dur = Dur::from_millis(1);
/// RTT samples required for a round's minimum.
const MIN_SAMPLES: u32 = 8;
/// Threshold of the RTT increase: the minimum RTT divided by this, within the bounds below.
const RISE_DIVISOR: u64 = 8;
const MIN_RISE: Dur = Dur::from_millis(4);
const MAX_RISE: Dur = Dur::from_millis(16);

/// State of HyStart.
#[derive(Clone, Debug)]
pub(crate) struct LinuxHyStart {
    /// The round ends when this packet is acknowledged.
    round_end: u64,
    round_start: Time,
    /// The last ACK of the train that began with the round.
    train_end: Time,
    round_min: Dur,
    samples: u32,
    min_rtt: Dur,
}

impl LinuxHyStart {
    pub(crate) fn new() -> LinuxHyStart {
        LinuxHyStart {
            round_end: 0,
            round_start: Time::ZERO,
            train_end: Time::ZERO,
            round_min: Dur::MAX,
            samples: 0,
            min_rtt: Dur::MAX,
        }
    }

    /// Returns whether slow start ends with this ACK.
    pub(crate) fn is_over(&mut self, ack: &Ack<'_>, cwnd_pkts: u64, now: Time) -> bool {
        let Some(rtt) = ack.rtt else { return false };
        self.min_rtt = self.min_rtt.min(rtt);
        // Rounds are counted below the low window, too: one that began when the window was reached would consist of parts
        // of two flights.
        if ack.sender.snd_una > self.round_end {
            self.round_end = ack.sender.snd_nxt;
            self.round_start = now;
            self.train_end = now;
            self.round_min = Dur::MAX;
            self.samples = 0;
        }
        if cwnd_pkts < LOW_WINDOW {
            return false;
        }
        self.is_long_train(now) || self.has_risen(rtt)
    }

    fn is_long_train(&mut self, now: Time) -> bool {
        if now.since(self.train_end) > ACK_DELTA {
            return false;
        }
        self.train_end = now;
        now.since(self.round_start) > (self.min_rtt + ACK_DELAY) / 2
    }

    fn has_risen(&mut self, rtt: Dur) -> bool {
        self.round_min = self.round_min.min(rtt);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
            return false;
        }
        self.round_min > self.min_rtt + (self.min_rtt / RISE_DIVISOR).clamp(MIN_RISE, MAX_RISE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RateSample, Sender};
    use fairweir_units::Bytes;

    /// Returns the time in ms at which slow start ends, for ACKs of one round, each `(ms, RTT in ms)`.
    fn end_ms(cwnd_pkts: u64, acks: &[(u64, u64)]) -> Option<u64> {
        let mut search = LinuxHyStart::new();
        let mut sender = Sender::new(Bytes(1500));
        (sender.snd_una, sender.snd_nxt) = (1, 1000);
        acks.iter().find_map(|&(at, rtt)| {
            let now = Time::ZERO + Dur::from_millis(at);
            let ack = Ack {
                acked: 1,
                cum_acked: 1,
                lost: 0,
                marked: 0,
                prior_inflight: 100,
                rtt: Some(Dur::from_millis(rtt)),
                newest: Some(0),
                newest_sent: now,
                rate: RateSample::default(),
                sender: &sender,
            };
            search.is_over(&ack, cwnd_pkts, now).then_some(at)
        })
    }

    #[test]
    fn a_train_of_half_an_rtt_and_half_a_millisecond_ends_it() {
        let train: Vec<_> = (100..130).map(|at| (at, 20)).collect();
        assert_eq!(end_ms(16, &train), Some(111));
        assert_eq!(end_ms(15, &train), None, "below the low window");
    }

    #[test]
    fn a_gap_of_more_than_two_milliseconds_ends_the_train() {
        let acks: Vec<_> = (100..106).chain(109..130).map(|at| (at, 20)).collect();
        assert_eq!(end_ms(100, &acks), None);
    }

    #[test]
    fn nine_samples_above_the_smallest_and_a_rise_end_it() {
        // an eighth of 32 ms: the threshold is 4 ms
        let end_after = |rise_ms: u64| {
            let mut search = LinuxHyStart { min_rtt: Dur::from_millis(32), ..LinuxHyStart::new() };
            (1..=20).find(|_| search.has_risen(Dur::from_millis(32 + rise_ms)))
        };
        assert_eq!(end_after(5), Some(9));
        assert_eq!(end_after(4), None);
    }
}
