//! A token-bucket shaper: bursts pass immediately, and the long-run rate is the token rate.

use super::{Link, LinkSpec};
use crate::ConfigError;
use crate::error::{check_positive_bytes, check_rate};
use crate::token_bucket::TokenBucket;
use fairweir_units::{Bytes, Rate, Time};
use serde::{Deserialize, Serialize};

/// Parameters of [`Shaper`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShaperConfig {
    /// Tokens per second, in bytes; positive.
    pub rate: Rate,
    /// Depth of the bucket, which starts full. A packet larger than this waits for the missing tokens.
    pub burst: Bytes,
}

impl ShaperConfig {
    /// Checks the configuration.
    ///
    /// # Errors
    /// A rate or a burst that is zero or out of range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        check_rate("rate", self.rate)?;
        check_positive_bytes("burst", self.burst)
    }
}

impl LinkSpec for ShaperConfig {
    fn validate(&self) -> Result<(), ConfigError> {
        ShaperConfig::validate(self)
    }

    fn build(&self) -> Box<dyn Link> {
        Box::new(Shaper::new(self))
    }

    fn examples() -> &'static [&'static str] {
        &[r#"{"kind": "token-bucket", "rate": 3000000, "burst": 15000}"#]
    }
}

/// Delays packets in excess of the token bucket's rate and burst; bursts within it pass without delay.
#[derive(Clone, Debug)]
pub struct Shaper {
    bucket: TokenBucket,
}

impl Shaper {
    /// The link for `config`, which must be valid.
    pub fn new(config: &ShaperConfig) -> Shaper {
        Shaper { bucket: TokenBucket::new(config.rate, config.burst) }
    }
}

impl Link for Shaper {
    fn depart(&mut self, now: Time, bytes: Bytes) -> Time {
        self.bucket.take(now, bytes)
    }

    fn mean_rate(&self, _from: Time, _to: Time) -> Rate {
        self.bucket.rate()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairweir_units::Dur;

    #[test]
    fn a_burst_passes_at_once_and_the_rest_at_the_rate() {
        let mut link = Shaper::new(&ShaperConfig { rate: Rate::from_mbps(12), burst: Bytes(3000) });
        let start = Time::from_nanos(1_000_000_000);
        let departures: Vec<u64> =
            (0..4).map(|_| link.depart(start, Bytes(1500)).since(start).as_nanos() / 1000).collect();
        assert_eq!(departures, [0, 0, 1000, 2000]);
        // Half a millisecond later the bucket holds 750 B more than it owes.
        let later = start + Dur::from_micros(2_500);
        assert_eq!(link.depart(later, Bytes(1500)), start + Dur::from_micros(3_000));
    }

    #[test]
    fn a_packet_larger_than_the_bucket_waits_for_the_rest() {
        let mut link = Shaper::new(&ShaperConfig { rate: Rate::from_mbps(12), burst: Bytes(750) });
        assert_eq!(link.depart(Time::ZERO, Bytes(1500)), Time::from_nanos(500_000));
        assert_eq!(link.depart(Time::ZERO, Bytes(1500)), Time::from_nanos(1_500_000));
    }

    #[test]
    fn a_million_packets_take_exactly_as_long_as_rate_and_burst_say() {
        let mut link = Shaper::new(&ShaperConfig { rate: Rate::from_mbps(7), burst: Bytes(100_000) });
        let mut last = Time::ZERO;
        for _ in 0..1_000_000 {
            last = link.depart(Time::ZERO, Bytes(1500));
        }
        // Rounded up: a shaper never sends before the tokens are available.
        assert_eq!(last.as_nanos(), ((1_500_000_000u64 - 100_000) * 8_000).div_ceil(7));
    }
}
