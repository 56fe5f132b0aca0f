//! A link whose rate changes at given times, exact across every change.

use super::{Link, LinkSpec};
use crate::ConfigError;
use crate::error::{check_increasing, check_rate};
use fairweir_units::{Bytes, NANOS_PER_SEC, Rate, Time};
use serde::{Deserialize, Serialize};

/// From `at` on, the link serves at `rate`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateStep {
    /// Time, ns since the start of the run.
    pub at: Time,
    /// Bytes per second; zero is an outage.
    pub rate: Rate,
}

/// Parameters of [`RateSteps`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepsConfig {
    /// In time order, the first at time zero; the last rate is positive and applies until the end.
    pub steps: Vec<RateStep>,
}

impl StepsConfig {
    /// Checks the configuration.
    ///
    /// # Errors
    /// No steps, a first step after time zero, steps out of order, an outage without end, or a rate out of range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        check_increasing("steps", self.steps.iter().map(|s| s.at))?;
        if self.steps[0].at != Time::ZERO {
            let at = self.steps[0].at;
            return Err(ConfigError::new(
                "steps.0.at",
                format!("the first step must be at 0s: `{at}`"),
                "set the initial rate of the link",
            ));
        }
        let last = self.steps.len() - 1;
        for (i, step) in self.steps.iter().enumerate() {
            if step.rate == Rate::ZERO && i < last {
                continue;
            }
            check_rate(&format!("steps.{i}.rate"), step.rate)?;
        }
        Ok(())
    }
}

impl LinkSpec for StepsConfig {
    fn validate(&self) -> Result<(), ConfigError> {
        StepsConfig::validate(self)
    }

    fn build(&self) -> Box<dyn Link> {
        Box::new(RateSteps::new(self))
    }

    fn rate_key(&self) -> &'static str {
        "steps"
    }

    fn examples() -> &'static [&'static str] {
        &[
            r#"{"kind": "steps", "steps": [{"at": 0, "rate": 3000000}, {"at": 100000000, "rate": 0}, {"at": 150000000, "rate": 3000000}]}"#,
        ]
    }
}

/// Serves at a rate that changes at given times. A packet in transmission across a change is sent partly at the old and
/// partly at the new rate; during an outage it waits. Work is counted in 10^-9 bytes, so only the returned departure
/// time is rounded.
#[derive(Clone, Debug)]
pub struct RateSteps {
    steps: Vec<RateStep>,
    /// The step in force at `last_departure`.
    current: usize,
    last_departure: Time,
    /// Work done after `last_departure` for the last packet, 10^-9 bytes: less than the work of one ns.
    ahead: u64,
}

impl RateSteps {
    /// The link for `config`, which must be valid.
    pub fn new(config: &StepsConfig) -> RateSteps {
        RateSteps { steps: config.steps.clone(), current: 0, last_departure: Time::ZERO, ahead: 0 }
    }

    fn end_of_step(&self, i: usize) -> Time {
        self.steps.get(i + 1).map_or(Time::NEVER, |next| next.at)
    }
}

impl Link for RateSteps {
    fn depart(&mut self, now: Time, bytes: Bytes) -> Time {
        if now > self.last_departure {
            self.last_departure = now;
            self.ahead = 0;
        }
        let mut work = u128::from(bytes.0) * u128::from(NANOS_PER_SEC) + u128::from(self.ahead);
        loop {
            while self.end_of_step(self.current) <= self.last_departure && self.current + 1 < self.steps.len() {
                self.current += 1;
            }
            let rate = u128::from(self.steps[self.current].rate.bytes_per_sec());
            let end = self.end_of_step(self.current);
            let at_hand = u128::from(end.since(self.last_departure).as_nanos());
            if !end.is_set() || work <= rate * at_hand {
                let (whole, ahead) = work.checked_div(rate).map_or((0, 0), |whole| (whole, work % rate));
                let departure = u128::from(self.last_departure.as_nanos()) + whole;
                self.last_departure = Time::from_nanos(u64::try_from(departure).unwrap_or(u64::MAX));
                self.ahead = ahead as u64;
                return self.last_departure;
            }
            work -= rate * at_hand;
            self.last_departure = end;
        }
    }

