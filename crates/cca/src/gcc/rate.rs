//! The rate controllers: one driven by the over-use detector, one by losses.

use super::detector::Usage;
use crate::math;
use fairweir_units::{Dur, Time};
use std::collections::VecDeque;

/// Multiplicative increase per second.
const GROWTH: f64 = 1.08;
/// Fraction of the received rate that remains after over-use.
const BETA: f64 = 0.85;
/// Limit of the rate, in multiples of the received rate, and in addition, bytes/s (10 kbps).
const RECEIVED_GAIN: f64 = 1.5;
const RECEIVED_EXTRA: f64 = 1250.0;
/// Smallest additive increase, bytes/s per s (4 kbps), and the smallest multiplicative one (1 kbps).
const ADDITIVE_MIN: f64 = 500.0;
const MULTIPLICATIVE_MIN: f64 = 125.0;
/// Time that a response takes in addition to the RTT.
const RESPONSE: Dur = Dur::from_millis(100);
/// Weight of a received rate in the average of those at over-use, and deviations within which it is near.
const CAPACITY_WEIGHT: f64 = 0.05;
const CAPACITY_NEAR: f64 = 3.0;
/// Range of the normalized variance of the average, kbps; and its initial value.
const VARIANCE: (f64, f64, f64) = (0.4, 2.5, 0.4);
/// Bytes/s in a kbps.
const KBPS: f64 = 125.0;
/// Loss rates above and below which the rate falls and rises.
const HIGH_LOSS: f64 = 0.1;
const LOW_LOSS: f64 = 0.02;
/// Time between increases, and in addition to the RTT between decreases, of the loss-based controller.
const LOSS_INCREASE: Dur = Dur::from_millis(1000);
const LOSS_DECREASE: Dur = Dur::from_millis(300);
/// Minimum number of packets in a loss report.
const LOSS_PKTS: u64 = 20;

/// The received rate over half a second, in ten buckets.
#[derive(Clone, Debug, Default)]
pub(super) struct Received {
    buckets: VecDeque<(Time, f64)>,
    begin: Option<Time>,
}

impl Received {
    const BUCKET: Dur = Dur::from_millis(50);
    const WINDOW: Dur = Dur::from_millis(500);

    pub fn add(&mut self, now: Time, bytes: f64) {
        self.begin.get_or_insert(now);
        match self.buckets.back_mut().filter(|(start, _)| now.since(*start) < Self::BUCKET) {
            Some((_, sum)) => *sum += bytes,
            None => self.buckets.push_back((now, bytes)),
        }
        while self.buckets.front().is_some_and(|(start, _)| now.since(*start) > Self::WINDOW) {
            self.buckets.pop_front();
        }
    }

    /// Returns the rate, bytes/s, once there is half a window.
    pub fn rate(&self, now: Time) -> Option<f64> {
        let window = now.since(self.begin?).min(Self::WINDOW);
        let sum: f64 = self.buckets.iter().map(|(_, bytes)| bytes).sum();
        (window >= Self::WINDOW / 2).then(|| sum / window.as_secs_f64())
    }
}

/// Average of the received rates at over-use, with a variance normalized by it; kbps.
#[derive(Clone, Copy, Debug)]
struct Capacity {
    kbps: f64,
    variance: f64,
}

impl Capacity {
    fn is_near(&self, rate: f64) -> bool {
        self.distance(rate).abs() <= CAPACITY_NEAR
    }

    /// Returns how many deviations `rate` (bytes/s) is above the average.
    fn distance(&self, rate: f64) -> f64 {
        (rate / KBPS - self.kbps) / (self.variance * self.kbps).sqrt()
    }

    fn update(&mut self, rate: f64) {
        let kbps = rate / KBPS;
        self.kbps += CAPACITY_WEIGHT * (kbps - self.kbps);
        let error = self.kbps - kbps;
        let sample = error * error / self.kbps.max(1.0);
        self.variance = (self.variance + CAPACITY_WEIGHT * (sample - self.variance)).clamp(VARIANCE.0, VARIANCE.1);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Hold,
    Increase,
}

/// The delay-based controller.
#[derive(Clone, Debug)]
pub(super) struct DelayBased {
    /// Bytes/s.
    pub rate: f64,
    mss: f64,
    state: State,
    capacity: Option<Capacity>,
    changed: Option<Time>,
    decreased: Option<Time>,
}

impl DelayBased {
    pub fn new(rate: f64, mss: f64) -> DelayBased {
        DelayBased { rate, mss, state: State::Increase, capacity: None, changed: None, decreased: None }
    }

    /// Updates the rate; returns whether it decreased.
    pub fn update(&mut self, usage: Usage, received: Option<f64>, rtt: Dur, now: Time) -> bool {
        match usage {
            Usage::Over => return self.decrease(received, rtt, now),
            Usage::Under => self.state = State::Hold,
            Usage::Normal if self.state == State::Hold => {
                self.state = State::Increase;
                self.changed = Some(now);
            }
            Usage::Normal => self.increase(received, rtt, now),
        }
        false
    }

    fn increase(&mut self, received: Option<f64>, rtt: Dur, now: Time) {
        let elapsed = now.since(self.changed.replace(now).unwrap_or(now)).as_secs_f64().min(1.0);
        if let (Some(capacity), Some(received)) = (self.capacity, received)
            && capacity.distance(received) > CAPACITY_NEAR
        {
            self.capacity = None;
        }
        let wanted = if self.capacity.is_some() {
            let per_s = (self.mss / (rtt + RESPONSE).as_secs_f64()).max(ADDITIVE_MIN);
            self.rate + per_s * elapsed
        } else {
            self.rate + (self.rate * (math::pow(GROWTH, elapsed) - 1.0)).max(MULTIPLICATIVE_MIN * elapsed)
        };
        let limit = received.map_or(wanted, |received| RECEIVED_GAIN * received + RECEIVED_EXTRA);
        // the limit stops growth, it does not reduce
        self.rate = wanted.min(limit).max(self.rate);
    }

