//! Random delay up to a bound.

use crate::chance::uniform_up_to;
use crate::error::check_positive_dur;
use crate::{ConfigError, Element, ElementSpec, Packet, Verdict};
use fairweir_units::{Dur, Time};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// Parameters of [`Uniform`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UniformConfig {
    /// Maximum delay.
    pub max: Dur,
}

impl UniformConfig {
    /// Checks the configuration.
    ///
    /// # Errors
    /// A bound that is zero or out of range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        check_positive_dur("max", self.max)
    }
}

impl ElementSpec for UniformConfig {
    fn validate(&self) -> Result<(), ConfigError> {
        UniformConfig::validate(self)
    }

    fn build(&self, rng: ChaCha8Rng) -> Box<dyn Element> {
        Box::new(Uniform::new(self, rng))
    }

    fn longest_hold(&self) -> Option<Dur> {
        Some(self.max)
    }

    fn examples() -> &'static [&'static str] {
        &[r#"{"kind": "uniform", "max": 10000000}"#]
    }
}

/// Delays each packet by a random time in `[0, max]`. A packet that would overtake its predecessor leaves together with
/// it. In dense traffic the mean delay is therefore close to `max`, not to `max / 2`.
#[derive(Clone, Debug)]
pub struct Uniform {
    max: Dur,
    last_release: Time,
    rng: ChaCha8Rng,
}

impl Uniform {
    /// The element for `config`.
    pub fn new(config: &UniformConfig, rng: ChaCha8Rng) -> Uniform {
        Uniform { max: config.max, last_release: Time::ZERO, rng }
    }
}

impl Element for Uniform {
    fn arrive(&mut self, now: Time, _packet: &Packet) -> Verdict {
        self.last_release = self.last_release.max(now + uniform_up_to(self.max, &mut self.rng));
        Verdict::Deliver(self.last_release)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::tests::packet;
    use rand::SeedableRng;

    #[test]
    fn sparse_packets_are_held_uniformly() {
        let max = Dur::from_millis(10);
        let mut jitter = Uniform::new(&UniformConfig { max }, ChaCha8Rng::seed_from_u64(3));
        let mut tenths = [0u32; 10];
        for i in 0..100_000 {
            let now = Time::from_nanos(i * 20_000_000);
            let Verdict::Deliver(release) = jitter.arrive(now, &packet(1500)) else { panic!("lost") };
            tenths[(release.since(now).as_nanos() * 10 / 10_000_001) as usize] += 1;
        }
        // Binomial, standard deviation 95; the tolerance is five of them.
        assert!(tenths.iter().all(|n| (9_525..=10_475).contains(n)), "{tenths:?}");
    }
}
