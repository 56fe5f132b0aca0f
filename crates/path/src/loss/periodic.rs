//! Every n-th packet is lost: the periodic loss of window models (RFC 9438's and RFC 3649's response functions).

use crate::{ConfigError, Element, ElementSpec, Packet, Verdict};
use fairweir_units::{Dur, Time};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// Parameters of [`PeriodicLoss`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PeriodicLossConfig {
    /// One packet in `every` is lost, counting arrivals at this element.
    pub every: u64,
    /// Number of the first packet lost, counted from 1; default: `every`.
    #[serde(default)]
    pub first: Option<u64>,
}

impl PeriodicLossConfig {
    /// Checks the configuration.
    ///
    /// # Errors
    /// A count of zero.
    pub fn validate(&self) -> Result<(), ConfigError> {
        const HINT: &str = "packets are counted from 1; to lose one in a hundred write 100";
        if self.every == 0 {
            return Err(ConfigError::new("every", "must be positive: `0`", HINT));
        }
        if self.first == Some(0) {
            return Err(ConfigError::new("first", "must be positive: `0`", HINT));
        }
        Ok(())
    }
}

impl ElementSpec for PeriodicLossConfig {
    fn validate(&self) -> Result<(), ConfigError> {
        PeriodicLossConfig::validate(self)
    }

    fn build(&self, _rng: ChaCha8Rng) -> Box<dyn Element> {
        Box::new(PeriodicLoss::new(self))
    }

    fn longest_hold(&self) -> Option<Dur> {
        Some(Dur::ZERO)
    }

    fn examples() -> &'static [&'static str] {
        &[r#"{"kind": "periodic-loss", "every": 100}"#]
    }
}

/// Loses every n-th packet.
#[derive(Clone, Debug)]
pub struct PeriodicLoss {
    every: u64,
    to_next: u64,
}

impl PeriodicLoss {
    /// The element for `config`, which must be valid.
    pub fn new(config: &PeriodicLossConfig) -> PeriodicLoss {
        PeriodicLoss { every: config.every, to_next: config.first.unwrap_or(config.every) }
    }
}

impl Element for PeriodicLoss {
    fn arrive(&mut self, now: Time, _packet: &Packet) -> Verdict {
        self.to_next -= 1;
        if self.to_next == 0 {
            self.to_next = self.every;
            return Verdict::Drop;
        }
        Verdict::Deliver(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::tests::packet;

    #[test]
    fn loses_every_nth() {
        let lost = |every, first| {
            let mut loss = PeriodicLoss::new(&PeriodicLossConfig { every, first });
            (1..=10).filter(|_| loss.arrive(Time::ZERO, &packet(1500)) == Verdict::Drop).collect::<Vec<u64>>()
        };
        assert_eq!(lost(4, None), [4, 8]);
        assert_eq!(lost(4, Some(1)), [1, 5, 9]);
        assert_eq!(lost(1, None).len(), 10);
    }
}
