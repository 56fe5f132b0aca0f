//! ACK aggregation with a fixed hold: in each period a pause, then a burst.
//!
//! In each period of length `J` (`hold`) no packet passes for `J (1 - rate / burst_rate)`. Then the waiting packets
//! leave at `burst_rate` until the period ends. A period has `rate J` bytes of opportunities, so that the long-run rate
//! equals the link's rate. No packet waits longer than the pause, unless traffic arrives at more than `rate`.
//!
//! **Source**: the FRCC paper's jitter box (section 7 and its scripts; the aggregator is Pantheon's): opportunities of
//! 1504 bytes at the link's rate, then periods of `J` ms with `rate J` opportunities at 32 a millisecond. An
//! opportunity carries many ACKs, so the burst rate is never the limit.
//!
//! **Deviations**: the published schedule has a resolution of a millisecond and a whole number of opportunities per
//! period. Here opportunities are evenly spaced, the last opportunity is at the end of the period, and a fraction of an
//! opportunity is carried over to the next period.

use crate::error::{check_dur, check_positive_bytes, check_positive_dur, check_rate};
use crate::opportunity::{Opportunity, OpportunityServer, Schedule};
use crate::{ConfigError, Element, ElementSpec, Packet, Verdict};
use fairweir_units::{Bytes, Dur, NANOS_PER_SEC, Rate, Time};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// Parameters of [`AckAggregation`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AckAggregationConfig {
    /// Length of a period, that is, pause and burst.
    pub hold: Dur,
    /// Mean rate of opportunities: the rate of the bottleneck.
    pub rate: Rate,
    /// Rate in a burst, at least `rate`.
    #[serde(default = "default_burst_rate")]
    pub burst_rate: Rate,
    /// Until this time opportunities are evenly spaced at `rate`.
    #[serde(default)]
    pub smooth: Time,
    /// Bytes in an opportunity.
    #[serde(default = "default_opportunity")]
    pub opportunity: Bytes,
}

/// 32 opportunities of 1504 bytes per millisecond.
fn default_burst_rate() -> Rate {
    Rate::from_bytes_per_sec(32 * 1504 * 1000)
}
fn default_opportunity() -> Bytes {
    Bytes(1504)
}

impl AckAggregationConfig {
    /// Checks the configuration.
    ///
    /// # Errors
    /// If a period, rate or size is zero or outside its range, or the burst rate is below the rate.
    pub fn validate(&self) -> Result<(), ConfigError> {
        check_positive_dur("hold", self.hold)?;
        check_rate("rate", self.rate)?;
        check_rate("burst_rate", self.burst_rate)?;
        if self.burst_rate < self.rate {
            return Err(ConfigError::new(
                "burst_rate",
                format!("must not be below the link's rate ({}): `{}`", self.rate, self.burst_rate),
                "the burst makes up for the silence before it",
            ));
        }
        check_dur("smooth", self.smooth.since(Time::ZERO))?;
        check_positive_bytes("opportunity", self.opportunity)
    }
}

impl ElementSpec for AckAggregationConfig {
    fn validate(&self) -> Result<(), ConfigError> {
        AckAggregationConfig::validate(self)
    }

    fn build(&self, _rng: ChaCha8Rng) -> Box<dyn Element> {
        Box::new(AckAggregation::new(self))
    }

    fn examples() -> &'static [&'static str] {
        &[r#"{"kind": "ack-aggregation", "hold": 20000000, "rate": 3000000}"#]
    }
}

/// Evenly spaced opportunities until `smooth`, then a burst at the end of each period.
#[derive(Clone, Debug)]
struct Bursts {
    hold: u128,
    rate: u128,
    burst_rate: u128,
    smooth: Time,
    opportunity: u128,
    /// Number of opportunities that were used or lost: of the smooth start while it lasts, then of the periods.
    handed_out: u128,
    is_smooth: bool,
}

impl Bursts {
    /// Returns the bytes of an opportunity in units of `rate * ns`.
    fn work(&self) -> u128 {
        self.opportunity * u128::from(NANOS_PER_SEC)
    }

    /// Returns the time of opportunity number `n` of the smooth start.
    fn smooth_time(&self, n: u128) -> u128 {
        ((n + 1) * self.work()).div_ceil(self.rate)
    }

    /// Returns the number of opportunities in the first `periods` periods.
    fn in_periods(&self, periods: u128) -> u128 {
        periods * self.hold * self.rate / self.work()
    }

