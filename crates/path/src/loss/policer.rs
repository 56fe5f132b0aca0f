//! A token-bucket policer: drops packets in excess of rate and burst, and delays none.

use crate::error::{check_positive_bytes, check_rate};
use crate::token_bucket::TokenBucket;
use crate::{ConfigError, Element, ElementSpec, Packet, Verdict};
use fairweir_units::{Bytes, Dur, Rate, Time};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// Parameters of [`Policer`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicerConfig {
    /// Tokens per second, in bytes; positive.
    pub rate: Rate,
    /// Depth of the bucket, which starts full. Packets larger than this never pass.
    pub burst: Bytes,
}

impl PolicerConfig {
    /// Checks the configuration.
    ///
    /// # Errors
    /// A rate or a burst that is zero or out of range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        check_rate("rate", self.rate)?;
        check_positive_bytes("burst", self.burst)
    }
}

impl ElementSpec for PolicerConfig {
    fn validate(&self) -> Result<(), ConfigError> {
        PolicerConfig::validate(self)
    }

    fn build(&self, _rng: ChaCha8Rng) -> Box<dyn Element> {
        Box::new(Policer::new(self))
    }

    fn longest_hold(&self) -> Option<Dur> {
        Some(Dur::ZERO)
    }

    fn examples() -> &'static [&'static str] {
        &[r#"{"kind": "policer", "rate": 3000000, "burst": 15000}"#]
    }
}

/// Drops packets that exceed the available tokens.
#[derive(Clone, Debug)]
pub struct Policer {
    bucket: TokenBucket,
}

impl Policer {
    /// The element for `config`, which must be valid.
    pub fn new(config: &PolicerConfig) -> Policer {
        Policer { bucket: TokenBucket::new(config.rate, config.burst) }
    }
}

impl Element for Policer {
    fn arrive(&mut self, now: Time, packet: &Packet) -> Verdict {
        if self.bucket.try_take(now, packet.bytes) { Verdict::Deliver(now) } else { Verdict::Drop }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::tests::packet;
    use fairweir_units::Dur;

    #[test]
    fn a_burst_passes_then_the_rate() {
        let mut policer = Policer::new(&PolicerConfig { rate: Rate::from_mbps(12), burst: Bytes(4500) });
        let mut passes = |us: u64| policer.arrive(Time::from_nanos(us * 1000), &packet(1500)) != Verdict::Drop;
        assert_eq!(
            [0, 0, 0, 0, 999, 1000, 1001, 2500, 2999, 3000].map(&mut passes),
            [true, true, true, false, false, true, false, true, false, true]
        );
    }

    #[test]
    fn a_million_packets_at_twice_the_rate_pass_at_exactly_the_rate() {
        // 7 Mbps in packets of 1500 B: the tokens of a packet do not take a whole number of ns.
        let mut policer = Policer::new(&PolicerConfig { rate: Rate::from_mbps(7), burst: Bytes(15_000) });
        let gap = Dur::from_nanos(857_142);
        let passed = (0..1_000_000u64)
            .filter(|&i| policer.arrive(Time::ZERO + gap * i, &packet(1500)) != Verdict::Drop)
            .count() as u64;
        let tokens = Rate::from_mbps(7) * (gap * 999_999) + Bytes(15_000);
        assert!((tokens.packets(Bytes(1500)) - 1..=tokens.packets(Bytes(1500))).contains(&passed));
    }

    #[test]
    fn a_packet_larger_than_the_bucket_never_passes() {
        let mut policer = Policer::new(&PolicerConfig { rate: Rate::from_mbps(12), burst: Bytes(1499) });
        assert_eq!(policer.arrive(Time::from_nanos(1 << 40), &packet(1500)), Verdict::Drop);
        assert_eq!(
            policer.arrive(Time::from_nanos(1 << 40), &packet(1499)),
            Verdict::Deliver(Time::from_nanos(1 << 40))
        );
    }
}
