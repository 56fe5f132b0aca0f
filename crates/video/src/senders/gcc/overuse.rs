//! The over-use detector: a regression line through the delay, and an adaptive threshold (draft, sections 5.3 and 5.4).

use super::arrivals::GroupDelta;
use std::collections::VecDeque;

/// Weight of the previous value in the smoothed delay.
const SMOOTHING: f64 = 0.9;
/// Number of groups to which the line is fitted.
const WINDOW: usize = 20;
/// The slope is multiplied by the number of groups, at most MAX_GROUPS, and by GAIN.
const MAX_GROUPS: f64 = 60.0;
const GAIN: f64 = 4.0;
/// Over-use is signaled when the estimate has exceeded the threshold for longer than this, ms.
const OVERUSE_TIME_MS: f64 = 10.0;
/// The threshold's initial value and its bounds, ms (draft, section 5.4: del_var_th).
const FIRST_THRESHOLD: f64 = 12.5;
const MIN_THRESHOLD: f64 = 6.0;
const MAX_THRESHOLD: f64 = 600.0;
/// WebRTC's gains of the threshold, per ms.
const GAINS: Gains = Gains { up: 0.0087, down: 0.039 };
/// The threshold ignores estimates that exceed it by more than this, ms, because they result from sudden changes of the
/// path.
const MAX_EXCESS: f64 = 15.0;
/// Maximum time over which the threshold adapts in one step, ms.
const MAX_ADAPT_MS: f64 = 100.0;

/// Gains by which the threshold follows the estimate, per ms (draft, section 5.4: K_u and K_d).
#[derive(Clone, Copy, Debug)]
pub(super) struct Gains {
    /// Gain if the estimate exceeds the threshold.
    pub(super) up: f64,
    /// Gain if the estimate is below the threshold.
    pub(super) down: f64,
}

/// Usage of the link, derived from the delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Usage {
    /// Delays are stable.
    Normal,
    /// A queue grows.
    Over,
    /// A queue shrinks.
    Under,
}

/// Detects a growing queue from the spacing of groups.
#[derive(Debug)]
pub(super) struct OveruseDetector {
    groups: f64,
    /// Accumulated and smoothed delay relative to the first group, ms.
    accumulated: f64,
    smoothed: f64,
    /// Arrival times of groups, ms since the first, with the smoothed delay at that time, ms.
    window: VecDeque<(f64, f64)>,
    first_at_ms: Option<f64>,
    slope: f64,
    threshold: f64,
    gains: Gains,
    adapted_ms: Option<f64>,
    /// Time for which the estimate has exceeded the threshold, ms, and the number of groups in that time.
    over_ms: Option<f64>,
    over_groups: u32,
    usage: Usage,
}

impl OveruseDetector {
    pub(super) fn new() -> OveruseDetector {
        OveruseDetector {
            groups: 0.0,
            accumulated: 0.0,
            smoothed: 0.0,
            window: VecDeque::with_capacity(WINDOW + 1),
            first_at_ms: None,
            slope: 0.0,
            threshold: FIRST_THRESHOLD,
            gains: GAINS,
            adapted_ms: None,
            over_ms: None,
            over_groups: 0,
            usage: Usage::Normal,
        }
    }

    /// Creates a detector with other gains of the threshold.
    #[cfg(test)]
    pub(super) fn with_gains(gains: Gains) -> OveruseDetector {
        OveruseDetector { gains, ..OveruseDetector::new() }
    }

    /// Returns the threshold, ms.
    #[cfg(test)]
    pub(super) fn threshold(&self) -> f64 {
        self.threshold
    }

    /// Returns the current usage of the link.
    pub(super) fn usage(&self) -> Usage {
        self.usage
    }

    /// Processes the spacing of two groups.
    pub(super) fn update(&mut self, delta: &GroupDelta) {
        self.groups += 1.0;
        self.accumulated += delta.arrived_ms - delta.sent_ms;
        self.smoothed = SMOOTHING * self.smoothed + (1.0 - SMOOTHING) * self.accumulated;
        let first = *self.first_at_ms.get_or_insert(delta.at_ms);
        self.window.push_back((delta.at_ms - first, self.smoothed));
        if self.window.len() > WINDOW {
            self.window.pop_front();
        }
        let slope = if self.window.len() == WINDOW { fit(&self.window).unwrap_or(self.slope) } else { self.slope };
        self.detect(slope, delta.sent_ms, delta.at_ms);
    }

    fn detect(&mut self, slope: f64, sent_ms: f64, at_ms: f64) {
        if self.groups < 2.0 {
            self.usage = Usage::Normal;
            return;
        }
        let estimate = self.groups.min(MAX_GROUPS) * slope * GAIN;
        if estimate > self.threshold {
            self.over_ms = Some(self.over_ms.map_or(sent_ms / 2.0, |over| over + sent_ms));
            self.over_groups += 1;
            // Draft, section 5.4: over-use is not signaled while the estimate decreases.
            if self.over_ms > Some(OVERUSE_TIME_MS) && self.over_groups > 1 && slope >= self.slope {
                (self.over_ms, self.over_groups) = (Some(0.0), 0);
                self.usage = Usage::Over;
            }
        } else {
            (self.over_ms, self.over_groups) = (None, 0);
            self.usage = if estimate < -self.threshold { Usage::Under } else { Usage::Normal };
        }
        self.slope = slope;
        self.adapt(estimate.abs(), at_ms);
    }

