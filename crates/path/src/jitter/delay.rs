//! A constant extra delay.

use crate::error::check_dur;
use crate::{ConfigError, Element, ElementSpec, Packet, Verdict};
use fairweir_units::{Dur, Time};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// Parameters of [`Delay`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DelayConfig {
    /// Delay of every packet, ns.
    pub by: Dur,
    /// Start time. Earlier packets are not delayed, so the flow first observes the path without the delay.
    #[serde(default)]
    pub from: Time,
}

impl DelayConfig {
    /// Checks the configuration.
    ///
    /// # Errors
    /// A delay out of range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        check_dur("by", self.by)
    }
}

impl ElementSpec for DelayConfig {
    fn validate(&self) -> Result<(), ConfigError> {
        DelayConfig::validate(self)
    }

    fn build(&self, _rng: ChaCha8Rng) -> Box<dyn Element> {
        Box::new(Delay::new(self))
    }

    fn shortest_hold(&self) -> Dur {
        if self.from == Time::ZERO { self.by } else { Dur::ZERO }
    }

    fn longest_hold(&self) -> Option<Dur> {
        Some(self.by)
    }

    fn examples() -> &'static [&'static str] {
        &[r#"{"kind": "delay", "by": 5000000, "from": 50000000}"#]
    }
}

/// Delays every packet equally from a given time on: propagation, or persistent extra delay.
#[derive(Clone, Debug)]
pub struct Delay {
    by: Dur,
    from: Time,
}

impl Delay {
    /// Creates the element for `config`.
    pub fn new(config: &DelayConfig) -> Delay {
        Delay { by: config.by, from: config.from }
    }
}

impl Element for Delay {
    fn arrive(&mut self, now: Time, _packet: &Packet) -> Verdict {
        Verdict::Deliver(if now < self.from { now } else { now + self.by })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::tests::packet;

    #[test]
    fn holds_from_the_given_time_on() {
        let mut delay = Delay::new(&DelayConfig { by: Dur::from_millis(5), from: Time::from_nanos(100) });
        let mut at = |ns| delay.arrive(Time::from_nanos(ns), &packet(1500));
        assert_eq!(at(99), Verdict::Deliver(Time::from_nanos(99)));
        assert_eq!(at(100), Verdict::Deliver(Time::from_nanos(5_000_100)));
    }
}
