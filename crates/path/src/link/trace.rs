//! A link driven by a trace of transmission opportunities, as mahimahi's `mm-link` is.
//!
//! **Source**: mahimahi's trace format: one integer per line, in ms, at which one packet of 1504 bytes may leave (1500
//! and the TUN header); the trace repeats from its last time stamp on. An opportunity serves the bytes of one or
//! several packets; unused bytes are lost.

use super::{Link, LinkSpec};
use crate::ConfigError;
use crate::error::{check_dur, check_positive_bytes};
use crate::opportunity::{Opportunity, OpportunityServer, Schedule};
use fairweir_units::{Bytes, Hint, NANOS_PER_SEC, Rate, Time};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Parameters of [`Trace`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceConfig {
    /// Times at which bytes may leave, ns since the start of the run, in order; the last one is also the period.
    pub opportunities: Vec<Time>,
    /// Bytes that may leave at each opportunity.
    #[serde(default = "mahimahi_packet")]
    pub bytes: Bytes,
}

fn mahimahi_packet() -> Bytes {
    Bytes(1504)
}

/// An invalid line of a trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// Not a time.
    #[error("line {line}: `{text}` is not a whole number of milliseconds")]
    NotANumber {
        /// Counted from 1.
        line: usize,
        /// The text found, shortened.
        text: String,
    },
    /// A time before the one on the line above.
    #[error("line {line}: {ms} ms comes after {previous} ms: times must not decrease")]
    Decreasing {
        /// Counted from 1.
        line: usize,
        /// The time found.
        ms: u64,
        /// The time on the line above.
        previous: u64,
    },
    /// No opportunities, or all of them at time zero.
    #[error("the trace has no time after 0 ms, so it has no length to repeat")]
    Empty,
}

impl TraceError {
    /// How to correct the trace.
    pub fn hint(&self) -> &'static str {
        "a trace has one whole number a line: the millisecond at which one packet may leave"
    }
}

impl Hint for TraceError {
    fn hint(&self) -> Option<Cow<'_, str>> {
        Some(TraceError::hint(self).into())
    }
}

/// The maximum time in a trace: one year.
const MAX_MS: u64 = 366 * 86_400_000;

impl TraceConfig {
    /// Reads mahimahi's format; blank lines and lines that begin with `#` are skipped.
    ///
    /// # Errors
    /// The first line that is not a time or is earlier than the previous line; a trace without a positive time.
    pub fn parse(text: &str) -> Result<TraceConfig, TraceError> {
        let mut opportunities = Vec::new();
        let mut previous = 0;
        for (i, line) in text.lines().enumerate() {
            let entry = line.trim();
            if entry.is_empty() || entry.starts_with('#') {
                continue;
            }
            let is_digits = entry.bytes().all(|b| b.is_ascii_digit());
            let ms = entry.parse::<u64>().ok().filter(|&ms| is_digits && ms <= MAX_MS);
            let ms =
                ms.ok_or_else(|| TraceError::NotANumber { line: i + 1, text: entry.chars().take(40).collect() })?;
            if ms < previous {
                return Err(TraceError::Decreasing { line: i + 1, ms, previous });
            }
            previous = ms;
            opportunities.push(Time::from_nanos(ms * 1_000_000));
        }
        if previous == 0 {
            return Err(TraceError::Empty);
        }
        Ok(TraceConfig { opportunities, bytes: mahimahi_packet() })
    }

    /// Checks the configuration.
    ///
    /// # Errors
    /// A trace that is empty, has no positive time or decreases; opportunities of zero bytes.
    pub fn validate(&self) -> Result<(), ConfigError> {
        check_positive_bytes("bytes", self.bytes)?;
        const HINT: &str = "list the times at which a packet may leave, in order; the last one must be positive";
        if let Some(i) = self.opportunities.windows(2).position(|w| w[1] < w[0]) {
            let at = self.opportunities[i + 1];
            return Err(ConfigError::new(
                format!("opportunities.{}", i + 1),
                format!("must not be earlier than the opportunity before it: `{at}`"),
                HINT,
            ));
        }
        match self.opportunities.last() {
            None => Err(ConfigError::new("opportunities", "must not be empty", HINT)),
            Some(&Time::ZERO) => Err(ConfigError::new("opportunities", "have no length to repeat: all at `0s`", HINT)),
            Some(last) => check_dur("opportunities", last.since(Time::ZERO)),
        }
    }
}

