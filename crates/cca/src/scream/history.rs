//! Histories of the queueing delay and of inflight, with one value every 50 ms: the trend of the delay, its target, and the
//! maximum inflight.

use std::collections::VecDeque;

/// Number of delays of which the trend is computed: 1 s.
const TREND_SAMPLES: usize = 20;
/// QDELAY_WEIGHT: weight of a new delay in the average.
const TREND_WEIGHT: f64 = 0.1;
/// Sum of squared deviations below which a history is constant: the deviations are then rounding errors, which would all
/// be equal and look like a trend.
const ROUNDING: f64 = 1e-9;
/// Numbers of delays of which the target's variance and average are computed: 10 and 2.5 s.
const VARIANCE_SAMPLES: usize = 200;
const AVERAGE_SAMPLES: usize = 50;
/// Loss event rate above which competing traffic is assumed.
const LOSSY: f64 = 0.002;
/// Weight of a round in the loss event rate.
const LOSS_WEIGHT: f64 = 0.01;
/// Variance of the normalized delay below which the target follows it.
const STEADY: f64 = 0.2;
/// Number of values of inflight of which the maximum is taken: 5 s.
const INFLIGHT_SAMPLES: usize = 100;

fn push(values: &mut VecDeque<f64>, value: f64, most: usize) {
    values.push_back(value);
    if values.len() > most {
        values.pop_front();
    }
}

/// RFC 8298 §4.1.2: whether the delay, as a fraction of its target, is rising.
#[derive(Clone, Debug)]
pub(super) struct Trend {
    fractions: VecDeque<f64>,
    average: f64,
    value: f64,
}

impl Default for Trend {
    fn default() -> Trend {
        Trend { fractions: VecDeque::from([0.0; TREND_SAMPLES]), average: 0.0, value: 0.0 }
    }
}

impl Trend {
    /// Adds a delay and returns the trend: the autocorrelation of the last delays at lag 1, times their moving average,
    /// within [0, 1].
    pub fn update(&mut self, fraction: f64) -> f64 {
        self.average += TREND_WEIGHT * (fraction - self.average);
        push(&mut self.fractions, fraction, TREND_SAMPLES);
        let mean = self.fractions.iter().sum::<f64>() / self.fractions.len() as f64;
        let deviations: Vec<f64> = self.fractions.iter().map(|x| x - mean).collect();
        let at_lag_1: f64 = deviations.windows(2).map(|pair| pair[0] * pair[1]).sum();
        let at_lag_0: f64 = deviations.iter().map(|x| x * x).sum();
        let correlation = if at_lag_0 > ROUNDING { at_lag_1 / at_lag_0 } else { 0.0 };
        self.value = (correlation * self.average).clamp(0.0, 1.0);
        self.value
    }

    /// Returns the trend.
    pub fn value(&self) -> f64 {
        self.value
    }
}

/// RFC 8298 §4.1.2.3: the target for the queueing delay, raised next to competing flows.
#[derive(Clone, Debug)]
pub(super) struct Target {
    low: f64,
    high: f64,
    is_adjusted: bool,
    value: f64,
    /// Delays divided by `low`.
    delays: VecDeque<f64>,
    loss_event_rate: f64,
}

impl Target {
    /// Creates a target of `low`, which is adjusted up to `high` (both in s) if `is_adjusted`.
    pub fn new(low: f64, high: f64, is_adjusted: bool) -> Target {
        Target { low, high, is_adjusted, value: low, delays: VecDeque::new(), loss_event_rate: 0.0 }
    }

    /// Returns the target, s.
    pub fn value(&self) -> f64 {
        self.value
    }

    /// A round trip ended, in which packets were lost or not.
    pub fn end_round(&mut self, has_lost: bool) {
        self.loss_event_rate += LOSS_WEIGHT * (f64::from(u8::from(has_lost)) - self.loss_event_rate);
    }

