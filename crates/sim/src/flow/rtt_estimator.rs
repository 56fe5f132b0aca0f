//! The RTT estimator of Linux 6.18: `tcp_rtt_estimator` and `tcp_clean_rtx_queue` (net/ipv4/tcp_input.c).
//!
//! It differs from RFC 6298 in three ways. srtt samples the oldest packet that an ACK delivers, whereas the minimum RTT and
//! the controller's sample are of the newest. A sample far below srtt increases the deviation by a thirty-second of the
//! difference, not a quarter: the timeout should not grow because the RTT falls. The term that the timeout adds to srtt
//! rises at once with the deviation, and falls once per round, by a quarter of its difference from the round's maximum:
//!
//! - deviation D += (|sample - srtt| - D) / 4, or / 32 if the sample is smaller than srtt by more than D;
//! - per round, M = max(4 D, minimum RTO); margin = max(margin, M);
//! - at the end of a round, margin -= (margin - M) / 4;
//! - RTO = srtt + margin.
//!
//! **Deviations from Linux**: times are not rounded to microseconds, timeouts not to jiffies.

use fairweir_cca::Sender;
use fairweir_units::Dur;

/// State of the estimator, besides [`Sender::srtt`] and [`Sender::rttvar`]; times in ns.
#[derive(Debug)]
pub(super) struct RttEstimator {
    min_rto: u64,
    /// The term that the timeout adds to srtt (`rttvar_us`).
    margin: u64,
    /// Maximum of four deviations in this round, at least the minimum RTO (`mdev_max_us`).
    round_max: u64,
    /// The round ends when `snd_una` exceeds this (`rtt_seq`).
    round_end: u64,
}

impl RttEstimator {
    /// Creates the state of a flow without samples.
    pub(super) fn new(min_rto: Dur) -> RttEstimator {
        let min_rto = min_rto.as_nanos();
        RttEstimator { min_rto, margin: min_rto, round_max: min_rto, round_end: 0 }
    }

    /// Returns the term that the timeout adds to srtt.
    pub(super) fn margin(&self) -> Dur {
        Dur::from_nanos(self.margin)
    }

    /// Processes the first sample, which `sender` has.
    pub(super) fn start(&mut self, sender: &Sender) {
        self.margin = (4 * sender.rttvar.as_nanos()).max(self.min_rto);
        self.round_max = self.margin;
        self.round_end = sender.snd_nxt;
    }

    /// Processes a further `sample`. Out of line: hosts without the estimator have no costs of it.
    #[inline(never)]
    pub(super) fn update(&mut self, sample: Dur, sender: &mut Sender) {
        let (srtt, rtt) = (sender.srtt.as_nanos(), sample.as_nanos());
        let (deviation, error) = (sender.rttvar.as_nanos(), srtt.abs_diff(rtt));
        sender.srtt = Dur::from_nanos((7 * srtt + rtt) / 8);
        let is_far_below = rtt < srtt && error > deviation;
        let next = if is_far_below { (31 * deviation + error) / 32 } else { (3 * deviation + error) / 4 };
        sender.rttvar = Dur::from_nanos(next);
        if 4 * next > self.round_max {
            self.round_max = 4 * next;
            self.margin = self.margin.max(self.round_max);
        }
        if sender.snd_una > self.round_end {
            self.end_round(sender.snd_nxt);
        }
    }

    #[cold]
    fn end_round(&mut self, snd_nxt: u64) {
        self.margin -= self.margin.saturating_sub(self.round_max) / 4;
        self.round_max = self.min_rto;
        self.round_end = snd_nxt;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairweir_units::Bytes;

    const MIN_RTO: Dur = Dur::from_millis(200);

    /// Returns the state after a first sample of `ms`.
    fn started(ms: u64) -> (RttEstimator, Sender) {
        let rtt = Dur::from_millis(ms);
        let sender = Sender { srtt: rtt, rttvar: rtt / 2, snd_nxt: 10, ..Sender::new(Bytes(1500)) };
        let mut estimator = RttEstimator::new(MIN_RTO);
        estimator.start(&sender);
        (estimator, sender)
    }

    #[test]
    fn the_margin_falls_once_per_round_by_a_quarter_of_the_difference() {
        let (mut estimator, mut sender) = started(200);
        assert_eq!(estimator.margin(), Dur::from_millis(400));
        sender.snd_una = 10;
        (0..5).for_each(|_| estimator.update(Dur::from_millis(200), &mut sender));
        assert_eq!(estimator.margin(), Dur::from_millis(400), "the first round is not over");
        for margin in [400, 350] {
            (sender.snd_una, sender.snd_nxt) = (sender.snd_nxt + 1, sender.snd_nxt + 10);
            estimator.update(Dur::from_millis(200), &mut sender);
            estimator.update(Dur::from_millis(200), &mut sender);
            assert_eq!(estimator.margin(), Dur::from_millis(margin), "the first round's maximum is the margin itself");
        }
    }

    #[test]
    fn the_margin_rises_at_once_and_never_falls_below_the_minimum_rto() {
        let (mut estimator, mut sender) = started(10);
        assert_eq!(estimator.margin(), MIN_RTO);
        estimator.update(Dur::from_millis(410), &mut sender);
        // The deviation is (3 * 5 + 400) / 4 ms.
        assert_eq!(estimator.margin(), Dur::from_millis(415));
        for _ in 0..100 {
            (sender.snd_una, sender.snd_nxt) = (sender.snd_nxt + 1, sender.snd_nxt + 10);
            estimator.update(Dur::from_millis(10), &mut sender);
        }
        assert!((MIN_RTO..Dur::from_millis(201)).contains(&estimator.margin()));
    }

    #[test]
    fn a_sample_far_below_srtt_counts_an_eighth() {
        let deviation = |from, to| {
            let (mut estimator, mut sender) = started(from);
            sender.rttvar = Dur::ZERO;
            estimator.update(Dur::from_millis(to), &mut sender);
            sender.rttvar
        };
        assert_eq!(deviation(100, 132), Dur::from_millis(8));
        assert_eq!(deviation(100, 68), Dur::from_millis(1));
    }
}
