//! Release at multiples of a period only.
//!
//! **Source**: the ACK aggregation of the starvation paper (section 5.3, PCC Vivace: ACKs only at multiples of 60 ms).

use crate::error::{check_dur, check_positive_dur};
use crate::{ConfigError, Element, ElementSpec, Packet, Verdict};
use fairweir_units::{Dur, Time};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// Parameters of [`PeriodicRelease`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PeriodicReleaseConfig {
    /// Packets leave at multiples of this time, together with all others that wait.
    pub period: Dur,
    /// The first instant of release; shorter than `period`.
    #[serde(default)]
    pub offset: Dur,
}

impl PeriodicReleaseConfig {
    /// Checks the configuration.
    ///
    /// # Errors
    /// A period that is zero or out of range, or an offset that is not shorter than the period.
    pub fn validate(&self) -> Result<(), ConfigError> {
        check_positive_dur("period", self.period)?;
        check_dur("offset", self.offset)?;
        if self.offset >= self.period {
            return Err(ConfigError::new(
                "offset",
                format!("must be shorter than the period ({}): `{}`", self.period, self.offset),
                "the offset shifts the instants of release within a period",
            ));
        }
        Ok(())
    }
}

impl ElementSpec for PeriodicReleaseConfig {
    fn validate(&self) -> Result<(), ConfigError> {
        PeriodicReleaseConfig::validate(self)
    }

    fn build(&self, _rng: ChaCha8Rng) -> Box<dyn Element> {
        Box::new(PeriodicRelease::new(self))
    }

    fn longest_hold(&self) -> Option<Dur> {
        Some(self.period.saturating_sub(Dur::from_nanos(1)))
    }

    fn examples() -> &'static [&'static str] {
        &[r#"{"kind": "periodic-release", "period": 10000000, "offset": 1000000}"#]
    }
}

/// Holds each packet until the next multiple of the period, for less than a period.
#[derive(Clone, Debug)]
pub struct PeriodicRelease {
    period: Dur,
    /// The earliest instant of release not before the last packet.
    next: Time,
}

impl PeriodicRelease {
    /// The element for `config`, which must be valid.
    pub fn new(config: &PeriodicReleaseConfig) -> PeriodicRelease {
        PeriodicRelease { period: config.period, next: Time::ZERO + config.offset }
    }
}

impl Element for PeriodicRelease {
    fn arrive(&mut self, now: Time, _packet: &Packet) -> Verdict {
        if now > self.next {
            let periods = now.since(self.next).as_nanos().div_ceil(self.period.as_nanos());
            self.next += self.period * periods;
        }
        Verdict::Deliver(self.next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::tests::packet;

    #[test]
    fn releases_at_multiples_only() {
        let config = PeriodicReleaseConfig { period: Dur::from_nanos(60), offset: Dur::from_nanos(7) };
        config.validate().unwrap();
        let mut element = PeriodicRelease::new(&config);
        let releases: Vec<Verdict> =
            [0, 7, 8, 67, 68, 600].iter().map(|&ns| element.arrive(Time::from_nanos(ns), &packet(52))).collect();
        assert_eq!(releases, [7, 7, 67, 67, 127, 607].map(|ns| Verdict::Deliver(Time::from_nanos(ns))));
    }
}