impl LinkSpec for TraceConfig {
    fn validate(&self) -> Result<(), ConfigError> {
        TraceConfig::validate(self)
    }

    fn build(&self) -> Box<dyn Link> {
        Box::new(Trace::new(self))
    }

    fn rate_key(&self) -> &'static str {
        "bytes"
    }

    fn examples() -> &'static [&'static str] {
        &[r#"{"kind": "trace", "opportunities": [0, 1000000, 1000000, 5000000], "bytes": 1504}"#]
    }
}

/// The opportunities of a trace, repeated without end.
#[derive(Clone, Debug)]
struct Repeated {
    times: Vec<u64>,
    bytes: u64,
    /// Start of the current repetition.
    base: u64,
    /// Index of the next opportunity.
    next: usize,
}

impl Repeated {
    fn period(&self) -> u64 {
        self.times[self.times.len() - 1]
    }

    /// The number of opportunities up to and including `time`.
    fn count(&self, time: u64) -> u128 {
        let rest = time % self.period();
        u128::from(time / self.period()) * self.times.len() as u128 + self.times.partition_point(|&t| t <= rest) as u128
    }
}

impl Schedule for Repeated {
    fn next_from(&mut self, time: Time) -> Opportunity {
        let time = time.as_nanos();
        if time > self.base.saturating_add(self.period()) {
            // An opportunity exactly at the end of a repetition belongs to that repetition.
            self.base = (time - 1) / self.period() * self.period();
            self.next = 0;
        }
        let rest = time.saturating_sub(self.base);
        if self.times[self.next] < rest {
            self.next += self.times[self.next..].partition_point(|&t| t < rest);
        }
        let at = Time::from_nanos(self.base.saturating_add(self.times[self.next]));
        self.next += 1;
        if self.next == self.times.len() {
            self.base = self.base.saturating_add(self.period());
            self.next = 0;
        }
        Opportunity { at, bytes: self.bytes }
    }
}

/// Serves by the opportunities of a trace.
#[derive(Clone, Debug)]
pub struct Trace {
    server: OpportunityServer<Repeated>,
}

impl Trace {
    /// The link for `config`, which must be valid.
    pub fn new(config: &TraceConfig) -> Trace {
        let times = config.opportunities.iter().map(|t| t.as_nanos()).collect();
        Trace { server: OpportunityServer::new(Repeated { times, bytes: config.bytes.0, base: 0, next: 0 }) }
    }
}

impl Link for Trace {
    fn depart(&mut self, now: Time, bytes: Bytes) -> Time {
        self.server.depart(now, bytes)
    }

