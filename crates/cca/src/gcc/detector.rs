//! Over-use detector: from send and arrival times to whether a queue grows or shrinks.

use fairweir_units::{Dur, Time};
use std::collections::VecDeque;

/// Packets sent within this time form a group.
const BURST: Dur = Dur::from_millis(5);
/// Number of groups through whose delays the line is fitted.
const WINDOW: usize = 20;
/// Weight of the past in the smoothed delay.
const SMOOTHING: f64 = 0.9;
/// The trend's gain, and the number of groups up to which it grows.
const GAIN: f64 = 4.0;
const GAIN_GROUPS: f64 = 60.0;
/// Rates at which the threshold follows a signal above and below it, per ms.
const FOLLOW_UP: f64 = 0.0087;
const FOLLOW_DOWN: f64 = 0.039;
/// Range of the threshold, and its initial value, ms.
const THRESHOLD_MIN: f64 = 6.0;
const THRESHOLD_MAX: f64 = 600.0;
const THRESHOLD_START: f64 = 12.5;
/// A signal this far above the threshold does not move it, ms.
const SPIKE: f64 = 15.0;
/// Maximum time that one update of the threshold accounts for, ms.
const UPDATE_MAX: f64 = 100.0;
/// Time above the threshold from which on there is over-use, ms.
const OVERUSE: f64 = 10.0;

/// The use of the link, from the delays of the last groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Usage {
    /// The queue neither grows nor shrinks.
    #[default]
    Normal,
    /// It grows.
    Over,
    /// It shrinks.
    Under,
}

#[derive(Clone, Copy, Debug)]
struct Group {
    first_sent: Time,
    sent: Time,
    first_arrival: Time,
    arrival: Time,
}

/// Groups of packets, as the reference's inter-arrival filter forms them.
#[derive(Clone, Debug, Default)]
struct Groups {
    current: Option<Group>,
    last: Option<Group>,
}

fn signed_ms(later: Time, earlier: Time) -> f64 {
    (later.since(earlier).as_nanos() as f64 - earlier.since(later).as_nanos() as f64) / 1e6
}

impl Groups {
    /// Adds a packet. When it begins a group, returns the differences between the last two groups' send times and arrival
    /// times, ms.
    fn add(&mut self, sent: Time, arrival: Time) -> Option<(f64, f64)> {
        let Some(group) = &mut self.current else {
            self.current = Some(Group { first_sent: sent, sent, first_arrival: arrival, arrival });
            return None;
        };
        if sent < group.first_sent {
            return None; // out of order
        }
        let (sent_after, arrived_after) = (signed_ms(sent, group.sent), signed_ms(arrival, group.arrival));
        // a burst: it arrives at once, because it was held back on the way
        let is_burst = arrived_after <= BURST.as_millis_f64()
            && arrived_after < sent_after
            && arrival.since(group.first_arrival) < Dur::from_millis(100);
        if sent.since(group.first_sent) <= BURST || is_burst {
            group.sent = group.sent.max(sent);
            group.arrival = group.arrival.max(arrival);
            return None;
        }
        let ended = std::mem::replace(group, Group { first_sent: sent, sent, first_arrival: arrival, arrival });
        let before = self.last.replace(ended)?;
        Some((signed_ms(ended.sent, before.sent), signed_ms(ended.arrival, before.arrival)))
    }
}

/// The detector.
#[derive(Clone, Debug)]
pub(super) struct Detector {
    groups: Groups,
    /// Number of differences so far.
    seen: f64,
    first_arrival: Option<Time>,
    delay: f64,
    smoothed: f64,
    points: VecDeque<(f64, f64)>,
    trend: f64,
    threshold: f64,
    signal: f64,
    updated: Option<Time>,
    /// Time above the threshold, ms, and the number of groups in it.
    over: Option<(f64, u32)>,
    usage: Usage,
}

impl Default for Detector {
    fn default() -> Detector {
        Detector {
            groups: Groups::default(),
            seen: 0.0,
            first_arrival: None,
            delay: 0.0,
            smoothed: 0.0,
            points: VecDeque::with_capacity(WINDOW + 1),
            trend: 0.0,
            threshold: THRESHOLD_START,
            signal: 0.0,
            updated: None,
            over: None,
            usage: Usage::Normal,
        }
    }
}

impl Detector {
    /// Adds a packet; returns the usage.
    pub fn add(&mut self, sent: Time, arrival: Time) -> Usage {
        if let Some((sent_ms, arrived_ms)) = self.groups.add(sent, arrival) {
            self.update(sent_ms, arrived_ms, arrival);
        }
        self.usage
    }

    /// Forgets the usage, after a decrease or silence.
    pub fn clear(&mut self) {
        self.over = None;
        self.usage = Usage::Normal;
    }

    /// Returns the signal and the threshold, ms.
    pub fn state(&self) -> (f64, f64) {
        (self.signal, self.threshold)
    }

