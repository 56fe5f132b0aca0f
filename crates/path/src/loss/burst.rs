//! Loss in bursts: the Gilbert-Elliott chain.
//!
//! ```text
//!          to_bad               in `good` packets are lost with probability `in_good`,
//!  good ----------> bad         in `bad` with `in_bad`
//!       <----------
//!         to_good
//! ```
//!
//! The chain makes one step per packet, before the packet's fate is determined. Mean burst: `1/to_good` packets; mean
//! loss: `(to_good in_good + to_bad in_bad) / (to_good + to_bad)`.
//!
//! **Source**: Gilbert 1960, Elliott 1963.

use crate::chance::Chance;
use crate::error::check_probability;
use crate::{ConfigError, Element, ElementSpec, Packet, Verdict};
use fairweir_units::{Dur, Time};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// Parameters of [`BurstLoss`]: probabilities per packet, in units of 10^-9.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BurstLossConfig {
    /// Probability of leaving the good state.
    pub to_bad_per_billion: u32,
    /// Probability of leaving the bad state; positive.
    pub to_good_per_billion: u32,
    /// Loss probability in the good state.
    #[serde(default)]
    pub in_good_per_billion: u32,
    /// Loss probability in the bad state.
    #[serde(default = "certain")]
    pub in_bad_per_billion: u32,
}

fn certain() -> u32 {
    1_000_000_000
}

impl BurstLossConfig {
    /// Checks the configuration.
    ///
    /// # Errors
    /// A probability above 1, or a bad state without end.
    pub fn validate(&self) -> Result<(), ConfigError> {
        check_probability("to_bad_per_billion", self.to_bad_per_billion)?;
        check_probability("to_good_per_billion", self.to_good_per_billion)?;
        check_probability("in_good_per_billion", self.in_good_per_billion)?;
        check_probability("in_bad_per_billion", self.in_bad_per_billion)?;
        if self.to_good_per_billion == 0 {
            return Err(ConfigError::new(
                "to_good_per_billion",
                "must be positive: `0`",
                "a mean burst of four packets is 250000000",
            ));
        }
        Ok(())
    }
}

impl ElementSpec for BurstLossConfig {
    fn validate(&self) -> Result<(), ConfigError> {
        BurstLossConfig::validate(self)
    }

    fn build(&self, rng: ChaCha8Rng) -> Box<dyn Element> {
        Box::new(BurstLoss::new(self, rng))
    }

    fn longest_hold(&self) -> Option<Dur> {
        Some(Dur::ZERO)
    }

    fn examples() -> &'static [&'static str] {
        &[r#"{"kind": "burst-loss", "to_bad_per_billion": 10000000, "to_good_per_billion": 500000000}"#]
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Good,
    Bad,
}

/// Loses packets in bursts.
#[derive(Clone, Debug)]
pub struct BurstLoss {
    state: State,
    to_bad: Chance,
    to_good: Chance,
    in_good: Chance,
    in_bad: Chance,
    rng: ChaCha8Rng,
}

impl BurstLoss {
    /// The element for `config`; it starts in the good state.
    pub fn new(config: &BurstLossConfig, rng: ChaCha8Rng) -> BurstLoss {
        BurstLoss {
            state: State::Good,
            to_bad: Chance::per_billion(config.to_bad_per_billion),
            to_good: Chance::per_billion(config.to_good_per_billion),
            in_good: Chance::per_billion(config.in_good_per_billion),
            in_bad: Chance::per_billion(config.in_bad_per_billion),
            rng,
        }
    }
}

impl Element for BurstLoss {
    fn arrive(&mut self, now: Time, _packet: &Packet) -> Verdict {
        let (leaves, other) = match self.state {
            State::Good => (self.to_bad, State::Bad),
            State::Bad => (self.to_good, State::Good),
        };
        if leaves.draw(&mut self.rng) {
            self.state = other;
        }
        let loss = if self.state == State::Good { self.in_good } else { self.in_bad };
        if loss.draw(&mut self.rng) { Verdict::Drop } else { Verdict::Deliver(now) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::tests::packet;
    use rand::SeedableRng;

    #[test]
    fn loses_the_given_share_in_bursts_of_the_given_length() {
        let config = BurstLossConfig {
            to_bad_per_billion: 10_000_000,
            to_good_per_billion: 250_000_000,
            in_good_per_billion: 0,
            in_bad_per_billion: 1_000_000_000,
        };
        config.validate().unwrap();
        let mut loss = BurstLoss::new(&config, ChaCha8Rng::seed_from_u64(1));
        let lost: Vec<bool> = (0..1_000_000).map(|_| loss.arrive(Time::ZERO, &packet(1500)) == Verdict::Drop).collect();
        let total = lost.iter().filter(|&&l| l).count();
        let bursts = lost.windows(2).filter(|w| !w[0] && w[1]).count();
        // 0.01 / 0.26 = 3.85 % lost, 4 packets per burst.
        assert!((37_000..=40_000).contains(&total), "{total} lost");
        assert!((390..=410).contains(&(total * 100 / bursts)), "{total} in {bursts} bursts");
    }
}