    /// Returns the time of opportunity number `n` of the periods, in ns after the smooth start.
    fn burst_time(&self, n: u128) -> u128 {
        let periods = ((n + 1) * self.work()).div_ceil(self.hold * self.rate);
        let after_it = self.in_periods(periods) - 1 - n;
        periods * self.hold - after_it * self.work() / self.burst_rate
    }

    /// Returns the first opportunity number, at least `self.handed_out`, whose `time_of` is at least `time`; the search
    /// goes upwards from `guess`.
    fn first_from(&self, time: u128, guess: u128, time_of: impl Fn(u128) -> u128) -> u128 {
        let mut n = self.handed_out.max(guess);
        while time_of(n) < time {
            n += 1;
        }
        n
    }
}

impl Schedule for Bursts {
    fn next_from(&mut self, time: Time) -> Opportunity {
        let bytes = self.opportunity as u64;
        if self.is_smooth {
            let t = u128::from(time.as_nanos().min(self.smooth.as_nanos()));
            // The guess is at most one too low, so that the search is short.
            let guess = (t * self.rate / self.work()).saturating_sub(1);
            let n = self.first_from(t, guess, |n| self.smooth_time(n));
            let at = self.smooth_time(n);
            self.handed_out = n + 1;
            if at <= u128::from(self.smooth.as_nanos()) && at >= u128::from(time.as_nanos()) {
                return Opportunity { at: Time::from_nanos(at as u64), bytes };
            }
            self.is_smooth = false;
            self.handed_out = 0;
        }
        let t = u128::from(time.since(self.smooth).as_nanos());
        let before = self.in_periods(t / self.hold);
        // Position in the burst, if the burst has begun, counted backwards from the end of the period.
        let to_end = self.hold - t % self.hold;
        let in_period = self.in_periods(t / self.hold + 1) - before;
        let still_to_come = (to_end * self.burst_rate / self.work() + 2).min(in_period);
        let guess = (before + in_period - still_to_come).saturating_sub(1);
        let n = self.first_from(t, guess, |n| self.burst_time(n));
        self.handed_out = n + 1;
        let at = u128::from(self.smooth.as_nanos()) + self.burst_time(n);
        Opportunity { at: Time::from_nanos(u64::try_from(at).unwrap_or(u64::MAX)), bytes }
    }
}

/// An element that lets packets pass only in bursts.
#[derive(Clone, Debug)]
pub struct AckAggregation {
    server: OpportunityServer<Bursts>,
}

impl AckAggregation {
    /// Creates the element for `config`, which must be valid.
    pub fn new(config: &AckAggregationConfig) -> AckAggregation {
        AckAggregation {
            server: OpportunityServer::new(Bursts {
                hold: u128::from(config.hold.as_nanos()),
                rate: u128::from(config.rate.bytes_per_sec()),
                burst_rate: u128::from(config.burst_rate.bytes_per_sec()),
                smooth: config.smooth,
                opportunity: u128::from(config.opportunity.0),
                handed_out: 0,
                is_smooth: config.smooth > Time::ZERO,
            }),
        }
    }
}

