//! The delay-based rate: additive or multiplicative increase, and decrease to the acknowledged rate (draft, section
//! 5.5).

use super::overuse::Usage;
use fairweir_units::Time;

/// beta of section 5.5 of the draft.
const BETA: f64 = 0.85;
/// eta of section 5.5 of the draft, per second.
const GROWTH: f64 = 1.08;
const FIRST_RATE: f64 = 300e3;
/// WebRTC's minimum and maximum rate, bits/s.
const MIN_RATE: f64 = 30e3;
const MAX_RATE: f64 = 30e6;
/// The rate is at most this factor times the acknowledged rate, plus MAX_AHEAD_BPS.
const MAX_AHEAD: f64 = 1.5;
const MAX_AHEAD_BPS: f64 = 10e3;
/// Frame rate and packet size assumed by the additive increase.
const FRAMES_PER_SEC: f64 = 30.0;
const PACKET_BITS: f64 = 1200.0 * 8.0;
/// Response time of the system, added to the RTT, s (draft, section 5.5).
const RESPONSE_S: f64 = 0.1;
const MIN_INCREASE_BPS: f64 = 4e3;
/// Weight of a new sample in the estimate of the link's capacity.
const CAPACITY_WEIGHT: f64 = 0.05;
/// Number of standard deviations from its mean within which the estimate is valid.
const CAPACITY_DEVIATIONS: f64 = 3.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Hold,
    Increase,
}

/// Estimate of the link's throughput at over-use: mean, kbps, and normalized variance.
#[derive(Clone, Copy, Debug)]
struct Capacity {
    mean: f64,
    variance: f64,
}

impl Capacity {
    fn deviation(&self) -> f64 {
        (self.variance * self.mean).sqrt()
    }

    fn is_near(&self, kbps: f64) -> bool {
        (kbps - self.mean).abs() <= CAPACITY_DEVIATIONS * self.deviation()
    }

    fn update(&mut self, kbps: f64) {
        self.mean += CAPACITY_WEIGHT * (kbps - self.mean);
        let error = (self.mean - kbps).powi(2) / self.mean.max(1.0);
        // These bounds correspond to deviations of about 14 and 35 kbps at 500 kbps.
        self.variance = (self.variance + CAPACITY_WEIGHT * (error - self.variance)).clamp(0.4, 2.5);
    }
}

/// The delay-based rate controller.
#[derive(Debug)]
pub(super) struct RateControl {
    state: State,
    target: f64,
    capacity: Option<Capacity>,
    updated: Option<Time>,
    decreased: Option<Time>,
}

impl RateControl {
    pub(super) fn new() -> RateControl {
        RateControl { state: State::Hold, target: FIRST_RATE, capacity: None, updated: None, decreased: None }
    }

    /// Returns the target rate, bits/s.
    pub(super) fn target(&self) -> f64 {
        self.target
    }

    /// Returns whether over-use may reduce the rate again: only after an RTT, or if the arrival rate is far below the
    /// target.
    pub(super) fn may_decrease(&self, now: Time, rtt: f64, acknowledged: Option<f64>) -> bool {
        let Some(decreased) = self.decreased else { return true };
        let is_long_ago = now.since(decreased).as_secs_f64() >= rtt.clamp(0.01, 0.2);
        is_long_ago || acknowledged.is_some_and(|rate| rate < 0.5 * self.target)
    }

    /// Processes feedback: the usage of the link, the acknowledged rate in bits/s, and the RTT in s.
    pub(super) fn update(&mut self, now: Time, usage: Usage, acknowledged: Option<f64>, rtt: f64) {
        let elapsed = now.since(self.updated.replace(now).unwrap_or(now)).as_secs_f64().min(1.0);
        match usage {
            Usage::Over if self.may_decrease(now, rtt, acknowledged) => {
                self.decreased = Some(now);
                self.decrease(acknowledged);
                self.state = State::Hold;
            }
            Usage::Over => {}
            Usage::Under => self.state = State::Hold,
            Usage::Normal if self.state == State::Hold => self.state = State::Increase,
            Usage::Normal => self.increase(elapsed, acknowledged, rtt),
        }
        self.target = self.target.clamp(MIN_RATE, MAX_RATE);
    }