    fn decrease(&mut self, received: Option<f64>, rtt: Dur, now: Time) -> bool {
        let wait = rtt.clamp(Dur::from_millis(10), Dur::from_millis(200));
        let is_early = self.decreased.is_some_and(|then| now.since(then) < wait);
        let current = received.unwrap_or(self.rate);
        if is_early && current >= 0.5 * self.rate {
            return false;
        }
        let near = self.capacity.filter(|capacity| capacity.is_near(current));
        let mut target = BETA * current;
        if target > self.rate
            && let Some(capacity) = near
        {
            target = BETA * capacity.kbps * KBPS;
        }
        self.rate = self.rate.min(target);
        let mut capacity = near.unwrap_or(Capacity { kbps: (current / KBPS).max(1.0), variance: VARIANCE.2 });
        capacity.update(current);
        self.capacity = Some(capacity);
        self.state = State::Hold;
        (self.changed, self.decreased) = (Some(now), Some(now));
        true
    }
}

/// The loss-based controller.
#[derive(Clone, Debug)]
pub(super) struct LossBased {
    /// Bytes/s.
    pub rate: f64,
    reported: Option<Time>,
    increased: Time,
    decreased: Time,
    acked: u64,
    lost: u64,
    /// The loss rate of the last report.
    pub loss_rate: f64,
}

impl LossBased {
    pub fn new(rate: f64) -> LossBased {
        LossBased {
            rate,
            reported: None,
            increased: Time::ZERO,
            decreased: Time::ZERO,
            acked: 0,
            lost: 0,
            loss_rate: 0.0,
        }
    }

    /// Adds packets; `sending` is the current rate, bytes/s, from which it changes.
    pub fn update(&mut self, acked: u64, lost: u64, sending: f64, rtt: Dur, now: Time) {
        self.acked += acked;
        self.lost += lost;
        let total = self.acked + self.lost;
        let since = now.since(*self.reported.get_or_insert(now));
        if total < LOSS_PKTS || since < LOSS_DECREASE {
            return;
        }
        self.loss_rate = self.lost as f64 / total as f64;
        (self.acked, self.lost, self.reported) = (0, 0, Some(now));
        if self.loss_rate < LOW_LOSS {
            if now.since(self.increased) >= LOSS_INCREASE {
                self.rate = GROWTH * sending.max(self.rate) + MULTIPLICATIVE_MIN;
                self.increased = now;
            }
        } else if self.loss_rate > HIGH_LOSS && now.since(self.decreased) >= LOSS_DECREASE + rtt {
            self.rate = sending * (1.0 - 0.5 * self.loss_rate);
            self.decreased = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Dur = Dur::from_millis(100);

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn growth_is_8_percent_per_second_far_from_the_capacity_and_a_packet_per_response_near_it() {
        let mut delay = DelayBased::new(100_000.0, 1500.0);
        for ms in (0..=1000).step_by(100) {
            delay.update(Usage::Normal, Some(100_000.0), RTT, at(ms));
        }
        assert!((delay.rate - 108_000.0).abs() < 1.0, "{}", delay.rate);
        assert!(delay.update(Usage::Over, Some(100_000.0), RTT, at(1100)));
        assert_eq!(delay.rate, 85_000.0);
        for ms in (1200..=2200).step_by(100) {
            delay.update(Usage::Normal, Some(99_000.0), RTT, at(ms));
        }
        // 1500 bytes per 200 ms; the first ACK only ends the hold
        assert!((delay.rate - 92_500.0).abs() < 1.0, "{}", delay.rate);
    }

    #[test]
    fn a_rate_far_above_the_average_at_over_use_makes_growth_multiplicative_again() {
        let mut delay = DelayBased::new(100_000.0, 1500.0);
        delay.update(Usage::Over, Some(100_000.0), RTT, at(0));
        delay.update(Usage::Normal, Some(150_000.0), RTT, at(100));
        delay.update(Usage::Normal, Some(150_000.0), RTT, at(200));
        assert!(delay.capacity.is_none());
    }

    #[test]
    fn growth_stops_at_one_and_a_half_times_the_received_rate() {
        let mut delay = DelayBased::new(100_000.0, 1500.0);
        for ms in (0..=60_000).step_by(100) {
            delay.update(Usage::Normal, Some(100_000.0), RTT, at(ms));
        }
        assert!((delay.rate - 151_250.0).abs() < 1.0, "{}", delay.rate);
    }

    #[test]
    fn losses_of_more_than_10_percent_reduce_and_of_less_than_2_increase() {
        let after = |lost: u64| {
            let mut loss = LossBased::new(100_000.0);
            loss.update(0, 0, 100_000.0, RTT, at(1000));
            loss.update(1000 - lost, lost, 100_000.0, RTT, at(2000));
            loss.rate
        };
        assert!((after(10) - 108_125.0).abs() < 1e-6);
        assert_eq!(after(50), 100_000.0);
        assert!((after(200) - 90_000.0).abs() < 1e-6);
    }

    #[test]
    fn the_received_rate_is_that_of_half_a_second() {
        let mut received = Received::default();
        (0..2000).for_each(|ms| received.add(at(ms), 100.0));
        let rate = received.rate(at(2000)).expect("half a window");
        assert!((rate / 100_000.0 - 1.0).abs() < 0.1, "{rate}");
    }
}