    fn update(&mut self, sent_ms: f64, arrived_ms: f64, now: Time) {
        self.seen = (self.seen + 1.0).min(1000.0);
        let first = *self.first_arrival.get_or_insert(now);
        self.delay += arrived_ms - sent_ms;
        self.smoothed = SMOOTHING * self.smoothed + (1.0 - SMOOTHING) * self.delay;
        self.points.push_back((now.since(first).as_millis_f64(), self.smoothed));
        if self.points.len() > WINDOW {
            self.points.pop_front();
        }
        let before = self.trend;
        if self.points.len() == WINDOW {
            self.trend = slope(&self.points).unwrap_or(before);
        }
        if self.seen >= 2.0 {
            self.detect(before, sent_ms);
            self.adapt(now);
        }
    }

    fn detect(&mut self, trend_before: f64, sent_ms: f64) {
        self.signal = self.seen.min(GAIN_GROUPS) * self.trend * GAIN;
        if self.signal > self.threshold {
            // over-use began somewhere between this group and the one before
            let (time, groups) = self.over.map_or((sent_ms / 2.0, 1), |(time, n)| (time + sent_ms, n + 1));
            self.over = Some((time, groups));
            if time > OVERUSE && groups > 1 && self.trend >= trend_before {
                self.over = Some((0.0, 0));
                self.usage = Usage::Over;
            }
        } else {
            self.over = None;
            self.usage = if self.signal < -self.threshold { Usage::Under } else { Usage::Normal };
        }
    }

    fn adapt(&mut self, now: Time) {
        let elapsed = self.updated.replace(now).map_or(0.0, |then| now.since(then).as_millis_f64().min(UPDATE_MAX));
        let size = self.signal.abs();
        if size <= self.threshold + SPIKE {
            let k = if size < self.threshold { FOLLOW_DOWN } else { FOLLOW_UP };
            self.threshold =
                (self.threshold + k * (size - self.threshold) * elapsed).clamp(THRESHOLD_MIN, THRESHOLD_MAX);
        }
    }
}

/// Slope of a least-squares line, if the points determine one.
fn slope(points: &VecDeque<(f64, f64)>) -> Option<f64> {
    let n = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), p| (x + p.0 / n, y + p.1 / n));
    let (xx, xy) = points.iter().fold((0.0, 0.0), |(xx, xy), p| {
        let dx = p.0 - x;
        (xx + dx * dx, xy + dx * (p.1 - y))
    });
    (xx > 0.0).then(|| xy / xx)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: f64) -> Time {
        Time::from_nanos((ms * 1e6) as u64)
    }

    /// Sends a packet each 10 ms, the i-th with a delay of `delay(i)` ms; returns the usages.
    fn play(detector: &mut Detector, from: u32, n: u32, delay: impl Fn(u32) -> f64) -> Vec<Usage> {
        (from..from + n).map(|i| detector.add(at(f64::from(10 * i)), at(f64::from(10 * i) + delay(i)))).collect()
    }

    #[test]
    fn packets_within_5_ms_and_those_that_arrive_at_once_form_a_group() {
        let mut groups = Groups::default();
        assert_eq!(groups.add(at(0.0), at(20.0)), None);
        assert_eq!(groups.add(at(5.0), at(25.0)), None);
        assert_eq!(groups.add(at(10.0), at(31.0)), None, "the first group has ended; there is none before it");
        // sent 10 ms later, arrives 1 ms later: held back on the way
        assert_eq!(groups.add(at(20.0), at(32.0)), None);
        // the second group's last packet: 15 ms and 7 ms after the first group's
        assert_eq!(groups.add(at(40.0), at(60.0)), Some((15.0, 7.0)));
    }

    #[test]
    fn a_growing_queue_is_over_use_and_a_shrinking_one_under_use() {
        let mut detector = Detector::default();
        assert!(play(&mut detector, 0, 100, |_| 20.0).iter().all(|u| *u == Usage::Normal));
        // 2 ms per packet, a fifth above the link's rate
        let grows = play(&mut detector, 100, 30, |i| 20.0 + 2.0 * f64::from(i - 99));
        assert!(grows.contains(&Usage::Over), "{grows:?}");
        let shrinks = play(&mut detector, 130, 60, |i| 80.0 - f64::from(i - 129));
        assert!(shrinks.contains(&Usage::Under), "{shrinks:?}");
    }

    #[test]
    fn the_threshold_follows_the_signal_but_not_a_spike() {
        let mut detector = Detector { signal: 20.0, threshold: 10.0, updated: Some(at(0.0)), ..Detector::default() };
        detector.adapt(at(10.0));
        assert!((detector.threshold - (10.0 + 0.0087 * 10.0 * 10.0)).abs() < 1e-9, "{}", detector.threshold);
        detector.signal = -5.0;
        let before = detector.threshold;
        detector.adapt(at(11.0));
        assert!((detector.threshold - (before + 0.039 * (5.0 - before))).abs() < 1e-9, "{}", detector.threshold);
        detector.signal = 100.0;
        let before = detector.threshold;
        detector.adapt(at(12.0));
        assert_eq!(detector.threshold, before);
    }
}
