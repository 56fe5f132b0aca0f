//! Independent random loss.

use crate::chance::Chance;
use crate::error::check_probability;
use crate::{ConfigError, Element, ElementSpec, Packet, Verdict};
use fairweir_units::{Dur, Time};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// Parameters of [`IidLoss`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IidLossConfig {
    /// Mean number of packets lost per 10^9 packets.
    pub per_billion: u32,
}

impl IidLossConfig {
    /// Checks the configuration.
    ///
    /// # Errors
    /// A probability above 1.
    pub fn validate(&self) -> Result<(), ConfigError> {
        check_probability("per_billion", self.per_billion)
    }
}

impl ElementSpec for IidLossConfig {
    fn validate(&self) -> Result<(), ConfigError> {
        IidLossConfig::validate(self)
    }

    fn build(&self, rng: ChaCha8Rng) -> Box<dyn Element> {
        Box::new(IidLoss::new(self, rng))
    }

    fn longest_hold(&self) -> Option<Dur> {
        Some(Dur::ZERO)
    }

    fn examples() -> &'static [&'static str] {
        &[r#"{"kind": "iid-loss", "per_billion": 10000000}"#]
    }
}

/// Loses each packet with the same probability, independently.
#[derive(Clone, Debug)]
pub struct IidLoss {
    chance: Chance,
    rng: ChaCha8Rng,
}

impl IidLoss {
    /// The element for `config`.
    pub fn new(config: &IidLossConfig, rng: ChaCha8Rng) -> IidLoss {
        IidLoss { chance: Chance::per_billion(config.per_billion), rng }
    }
}

impl Element for IidLoss {
    fn arrive(&mut self, now: Time, _packet: &Packet) -> Verdict {
        if self.chance.draw(&mut self.rng) { Verdict::Drop } else { Verdict::Deliver(now) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::tests::packet;
    use rand::SeedableRng;

    #[test]
    fn loses_the_given_share() {
        let lost = |per_billion| {
            let mut loss = IidLoss::new(&IidLossConfig { per_billion }, ChaCha8Rng::seed_from_u64(1));
            (0..1_000_000).filter(|_| loss.arrive(Time::ZERO, &packet(1500)) == Verdict::Drop).count()
        };
        assert_eq!((lost(0), lost(1_000_000_000)), (0, 1_000_000));
        // Binomial, standard deviation 140; the tolerance is five of them.
        assert!((19_300..=20_700).contains(&lost(20_000_000)));
    }
}