    /// Draft, section 5.4: del_var_th(i) = del_var_th(i-1) + dt K(i) (|m(i)| - del_var_th(i-1)).
    fn adapt(&mut self, estimate: f64, at_ms: f64) {
        let elapsed = at_ms - self.adapted_ms.replace(at_ms).unwrap_or(at_ms);
        if estimate > self.threshold + MAX_EXCESS {
            return;
        }
        let gain = if estimate < self.threshold { self.gains.down } else { self.gains.up };
        let change = gain * (estimate - self.threshold) * elapsed.min(MAX_ADAPT_MS);
        self.threshold = (self.threshold + change).clamp(MIN_THRESHOLD, MAX_THRESHOLD);
    }
}

/// Returns the slope of the least-squares line through the points.
fn fit(points: &VecDeque<(f64, f64)>) -> Option<f64> {
    let n = points.len() as f64;
    let (mean_x, mean_y) = points.iter().fold((0.0, 0.0), |(x, y), p| (x + p.0 / n, y + p.1 / n));
    let (num, den) = points
        .iter()
        .fold((0.0, 0.0), |(num, den), p| (num + (p.0 - mean_x) * (p.1 - mean_y), den + (p.0 - mean_x).powi(2)));
    (den > 0.0).then(|| num / den)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds groups sent every 20 ms; the delay grows by `growth` ms from each group to the next.
    fn feed(detector: &mut OveruseDetector, from: usize, n: usize, growth: f64) -> Option<usize> {
        let mut at = from as f64 * 20.0;
        (0..n).find(|_| {
            at += 20.0 + growth;
            detector.update(&GroupDelta { sent_ms: 20.0, arrived_ms: 20.0 + growth, at_ms: at });
            detector.usage() == Usage::Over
        })
    }

    #[test]
    fn a_steady_delay_is_normal_a_growing_one_over_use_and_a_falling_one_under_use() {
        let mut detector = OveruseDetector::new();
        assert_eq!(feed(&mut detector, 0, 60, 0.0), None);
        let found = feed(&mut detector, 60, 60, 1.0).expect("1 ms more delay every 20 ms is over-use");
        assert!((1..20).contains(&found), "{found}");
        feed(&mut detector, 120, 60, -1.0);
        assert_eq!(detector.usage(), Usage::Under);
    }

    #[test]
    fn over_use_needs_more_than_10_ms_two_groups_and_no_falling_slope() {
        let mut detector = OveruseDetector::new();
        detector.groups = 60.0;
        // A slope of 0.06 gives an estimate of 14.4 ms, above the threshold of 12.5 ms.
        detector.detect(0.06, 8.0, 8.0);
        assert_eq!((detector.usage, detector.over_ms, detector.over_groups), (Usage::Normal, Some(4.0), 1));
        detector.detect(0.059, 8.0, 16.0);
        assert_eq!((detector.usage, detector.over_ms), (Usage::Normal, Some(12.0)));
        detector.detect(0.06, 8.0, 24.0);
        assert_eq!((detector.usage, detector.over_ms, detector.over_groups), (Usage::Over, Some(0.0), 0));
        detector.detect(0.0, 8.0, 32.0);
        assert_eq!((detector.usage, detector.over_ms), (Usage::Normal, None));
    }

    #[test]
    fn the_threshold_follows_the_estimate_slowly_up_and_fast_down_and_ignores_spikes() {
        let mut detector = OveruseDetector::new();
        detector.adapt(20.0, 0.0);
        assert_eq!(detector.threshold, 12.5);
        detector.adapt(20.0, 50.0);
        assert!((detector.threshold - (12.5 + 50.0 * 0.0087 * 7.5)).abs() < 1e-12);
        let before = detector.threshold;
        detector.adapt(before + 15.1, 100.0);
        assert_eq!(detector.threshold, before);
        detector.adapt(10.0, 110.0);
        assert!((detector.threshold - (before + 10.0 * 0.039 * (10.0 - before))).abs() < 1e-12);
        // The threshold stays within its bounds and adapts for at most 100 ms at a time.
        detector.adapt(0.0, 110.0 + 1e6);
        assert_eq!(detector.threshold, MIN_THRESHOLD);
    }

    #[test]
    fn the_slope_of_a_line_is_its_slope() {
        let points: VecDeque<_> = (0..20).map(|i| (f64::from(i) * 5.0, 3.0 + 0.25 * f64::from(i) * 5.0)).collect();
        assert!((fit(&points).unwrap() - 0.25).abs() < 1e-12);
        assert_eq!(fit(&VecDeque::from([(1.0, 1.0), (1.0, 2.0)])), None);
    }
}