    fn mean_rate(&self, from: Time, to: Time) -> Rate {
        let mut work = 0u128;
        for (i, step) in self.steps.iter().enumerate() {
            let overlap = self.end_of_step(i).min(to).since(step.at.max(from)).as_nanos();
            work += u128::from(step.rate.bytes_per_sec()) * u128::from(overlap);
        }
        match u128::from(to.since(from).as_nanos()) {
            0 => self.steps.iter().rev().find(|s| s.at <= from).map_or(Rate::ZERO, |s| s.rate),
            ns => Rate::from_bytes_per_sec((work / ns) as u64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn link(steps: &[(u64, u64)]) -> RateSteps {
        let steps = steps
            .iter()
            .map(|&(ns, rate)| RateStep { at: Time::from_nanos(ns), rate: Rate::from_bytes_per_sec(rate) })
            .collect();
        let config = StepsConfig { steps };
        config.validate().unwrap();
        RateSteps::new(&config)
    }

    #[test]
    fn a_packet_across_a_step_is_sent_partly_at_each_rate() {
        // 1000 B in the first ms, the other 500 B at half the rate.
        let mut link = link(&[(0, 1_000_000), (1_000_000, 500_000)]);
        assert_eq!(link.depart(Time::ZERO, Bytes(1500)), Time::from_nanos(2_000_000));
    }

    #[test]
    fn an_outage_holds_the_packet_in_transmission() {
        let mut link = link(&[(0, 1_000_000), (1_000_000, 0), (9_000_000, 1_000_000)]);
        assert_eq!(link.depart(Time::ZERO, Bytes(1000)), Time::from_nanos(1_000_000));
        assert_eq!(link.depart(Time::ZERO, Bytes(1000)), Time::from_nanos(10_000_000));
        assert_eq!(link.mean_rate(Time::ZERO, Time::from_nanos(10_000_000)), Rate::from_bytes_per_sec(200_000));
    }

    #[test]
    fn a_million_packets_across_ten_thousand_steps_take_exactly_as_long_as_the_rates_say() {
        // Rates whose transmission times are not whole ns, changing every millisecond, with an outage in every third.
        let steps: Vec<(u64, u64)> =
            (0..10_000).map(|i| (i * 1_000_000, [7_000_003, 0, 3_000_017][i as usize % 3])).collect();
        let mut link = link(&[steps.as_slice(), &[(10_000_000_000, 11_000_027)]].concat());
        let in_steps: u128 = steps.iter().map(|&(_, rate)| u128::from(rate) * 1_000_000).sum();
        let mut last = Time::ZERO;
        for _ in 0..1_000_000 {
            last = link.depart(Time::ZERO, Bytes(1499));
        }
        let work = 1_499_000_000u128 * 1_000_000_000;
        let after_steps = (work - in_steps) / 11_000_027;
        assert_eq!(u128::from(last.as_nanos()), 10_000_000_000 + after_steps);
    }

    #[test]
    fn one_step_is_a_constant_link() {
        let (mut a, mut b) =
            (link(&[(0, 875_001)]), super::super::ConstantRate::new(Rate::from_bytes_per_sec(875_001)));
        for i in 0..10_000u64 {
            let (now, bytes) = (Time::from_nanos(i * 1_600_000), Bytes(40 + i * 7919 % 1460));
            assert_eq!(a.depart(now, bytes), b.depart(now, bytes));
        }
    }

    #[test]
    fn refusals_name_the_key() {
        let step = |ns, rate| RateStep { at: Time::from_nanos(ns), rate: Rate::from_bytes_per_sec(rate) };
        let refusal = |steps: &[RateStep]| StepsConfig { steps: steps.to_vec() }.validate().unwrap_err().key;
        assert_eq!(refusal(&[]), "steps");
        assert_eq!(refusal(&[step(5, 1)]), "steps.0.at");
        assert_eq!(refusal(&[step(0, 1), step(0, 2)]), "steps.1.at");
        assert_eq!(refusal(&[step(0, 1), step(9, 0)]), "steps.1.rate");
        assert_eq!(refusal(&[step(0, u64::MAX)]), "steps.0.rate");
    }

    /// Returns the work that a busy link has done by `t`, 10^-9 bytes.
    fn capacity(steps: &[(u64, u64)], t: u64) -> u128 {
        let ends = steps.iter().skip(1).map(|s| s.0).chain([u64::MAX]);
        steps
            .iter()
            .zip(ends)
            .map(|(&(at, rate), end)| u128::from(end.min(t).saturating_sub(at)) * u128::from(rate))
            .sum()
    }

    proptest! {
        /// The fluid definition: a packet ends when the capacity since its start has reached its size.
        #[test]
        fn a_packet_ends_once_its_work_is_done(
            steps in prop::collection::vec((1u64..4_000_000, prop_oneof![Just(0u64), 1_000_000u64..9_000_000]), 0..10),
            last_rate in 1_000_000u64..9_000_000,
            arrivals in prop::collection::vec((0u64..2_000_000, 1u64..3000), 1..100),
        ) {
            let mut at = 0;
            let mut all: Vec<(u64, u64)> = Vec::new();
            for (length, rate) in steps {
                all.push((at, rate));
                at += length;
            }
            all.push((at, last_rate));
            let mut link = link(&all);
            let (mut now, mut done) = (0, 0u128);
            for (gap, bytes) in arrivals {
                now += gap;
                done = done.max(capacity(&all, now)) + u128::from(bytes) * 1_000_000_000;
                let departure = link.depart(Time::from_nanos(now), Bytes(bytes)).as_nanos();
                prop_assert!(capacity(&all, departure) <= done, "not late");
                prop_assert!(capacity(&all, departure + 1) >= done, "not early by a ns");
            }
        }
    }
}
