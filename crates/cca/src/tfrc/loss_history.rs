//! Loss intervals and their average (RFC 5348 §5).

use fairweir_units::{Dur, Time};
use std::collections::VecDeque;

/// Weight of the oldest interval (RFC 5348 §5.4: weights fall in equal steps, 0.8 to 0.2 for eight intervals).
fn weight(i: usize, intervals: usize) -> f64 {
    let half = intervals / 2;
    if i < half { 1.0 } else { (intervals - i) as f64 / (half + 1) as f64 }
}

/// The loss events of a connection.
#[derive(Clone, Debug)]
pub(crate) struct LossHistory {
    /// Packets between consecutive events, the newest first; at most `weights.len()`.
    closed: VecDeque<f64>,
    /// Packets since the last event, its own included.
    open: f64,
    weights: Vec<f64>,
    /// Sending time of the first packet of the last event.
    event_sent: Option<Time>,
}

impl LossHistory {
    /// Creates a history that averages `intervals`.
    pub fn new(intervals: usize) -> LossHistory {
        let weights = (0..intervals).map(|i| weight(i, intervals)).collect();
        LossHistory { closed: VecDeque::new(), open: 0.0, weights, event_sent: None }
    }

    /// Counts packets that were delivered or lost.
    #[inline]
    pub fn count(&mut self, packets: u64) {
        self.open += packets as f64;
    }

    /// Whether the loss of a packet sent at `sent` begins an event, at an RTT of `rtt`.
    pub fn begins_event(&self, sent: Time, rtt: Dur) -> bool {
        self.event_sent.is_none_or(|last| sent > last + rtt)
    }

    /// An event begins with a packet sent at `sent`; for the first one the interval before is `first` packets.
    pub fn begin_event(&mut self, sent: Time, first: f64) {
        self.closed.push_front(if self.event_sent.is_none() { first } else { self.open.max(1.0) });
        self.closed.truncate(self.weights.len());
        self.open = 0.0;
        self.event_sent = Some(sent);
    }

    /// p; `None` before the first event.
    pub fn loss_event_rate(&self) -> Option<f64> {
        if self.closed.is_empty() {
            return None;
        }
        let average = |intervals: &mut dyn Iterator<Item = f64>| {
            let (mut sum, mut weights) = (0.0, 0.0);
            for (interval, weight) in intervals.take(self.closed.len()).zip(&self.weights) {
                sum += interval * weight;
                weights += weight;
            }
            sum / weights
        };
        let closed = average(&mut self.closed.iter().copied());
        let with_open = average(&mut std::iter::once(self.open).chain(self.closed.iter().copied()));
        Some((1.0 / closed.max(with_open)).min(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_ms(t: u64) -> Time {
        Time::from_nanos(t * 1_000_000)
    }

    fn history(intervals: &[u64]) -> LossHistory {
        let mut h = LossHistory::new(8);
        h.begin_event(Time::ZERO, intervals[0] as f64);
        for (i, packets) in intervals[1..].iter().enumerate() {
            h.count(*packets);
            h.begin_event(at_ms(100 * (i as u64 + 1)), 0.0);
        }
        h
    }

    #[test]
    fn eight_weights_are_the_rfcs() {
        let weights = LossHistory::new(8).weights;
        for (ours, theirs) in weights.iter().zip([1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2]) {
            assert!((ours - theirs).abs() < 1e-12, "{weights:?}");
        }
    }

    #[test]
    fn the_average_is_weighted_and_forgets_the_ninth() {
        let p = history(&[7777, 10, 20, 30, 40, 50, 60, 70, 80]).loss_event_rate().expect("events");
        // newest first: (80 + 70 + 60 + 50 + 0.8 40 + 0.6 30 + 0.4 20 + 0.2 10) / 6
        assert!((1.0 / p - 320.0 / 6.0).abs() < 1e-9, "{}", 1.0 / p);
    }

    #[test]
    fn the_open_interval_counts_once_it_is_long() {
        let mut h = history(&[100, 100]);
        h.count(50);
        assert_eq!(h.loss_event_rate(), Some(0.01));
        h.count(250);
        // (300 + 100) / 2
        assert_eq!(h.loss_event_rate(), Some(0.005));
    }

    #[test]
    fn losses_within_an_rtt_are_one_event() {
        let h = history(&[100]);
        assert!(!h.begins_event(at_ms(40), Dur::from_millis(40)));
        assert!(h.begins_event(at_ms(41), Dur::from_millis(40)));
        assert!(LossHistory::new(8).begins_event(Time::ZERO, Dur::from_millis(40)));
    }
}