    fn mean_rate(&self, from: Time, to: Time) -> Rate {
        let schedule = self.server.schedule();
        let opportunities = schedule.count(to.as_nanos()) - schedule.count(from.as_nanos());
        match u128::from(to.since(from).as_nanos()) {
            0 => Rate::ZERO,
            ns => {
                let rate = opportunities * u128::from(schedule.bytes) * u128::from(NANOS_PER_SEC) / ns;
                Rate::from_bytes_per_sec(rate.min(u128::from(u64::MAX)) as u64)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ms(t: u64) -> Time {
        Time::from_nanos(t * 1_000_000)
    }

    fn link(text: &str) -> Trace {
        let config = TraceConfig::parse(text).unwrap();
        config.validate().unwrap();
        Trace::new(&config)
    }

    #[test]
    fn the_trace_repeats_from_its_last_time() {
        let mut link = link("0\n3\n3\n7\n");
        let departures: Vec<u64> =
            (0..8).map(|_| link.depart(Time::ZERO, Bytes(1504)).as_nanos() / 1_000_000).collect();
        assert_eq!(departures, [0, 3, 3, 7, 7, 10, 10, 14]);
    }

    #[test]
    fn small_packets_share_an_opportunity_and_large_ones_take_several() {
        let mut link = link("1\n2\n3\n4\n");
        let sizes = [52, 52, 1400, 1504, 3008];
        let departures: Vec<u64> =
            sizes.iter().map(|&b| link.depart(Time::ZERO, Bytes(b)).as_nanos() / 1_000_000).collect();
        assert_eq!(departures, [1, 1, 1, 2, 4]);
    }

    #[test]
    fn unused_opportunities_are_lost() {
        let mut link = link("1\n2\n3\n100\n");
        assert_eq!(link.depart(ms(2), Bytes(1504)), ms(2));
        assert_eq!(link.depart(ms(50), Bytes(1504)), ms(100));
        assert_eq!(link.depart(ms(200), Bytes(1504)), ms(200));
        assert_eq!(link.depart(ms(200), Bytes(1504)), ms(201));
        assert_eq!(link.depart(ms(1_000_000_150), Bytes(1504)), ms(1_000_000_200));
    }

    #[test]
    fn a_million_packets_use_every_opportunity() {
        let mut link = link("1\n1\n4\n9\n17\n");
        let mut last = Time::ZERO;
        for _ in 0..1_000_000 {
            last = link.depart(Time::ZERO, Bytes(1504));
        }
        assert_eq!(last, ms(1_000_000 / 5 * 17));
        assert_eq!(link.mean_rate(Time::ZERO, last), Rate::from_bytes_per_sec(5 * 1504 * 1000 / 17));
        assert_eq!(link.mean_rate(ms(17), ms(21)), Rate::from_bytes_per_sec(3 * 1504 * 1000 / 4));
    }

    #[test]
    fn refusals_name_the_line() {
        let messages: Vec<String> =
            ["1\n2\nx\n", "1\n\n# note\n-3\n", "5\n4\n", "", "0\n0\n", "1.5\n", "99999999999999999999\n"]
                .iter()
                .map(|text| TraceConfig::parse(text).unwrap_err().to_string())
                .collect();
        assert_eq!(
            messages,
            [
                "line 3: `x` is not a whole number of milliseconds",
                "line 4: `-3` is not a whole number of milliseconds",
                "line 2: 4 ms comes after 5 ms: times must not decrease",
                "the trace has no time after 0 ms, so it has no length to repeat",
                "the trace has no time after 0 ms, so it has no length to repeat",
                "line 1: `1.5` is not a whole number of milliseconds",
                "line 1: `99999999999999999999` is not a whole number of milliseconds",
            ]
        );
    }

    proptest! {
        #[test]
        fn no_text_panics_and_what_parses_is_valid(text in "([0-9#x\\- ]{0,6}\r?\n){0,12}") {
            if let Ok(config) = TraceConfig::parse(&text) {
                prop_assert_eq!(config.validate(), Ok(()));
            }
        }

        /// mahimahi's `link_queue`: at each opportunity of each millisecond, queued packets share its bytes.
        #[test]
        fn serves_as_mahimahi_s_loop_does(
            gaps in prop::collection::vec(0u64..5, 1..20),
            arrivals in prop::collection::vec((0u64..40, 1u64..4000), 1..50),
        ) {
            let times: Vec<u64> = gaps.iter().scan(0, |t, gap| { *t += gap; Some(*t) }).collect();
            let period = times[times.len() - 1];
            prop_assume!(period > 0);
            // Arrivals at half milliseconds, some of them at an opportunity.
            let arrivals: Vec<(u64, u64)> =
                arrivals.iter().scan(0, |t, (gap, bytes)| { *t += gap; Some((*t * 500_000, *bytes)) }).collect();

            let config = TraceConfig { opportunities: times.iter().map(|&t| ms(t)).collect(), bytes: Bytes(1504) };
            let mut link = Trace::new(&config);
            let ours: Vec<u64> =
                arrivals.iter().map(|&(now, bytes)| link.depart(Time::from_nanos(now), Bytes(bytes)).as_nanos()).collect();

            let mut theirs = Vec::new();
            let mut in_transit = 0;
            for opportunity in (0u64..).flat_map(|repetition| times.iter().map(move |t| (repetition * period + t) * 1_000_000)) {
                let mut left = 1504;
                while left > 0 && theirs.len() < arrivals.len() && arrivals[theirs.len()].0 <= opportunity {
                    if in_transit == 0 {
                        in_transit = arrivals[theirs.len()].1;
                    }
                    let amount = left.min(in_transit);
                    left -= amount;
                    in_transit -= amount;
                    if in_transit == 0 {
                        theirs.push(opportunity);
                    }
                }
                if theirs.len() == arrivals.len() {
                    break;
                }
            }
            prop_assert_eq!(ours, theirs);
        }
    }
}
