//! Loss events and their rate (RFC 5348 §5), at the receiver.
//!
//! Losses within one RTT of the first are one event. An interval is the number of segments in sequence space between
//! the first losses of two consecutive events, so retransmissions do not count. Without a loss, the open interval is
//! the only interval.
//!
//! **Deviation** from the published prototype: for any number of intervals the weights are those of RFC 5348 §5.4 (1
//! for the more recent half, then decreasing linearly), not 1 - i/n. Losses between two batches count.

use fairweir_units::{Dur, Time};
use std::collections::VecDeque;

/// Maximum length of the history.
pub(crate) const MAX_INTERVALS: usize = 16;

/// The history of loss events.
#[derive(Clone, Debug, Default)]
pub struct LossEvents {
    /// Closed intervals, most recent first, segments.
    closed: VecDeque<u64>,
    /// Start times of the events that ended the intervals.
    starts: VecDeque<Time>,
    /// Start time of the current event, and position of its first loss in sequence space.
    current: Option<(Time, u64)>,
}

fn weight(i: usize, n: usize) -> f64 {
    if 2 * i < n { 1.0 } else { 2.0 * (n - i) as f64 / (n + 2) as f64 }
}

impl LossEvents {
    /// Processes the loss of the segment at position `place` at about time `at`; returns whether it starts a new event.
    /// Without an RTT every loss is a separate event.
    pub fn on_loss(&mut self, at: Time, place: u64, rtt: Option<Dur>) -> bool {
        let (is_new, from) = match self.current {
            None => (true, 0),
            Some((began, from)) => (at > began + rtt.unwrap_or(Dur::ZERO) && place > from, from),
        };
        if is_new {
            self.close(place, at, from);
        }
        is_new
    }

    /// Replaces the first interval, which began in slow start and does not reflect a steady rate (RFC 5348 §6.3.1).
    pub(crate) fn set_first_interval(&mut self, segments: u64) {
        self.closed.clear();
        self.closed.push_front(segments.max(1));
    }

    fn close(&mut self, place: u64, at: Time, from: u64) {
        self.closed.push_front(place.saturating_sub(from).max(1));
        self.closed.truncate(MAX_INTERVALS);
        self.starts.push_front(at);
        self.starts.truncate(MAX_INTERVALS);
        self.current = Some((at, place));
    }

    /// Heap memory, bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.closed.capacity() * size_of::<u64>() + self.starts.capacity() * size_of::<Time>()
    }

    /// Start times of the stored events, most recent first.
    pub fn starts(&self) -> impl Iterator<Item = Time> + '_ {
        self.starts.iter().copied()
    }

    /// Returns the rate over the last `n` intervals after the flow has received `place` segments; unknown before the
    /// first loss.
    pub fn rate(&self, place: u64, n: usize) -> Option<f64> {
        let open = place.saturating_sub(self.current.map_or(0, |(_, from)| from)) as f64;
        let (mut with_open, mut total) = (open, 1.0);
        for (i, &closed) in self.closed.iter().take(n - 1).enumerate() {
            with_open += closed as f64 * weight(i + 1, n);
            total += weight(i + 1, n);
        }
        let mut mean = with_open / total;
        let (mut without, mut weights) = (0.0, 0.0);
        for (i, &closed) in self.closed.iter().take(n).enumerate() {
            without += closed as f64 * weight(i, n);
            weights += weight(i, n);
        }
        if weights > 0.0 {
            mean = mean.max(without / weights);
        }
        (mean > 0.0).then(|| (1.0 / mean).min(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_within_an_rtt_are_one_event() {
        let (mut events, rtt) = (LossEvents::default(), Some(Dur::from_millis(20)));
        let ms = |ms| Time::ZERO + Dur::from_millis(ms);
        assert_eq!(events.rate(0, 8), None);
        assert_eq!(events.rate(200, 8), Some(1.0 / 200.0), "no loss: one interval, open");
        events.on_loss(ms(1000), 100, rtt);
        events.on_loss(ms(1020), 110, rtt);
        assert_eq!(events.rate(110, 8), Some(1.0 / 100.0));
        events.on_loss(ms(1021), 200, rtt);
        assert_eq!(events.closed, [100, 100]);
        events.on_loss(ms(2000), 500, rtt);
        // RFC 5348 §5.4: 300, 100 and 100 all have weight 1. The open interval counts if it makes the mean longer.
        assert_eq!(events.rate(500, 8), Some(3.0 / 500.0));
        assert_eq!(events.rate(1500, 8), Some(4.0 / 1500.0));
    }

    #[test]
    fn weights_of_rfc_5348() {
        let weights: Vec<f64> = (0..8).map(|i| (weight(i, 8) * 10.0).round() / 10.0).collect();
        assert_eq!(weights, [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2]);
    }
}