impl Element for AckAggregation {
    fn arrive(&mut self, now: Time, packet: &Packet) -> Verdict {
        Verdict::Deliver(self.server.depart(now, packet.bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::tests::packet;
    use proptest::prelude::*;

    fn per_ms(opportunities: u64) -> Rate {
        Rate::from_bytes_per_sec(opportunities * 1504 * 1000)
    }

    fn element(hold_ms: u64, rate: u64, smooth_ms: u64) -> AckAggregation {
        let config = AckAggregationConfig {
            hold: Dur::from_millis(hold_ms),
            rate: per_ms(rate),
            burst_rate: per_ms(32),
            smooth: Time::from_nanos(smooth_ms * 1_000_000),
            opportunity: Bytes(1504),
        };
        config.validate().unwrap();
        AckAggregation::new(&config)
    }

    fn release(element: &mut AckAggregation, us: u64, bytes: u64) -> f64 {
        match element.arrive(Time::from_nanos(us * 1000), &packet(bytes)) {
            Verdict::Deliver(at) => at.as_nanos() as f64 / 1e6,
            verdict => panic!("{verdict:?}"),
        }
    }

    #[test]
    fn silence_then_a_burst_to_the_end_of_the_period() {
        // J = 32 ms at 8 opportunities per ms: 256 opportunities in the last 8 ms of each period.
        let mut element = element(32, 8, 0);
        assert_eq!(release(&mut element, 1, 52), 24.03125);
        assert_eq!(release(&mut element, 20_000, 52), 24.03125);
        assert_eq!(release(&mut element, 24_000, 52), 24.03125);
        assert_eq!(release(&mut element, 24_040, 52), 24.0625);
        assert_eq!(release(&mut element, 31_990, 52), 32.0);
        assert_eq!(release(&mut element, 32_001, 52), 56.03125);
        assert_eq!(release(&mut element, 1_000_032_001, 52), 1_000_056.031_25);
    }

    #[test]
    fn it_starts_smooth() {
        let mut element = element(32, 8, 64);
        assert_eq!(release(&mut element, 1, 52), 0.125);
        assert_eq!(release(&mut element, 63_900, 52), 64.0);
        assert_eq!(release(&mut element, 64_001, 52), 88.03125);
    }

    #[test]
    fn full_packets_get_the_link_s_rate_in_the_long_run() {
        // 7.3 opportunities per period: fractions carry over.
        let config = AckAggregationConfig {
            hold: Dur::from_millis(10),
            rate: Rate::from_bytes_per_sec(730 * 1504),
            burst_rate: per_ms(32),
            smooth: Time::ZERO,
            opportunity: Bytes(1504),
        };
        let mut element = AckAggregation::new(&config);
        let mut last = Verdict::Drop;
        for _ in 0..1_000_000 {
            last = element.arrive(Time::ZERO, &packet(1504));
        }
        // 1 000 000 / 7.3 periods = 136 986.3 periods: the last opportunity is in the burst that ends the next period.
        let Verdict::Deliver(at) = last else { panic!("lost") };
        let to_end = 136_987u64 * 10_000_000 - at.as_nanos();
        assert_eq!(to_end, (136_987 * 73 / 10 - 1_000_000) * 1_000_000 / 32);
    }

    #[test]
    fn no_packet_waits_longer_than_the_silence_and_one_opportunity() {
        let mut element = element(128, 8, 0);
        // One ACK for each packet of the link.
        for us in (0..1_000_000).step_by(125) {
            let held = release(&mut element, us, 52) - us as f64 / 1e3;
            assert!(held <= 96.032, "{held} ms at {us} us");
        }
    }

    proptest! {
        /// Compares with the schedule computed from its start, period by period.
        #[test]
        fn jumping_ahead_misses_no_opportunity(
            hold in 1u64..5_000_000,
            rate in 1_000_000u64..50_000_000,
            faster in 0u64..200_000_000,
            smooth in prop_oneof![Just(0u64), 1u64..20_000_000],
            opportunity in 100u64..3000,
            steps in prop::collection::vec(prop_oneof![4 => Just(0u64), 4 => 0u64..100_000, 1 => 0u64..10_000_000], 1..60),
        ) {
            let config = AckAggregationConfig {
                hold: Dur::from_nanos(hold),
                rate: Rate::from_bytes_per_sec(rate),
                burst_rate: Rate::from_bytes_per_sec(rate + faster),
                smooth: Time::from_nanos(smooth),
                opportunity: Bytes(opportunity),
            };
            prop_assert_eq!(config.validate(), Ok(()));
            let work = u128::from(opportunity) * 1_000_000_000;
            let mut written_out = (1u128..)
                .map(|n| (n * work).div_ceil(u128::from(rate)) as u64)
                .take_while(|&at| at <= smooth && smooth > 0)
                .chain((0u128..).flat_map(|period| {
                    let before = |periods: u128| periods * u128::from(hold) * u128::from(rate) / work;
                    let in_it = before(period + 1) - before(period);
                    let end = (period + 1) * u128::from(hold);
                    (0..in_it).rev().map(move |left| {
                        smooth + (end - left * work / u128::from(rate + faster)) as u64
                    })
                }))
                .peekable();

            let mut element = AckAggregation::new(&config);
            let mut time = 0;
            for step in steps {
                time += step;
                while written_out.peek().is_some_and(|&at| at < time) {
                    written_out.next();
                }
                let expected = written_out.next().expect("it has no end");
                // A packet of an opportunity's size uses the whole opportunity.
                let at = match element.arrive(Time::from_nanos(time), &packet(opportunity)) {
                    Verdict::Deliver(at) => at.as_nanos(),
                    verdict => panic!("{verdict:?}"),
                };
                prop_assert_eq!(at, expected);
                time = time.max(at);
            }
        }
    }
}