    /// Adjusts the target to a queueing delay, s.
    pub fn update(&mut self, qdelay: f64) {
        if !self.is_adjusted {
            return;
        }
        push(&mut self.delays, qdelay / self.low, VARIANCE_SAMPLES);
        let mean = |from: usize| self.delays.range(from..).sum::<f64>() / (self.delays.len() - from) as f64;
        let (average, all) = (mean(self.delays.len().saturating_sub(AVERAGE_SAMPLES)), mean(0));
        let variance = self.delays.iter().map(|x| (x - all) * (x - all)).sum::<f64>() / self.delays.len() as f64;
        let limit = (average + variance.sqrt()) * self.low;
        let value = if self.loss_event_rate > LOSSY {
            1.5 * limit
        } else if variance < STEADY {
            limit
        } else if limit < self.low {
            limit.max(self.value * 0.5)
        } else {
            self.value * 0.9
        };
        self.value = value.clamp(self.low, self.high);
    }
}

/// The maximum inflight of the last 5 s, bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct Inflight {
    /// Maxima of intervals.
    past: VecDeque<f64>,
    max_of_past: f64,
    current: f64,
}

impl Inflight {
    /// Adds a value.
    pub fn add(&mut self, inflight: f64) {
        self.current = self.current.max(inflight);
    }

    /// Ends an interval.
    pub fn turn(&mut self) {
        push(&mut self.past, self.current, INFLIGHT_SAMPLES);
        self.max_of_past = self.past.iter().copied().fold(0.0, f64::max);
        self.current = 0.0;
    }

    /// Returns the maximum.
    pub fn max(&self) -> f64 {
        self.max_of_past.max(self.current)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(x: f64, y: f64) -> bool {
        (x - y).abs() < 1e-9
    }

    #[test]
    fn the_trend_of_a_rising_delay_is_its_correlation_times_its_average() {
        let mut trend = Trend::default();
        // 0.1, 0.2 and 0.3 after 17 zeros, by hand: mean 0.03, R(0) = 0.14 - 20 0.03^2 = 0.122,
        // R(1) = (16 zero pairs) 16 0.0009 - 0.03 0.07 + 0.07 0.17 + 0.17 0.27 = 0.0701;
        // average = 0.1 (0.1 0.81 + 0.2 0.9 + 0.3) = 0.0561
        trend.update(0.1);
        trend.update(0.2);
        let value = trend.update(0.3);
        assert!(near(trend.average, 0.0561), "{}", trend.average);
        assert!(near(value, 0.0701 / 0.122 * 0.0561), "{value}");
    }

    #[test]
    fn a_constant_or_an_alternating_delay_has_no_trend() {
        let mut trend = Trend::default();
        for constant in [0.9, 1.0 / 3.0, 0.7, 2.909] {
            (0..40).for_each(|_| _ = trend.update(constant));
            assert_eq!(trend.value(), 0.0, "{constant}");
        }
        (0..40).for_each(|i| _ = trend.update(f64::from(i % 2)));
        assert_eq!(trend.value(), 0.0);
    }

    #[test]
    fn the_target_follows_a_steady_delay_within_its_bounds() {
        let mut target = Target::new(0.1, 0.4, true);
        target.update(0.15);
        assert!(near(target.value(), 0.15), "{}", target.value());
        // 1.5 and 1.7: average 1.6, standard deviation 0.1
        target.update(0.17);
        assert!(near(target.value(), 0.17), "{}", target.value());
        (0..300).for_each(|_| target.update(0.5));
        assert_eq!(target.value(), 0.4);
        let mut fixed = Target::new(0.1, 0.4, false);
        fixed.update(0.15);
        assert_eq!(fixed.value(), 0.1);
    }

    #[test]
    fn an_unsteady_delay_lowers_the_target_and_losses_raise_it() {
        // 0 and 2 by turns: average 1, variance 1, limit 2 (0.2 s)
        let swinging = |losses: u32| {
            let mut target = Target::new(0.1, 0.4, true);
            target.value = 0.39;
            target.delays = (0..200).map(|i| f64::from(i % 2 * 2)).collect();
            (0..losses).for_each(|_| target.end_round(true));
            target.update(0.0);
            target.value()
        };
        assert!(near(swinging(0), 0.351), "{}", swinging(0));
        assert!((swinging(1) - 0.3).abs() < 0.01, "{}", swinging(1));
    }

    #[test]
    fn a_maximum_is_forgotten_after_five_seconds() {
        let mut inflight = Inflight::default();
        inflight.add(10.0);
        (0..INFLIGHT_SAMPLES).for_each(|_| inflight.turn());
        assert_eq!(inflight.max(), 10.0);
        inflight.add(3.0);
        inflight.turn();
        assert_eq!(inflight.max(), 3.0);
    }
}