    fn increase(&mut self, elapsed: f64, acknowledged: Option<f64>, rtt: f64) {
        if let (Some(capacity), Some(rate)) = (self.capacity, acknowledged)
            && rate / 1e3 > capacity.mean + CAPACITY_DEVIATIONS * capacity.deviation()
        {
            self.capacity = None;
        }
        let increased = match self.capacity {
            Some(_) => self.target + self.additive_bps(rtt) * elapsed,
            None => self.target + (self.target * (GROWTH.powf(elapsed) - 1.0)).max(1000.0 * elapsed),
        };
        let most = acknowledged.map_or(f64::INFINITY, |rate| MAX_AHEAD * rate + MAX_AHEAD_BPS);
        self.target = increased.min(most.max(self.target));
    }

    /// Returns the additive increase, bits/s per second: about half a packet per response time.
    fn additive_bps(&self, rtt: f64) -> f64 {
        let frame = self.target / FRAMES_PER_SEC;
        let packet = frame / (frame / PACKET_BITS).ceil();
        (packet / (2.0 * (rtt + RESPONSE_S))).max(MIN_INCREASE_BPS)
    }

    fn decrease(&mut self, acknowledged: Option<f64>) {
        let Some(rate) = acknowledged else {
            self.target *= BETA;
            return;
        };
        let mut decreased = BETA * rate;
        if decreased > self.target
            && let Some(capacity) = self.capacity
        {
            decreased = BETA * capacity.mean * 1e3;
        }
        self.target = self.target.min(decreased);
        let kbps = rate / 1e3;
        match &mut self.capacity {
            Some(capacity) if capacity.is_near(kbps) || kbps > capacity.mean => capacity.update(kbps),
            _ => self.capacity = Some(Capacity { mean: kbps, variance: 0.4 }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn grows_by_8_percent_a_second_until_the_capacity_is_known() {
        let mut control = RateControl::new();
        control.update(at(0), Usage::Normal, None, 0.05);
        for i in 1..=10 {
            control.update(at(100 * i), Usage::Normal, None, 0.05);
        }
        assert!((control.target() / FIRST_RATE - 1.08).abs() < 1e-3, "{}", control.target());
    }

    #[test]
    fn over_use_sets_it_to_85_percent_of_what_was_acknowledged_and_growth_is_linear_then() {
        let mut control = RateControl { target: 3e6, ..RateControl::new() };
        control.update(at(0), Usage::Over, Some(2e6), 0.05);
        assert_eq!(control.target(), 1.7e6);
        // The rate is not reduced again within an RTT.
        control.update(at(20), Usage::Over, Some(1.9e6), 0.05);
        assert_eq!(control.target(), 1.7e6);
        control.update(at(100), Usage::Normal, Some(1.7e6), 0.05);
        control.update(at(1100), Usage::Normal, Some(1.7e6), 0.05);
        let grown = control.target() - 1.7e6;
        // At 1.7 Mbps a frame has 6 packets of 1180 B; the increase is one packet per 300 ms.
        assert!((grown - 1.7e6 / 30.0 / 6.0 / 0.3).abs() < 1.0, "{grown}");
        // The arrival rate far exceeds the estimate of the link, so the estimate is reset.
        control.update(at(1200), Usage::Normal, Some(4e6), 0.05);
        assert!(control.capacity.is_none());
    }

    #[test]
    fn stays_within_one_and_a_half_times_what_arrives() {
        let mut control = RateControl { target: 1e6, state: State::Increase, ..RateControl::new() };
        for i in 0..100 {
            control.update(at(100 * i), Usage::Normal, Some(0.8e6), 0.05);
        }
        assert_eq!(control.target(), 1.5 * 0.8e6 + 10e3);
        control.update(at(10_000), Usage::Under, Some(0.8e6), 0.05);
        control.update(at(10_100), Usage::Normal, Some(0.1e6), 0.05);
        control.update(at(10_200), Usage::Normal, Some(0.1e6), 0.05);
        assert_eq!(control.target(), 1.5 * 0.8e6 + 10e3);
    }
}
