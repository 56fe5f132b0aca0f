//! Tolerance of noise: RTT samples in bursts of ACKs are ignored, and so are changes of the RTT within an interval that are
//! no larger than the path's noise.

use crate::Ack;
use crate::monitor_interval::RttStats;
use fairweir_units::{Dur, Time};
use std::collections::VecDeque;

/// Weight of a new value in the moving averages.
const WEIGHT: f64 = 0.1;
/// Ratio of consecutive times between ACKs, relative to its average, from which on ACKs are a burst.
const BURST_RATIO: f64 = 50.0;
/// Resolution of the times between ACKs, ns: those of the same instant are this far apart.
const RESOLUTION_NS: f64 = 1e3;
/// Number of intervals in the history.
const HISTORY: usize = 6;
/// Deviations from the average beyond which a trend and a deviation are not noise (G1, G2).
const TREND_GAIN: f64 = 2.0;
const DEVIATION_GAIN: f64 = 4.0;
/// Deviation below which the history of deviations is not consulted, s.
const SMALL_DEVIATION: f64 = 1e-3;
/// Values below this are zero, s.
const TINY: f64 = 1e-12;
/// A trend this much smaller than all before resets the averages.
const ABNORMAL: f64 = 100.0;
/// Fraction of recent intervals with an abnormal deviation from which on the deviation's average starts again.
const ALL_ABNORMAL: f64 = 0.95;
/// Growth of the RTT in an interval that STARTING ignores, s.
const STARTING_GROWTH: f64 = 1e-3;

fn average(value: &mut f64, sample: f64) {
    *value += WEIGHT * (sample - *value);
}

/// Per-ACK filter: no RTT samples during bursts of ACKs.
#[derive(Clone, Debug, Default)]
pub(super) struct AckFilter {
    last: Option<Time>,
    gap_ns: Option<f64>,
    ratio: Option<f64>,
    in_burst: bool,
    rtt: Dur,
}

impl AckFilter {
    /// Processes an ACK with an RTT sample, and returns whether the sample is used. `srtt` is the smoothed RTT.
    pub fn accepts(&mut self, now: Time, rtt: Dur, srtt: Dur) -> bool {
        let gap = self.last.replace(now).map(|last| (now.since(last).as_nanos() as f64).max(RESOLUTION_NS));
        let before = std::mem::replace(&mut self.gap_ns, gap);
        let last_rtt = std::mem::replace(&mut self.rtt, rtt);
        let (Some(gap), Some(before)) = (gap, before) else {
            return true;
        };
        let ratio = (gap / before).max(before / gap);
        let usual = self.ratio.get_or_insert(ratio);
        let is_used = if ratio > BURST_RATIO * *usual {
            self.in_burst = true;
            false
        } else if self.in_burst {
            // the queue of the burst has drained: the RTT fell below its average and rises again
            self.in_burst = !(rtt > last_rtt && last_rtt < srtt);
            false
        } else {
            true
        };
        average(usual, ratio);
        is_used
    }

    /// Returns `ack`, without its RTT sample if that is not used.
    pub fn filter<'a>(&mut self, now: Time, ack: &Ack<'a>) -> Ack<'a> {
        match ack.rtt {
            Some(rtt) if !self.accepts(now, rtt, ack.sender.srtt) => Ack { rtt: None, ..*ack },
            _ => *ack,
        }
    }
}

/// The gradient and the deviation of the RTT in an interval, zero where they are noise.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Signal {
    /// Seconds per second.
    pub gradient: f64,
    /// s.
    pub deviation: f64,
}

/// Moving average and mean deviation of the trend of intervals' mean RTTs, s per interval.
#[derive(Clone, Copy, Debug)]
struct Trend {
    average: f64,
    deviation: f64,
    smallest: f64,
    last: f64,
}

/// History of intervals.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    means: VecDeque<f64>,
    trend: Option<Trend>,
    /// Average and mean deviation of the deviations within intervals.
    deviation: Option<(f64, f64)>,
    abnormal: f64,
}

impl History {
    /// Adds an interval, and returns what of its gradient and deviation is not noise. Neither counts if the regression's
    /// residual, as a gradient over the interval, exceeds the gradient, unless the history shows that the one or the
    /// other is unusual.
    pub fn judge(&mut self, gradient: f64, rtts: &RttStats, is_starting: bool) -> Signal {
        let mut grows = rtts.residual / rtts.interval < gradient.abs();
        let mut varies = grows;
        if rtts.n >= 2 {
            self.means.push_back(rtts.mean);
            if self.means.len() > HISTORY {
                self.means.pop_front();
            }
            if self.means.len() == HISTORY {
                if let Some(is_rising) = self.unusual_trend() {
                    grows |= is_rising;
                    varies = true;
                }
                varies |= self.has_unusual_deviation(rtts.deviation);
            }
        }
        if is_starting {
            grows &= gradient * rtts.interval >= STARTING_GROWTH;
            varies = false;
        }
        Signal {
            gradient: if grows { gradient.max(0.0) } else { 0.0 },
            deviation: if varies { rtts.deviation } else { 0.0 },
        }
    }

