//! Accuracy of an emulation: its lateness compared with a budget.

use crate::record::{Accuracy, HostAnswers, ReleaseError};
use fairweir_scenario::{Config, Histogram};
use fairweir_units::{Dur, Time};

/// The default budget is the minimum rtprop divided by this number, within the bounds below.
const BUDGET_DIVISOR: u64 = 20;
const SMALLEST_BUDGET: Dur = Dur::from_micros(200);
const LARGEST_BUDGET: Dur = Dur::from_millis(1);

/// Returns the default limit on the 99th percentile of the release error.
pub(crate) fn default_budget(config: &Config) -> Dur {
    let rtprop = config.flows.iter().map(|flow| flow.rtprop).min().unwrap_or(Dur::MAX);
    Dur::from_nanos(rtprop.as_nanos() / BUDGET_DIVISOR).clamp(SMALLEST_BUDGET, LARGEST_BUDGET)
}

/// Measured lateness of an emulator.
#[derive(Debug)]
pub(crate) struct Lateness {
    /// Release error: actual minus intended release time of each frame.
    pub(crate) release: Histogram,
    /// Wake-up error: time of the return from sleep minus the time of the alarm.
    pub(crate) wake: Histogram,
    /// Longest lateness, of a release or a wake-up, in each second of the run.
    longest: Vec<Dur>,
    /// Frames that a device rejected or that belong to no flow.
    pub(crate) strays: u64,
}

impl Lateness {
    pub(crate) fn new() -> Lateness {
        Lateness { release: Histogram::new(), wake: Histogram::new(), longest: Vec::new(), strays: 0 }
    }

    /// Notes that a frame left the emulator at `now` instead of at the intended time `at`.
    pub(crate) fn released(&mut self, at: Time, now: Time) {
        self.release.record(now.since(at).max(at.since(now)));
        self.note(now.since(at), now);
    }

    /// Notes that the emulator returned from sleep at `now`, `late_by` after the alarm.
    pub(crate) fn woken(&mut self, late_by: Dur, now: Time) {
        self.wake.record(late_by);
        self.note(late_by, now);
    }

    fn note(&mut self, late_by: Dur, now: Time) {
        let second = (now.as_nanos() / Dur::from_secs(1).as_nanos()) as usize;
        if self.longest.len() <= second {
            self.longest.resize(second + 1, Dur::ZERO);
        }
        self.longest[second] = self.longest[second].max(late_by);
    }

    /// Compares the lateness with the budget and returns the verdict, without the times of the hosts.
    pub(crate) fn judge(&self, budget: Dur, mode: &'static str, cpu_fraction: f64, not_granted: &str) -> Accuracy {
        let release_error_us = percentiles(&self.release);
        let budget_us = budget.as_nanos() as f64 / 1e3;
        let packets = self.release.total().1;
        let mut reason = String::new();
        if packets == 0 {
            reason = "no packet passed".into();
        } else if release_error_us.p99 > budget_us {
            let p99 = release_error_us.p99;
            reason = format!("the release error's 99th percentile is {p99:.0} µs, its budget {budget_us:.0} µs");
            if !not_granted.is_empty() {
                reason = format!("{reason} (the emulator's thread could not: {not_granted})");
            }
        }
        Accuracy {
            release_error_us,
            wake_error_us: percentiles(&self.wake),
            packets,
            budget_us,
            judged: reason.is_empty(),
            reason,
            mode,
            cpu_fraction,
            strays: self.strays,
            stalls_us: self.longest.iter().map(|longest| longest.as_nanos() as f64 / 1e3).collect(),
            host_us: HostAnswers::default(),
        }
    }
}

fn percentiles(histogram: &Histogram) -> ReleaseError {
    let us = |per_mille| histogram.quantile_ns(per_mille) / 1e3;
    let max = histogram.max().as_nanos() as f64 / 1e3;
    ReleaseError { p50: us(500), p90: us(900), p99: us(990), p999: us(999), max }
}

impl Accuracy {
    /// Makes the run one that is not judged if there is a `reason`.
    pub(crate) fn also_requires(&mut self, reason: &str) {
        if !reason.is_empty() {
            let separator = if self.judged { "" } else { "; " };
            self.reason = format!("{}{separator}{reason}", self.reason);
            self.judged = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn late_by(us: &[u64]) -> Lateness {
        let mut lateness = Lateness::new();
        us.iter().for_each(|&us| lateness.release.record(Dur::from_micros(us)));
        lateness
    }

    #[test]
    fn a_run_over_its_budget_is_not_judged() {
        let mut us = vec![10; 985];
        us.extend([5_000; 15]);
        let accuracy = late_by(&us).judge(Dur::from_micros(200), "mtu", 0.5, "");
        assert!(!accuracy.judged);
        assert!(accuracy.reason.contains("budget 200 µs"), "{}", accuracy.reason);
        assert_eq!((accuracy.packets, accuracy.release_error_us.max), (1000, 5000.0));
        us.truncate(990);
        let accuracy = late_by(&us).judge(Dur::from_micros(200), "mtu", 0.5, "run it with SCHED_FIFO (EPERM)");
        assert!(accuracy.judged && accuracy.reason.is_empty());
    }

    #[test]
    fn the_longest_lateness_of_each_second_is_kept() {
        let mut lateness = Lateness::new();
        let ms = |ms: u64| Time::from_nanos(ms * 1_000_000);
        lateness.released(ms(90), ms(97));
        lateness.released(ms(120), ms(118));
        lateness.woken(Dur::from_micros(500), ms(999));
        lateness.released(ms(2_990), ms(3_010));
        let accuracy = lateness.judge(Dur::from_millis(1), "mtu", 0.0, "");
        assert_eq!(accuracy.stalls_us, [7_000.0, 0.0, 0.0, 20_000.0]);
        assert_eq!((accuracy.packets, accuracy.wake_error_us.max), (3, 500.0));
    }

    #[test]
    fn a_run_with_undefined_windows_is_not_judged() {
        let mut accuracy = late_by(&[10]).judge(Dur::from_millis(1), "mtu", 0.0, "");
        accuracy.also_requires("");
        assert!(accuracy.judged);
        accuracy.also_requires("one");
        accuracy.also_requires("two");
        assert_eq!((accuracy.judged, accuracy.reason.as_str()), (false, "one; two"));
    }

    #[test]
    fn a_run_without_packets_is_not_judged() {
        assert_eq!(late_by(&[]).judge(Dur::from_millis(1), "mtu", 0.0, "").reason, "no packet passed");
    }
}