    /// Slope of the mean RTT over the number of the interval.
    fn slope(&self) -> f64 {
        let n = self.means.len() as f64;
        let (mid, mean) = ((n - 1.0) / 2.0, self.means.iter().sum::<f64>() / n);
        let products: f64 = self.means.iter().enumerate().map(|(i, rtt)| (i as f64 - mid) * (rtt - mean)).sum();
        products * 12.0 / (n * (n * n - 1.0))
    }

    /// If the trend is unusual, whether it rises.
    fn unusual_trend(&mut self) -> Option<bool> {
        let slope = self.slope();
        let fresh = Trend { average: 0.0, deviation: slope.abs(), smallest: slope.abs(), last: slope };
        let trend = self.trend.get_or_insert(fresh);
        if trend.smallest < TINY || slope.abs() < trend.smallest / ABNORMAL {
            *trend = fresh;
            return None;
        }
        trend.smallest = trend.smallest.min(slope.abs());
        if (slope - trend.average).abs() > TREND_GAIN * trend.deviation {
            return Some(slope > 0.0);
        }
        average(&mut trend.deviation, (slope - trend.last).abs());
        average(&mut trend.average, slope);
        trend.last = slope;
        None
    }

    fn has_unusual_deviation(&mut self, deviation: f64) -> bool {
        self.abnormal *= 1.0 - WEIGHT;
        let Some((mean, spread)) = self.deviation.as_mut().filter(|(mean, _)| *mean >= TINY) else {
            self.deviation = Some((deviation, 0.5 * deviation));
            return false;
        };
        if deviation > *mean + DEVIATION_GAIN * *spread && deviation > SMALL_DEVIATION {
            self.abnormal += WEIGHT;
            if self.abnormal > ALL_ABNORMAL {
                (self.deviation, self.abnormal) = (None, 0.0);
            }
            return true;
        }
        average(spread, (deviation - *mean).abs());
        average(mean, deviation);
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: f64) -> Time {
        Time::from_nanos((ms * 1e6) as u64)
    }

    fn ms(x: u64) -> Dur {
        Dur::from_millis(x)
    }

    #[test]
    fn samples_of_a_burst_are_not_used_until_its_queue_has_drained() {
        let mut filter = AckFilter::default();
        assert!((0..50).all(|i| filter.accepts(at(f64::from(i)), ms(50), ms(50))));
        // silence of 100 ms, then ACKs each ms with RTTs that fall from 150 ms to 49 ms and rise again
        assert!(!filter.accepts(at(149.0), ms(150), ms(60)));
        assert!(!filter.accepts(at(150.0), ms(140), ms(70)));
        assert!(!filter.accepts(at(151.0), ms(49), ms(70)));
        assert!(!filter.accepts(at(152.0), ms(51), ms(70)));
        assert!(filter.accepts(at(153.0), ms(51), ms(70)));
    }

    fn rtts(mean: f64, deviation: f64, residual: f64) -> RttStats {
        RttStats { n: 20, mean, deviation, residual, interval: 0.1 }
    }

    #[test]
    fn a_gradient_below_the_residual_is_noise() {
        let mut history = History::default();
        // 0.1 s at 0.05 s/s: the residual counts from 5 ms on
        let clear = history.judge(0.05, &rtts(0.1, 2e-3, 4.9e-3), false);
        assert_eq!(clear, Signal { gradient: 0.05, deviation: 2e-3 });
        assert_eq!(history.judge(0.05, &rtts(0.1, 2e-3, 5.1e-3), false), Signal::default());
        assert_eq!(history.judge(-0.05, &rtts(0.1, 2e-3, 0.0), false), Signal { gradient: 0.0, deviation: 2e-3 });
    }

    #[test]
    fn starting_ignores_a_growth_below_a_millisecond_and_all_deviation() {
        let mut history = History::default();
        assert_eq!(history.judge(0.0099, &rtts(0.1, 2e-3, 0.0), true), Signal::default());
        assert_eq!(history.judge(0.0101, &rtts(0.1, 2e-3, 0.0), true), Signal { gradient: 0.0101, deviation: 0.0 });
    }

    #[test]
    fn an_unusual_history_overrides_the_residual() {
        let noisy = |i: u32| rtts(0.1 + 1e-3 * f64::from(i * i % 7), 2e-3, 1.0);
        let mut history = History::default();
        for i in 0..40 {
            let signal = history.judge(0.01, &noisy(i), false);
            assert!(i < 20 || signal == Signal::default(), "{i}: {signal:?}");
        }
        // the mean RTT rises by 20 ms per interval
        let mut rising = history.clone();
        let found =
            (1..6).any(|i| rising.judge(0.01, &rtts(0.1 + 0.02 * f64::from(i), 2e-3, 1.0), false).gradient > 0.0);
        assert!(found, "{rising:?}");
        // the deviation is six times its average
        let mut varying = history.clone();
        let signal = varying.judge(0.01, &rtts(0.103, 12e-3, 1.0), false);
        assert_eq!(signal, Signal { gradient: 0.0, deviation: 12e-3 });
    }

    #[test]
    fn a_slope_is_that_of_least_squares() {
        let history = History { means: VecDeque::from([1.0, 3.0, 5.0, 7.0, 9.0, 11.0]), ..History::default() };
        assert!((history.slope() - 2.0).abs() < 1e-12);
    }
}
