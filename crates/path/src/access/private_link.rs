//! A private link of one flow, such as its access link.

use crate::error::check_limit;
use crate::hop::Hop;
use crate::queue::{DroptailConfig, QueueConfig};
use crate::{ConfigError, Element, ElementSpec, HopConfig, LinkConfig, Packet, Verdict};
use fairweir_units::{Bytes, Dur, Time};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// Parameters of [`PrivateLink`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrivateLinkConfig {
    /// The link.
    pub link: LinkConfig,
    /// Maximum bytes held, the packet in transmission included; unlimited if absent.
    #[serde(default)]
    pub limit: Option<Bytes>,
    /// Maximum packets held, the one in transmission included; unlimited if absent.
    #[serde(default)]
    pub limit_packets: Option<u64>,
}

impl PrivateLinkConfig {
    /// Checks the configuration.
    ///
    /// # Errors
    /// A link that cannot be built, or a limit of zero.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.link.validate().map_err(|e| e.within("link"))?;
        check_limit(self.limit, self.limit_packets)
    }
}

impl ElementSpec for PrivateLinkConfig {
    fn validate(&self) -> Result<(), ConfigError> {
        PrivateLinkConfig::validate(self)
    }

    fn build(&self, rng: ChaCha8Rng) -> Box<dyn Element> {
        Box::new(PrivateLink::new(self, rng))
    }

    fn examples() -> &'static [&'static str] {
        &[r#"{"kind": "link", "link": {"kind": "constant", "rate": 3000000}, "limit": 30000}"#]
    }
}

/// A link that only one flow uses, with a droptail buffer. It needs no event, because departures are known at arrival.
///
/// Such a link is mostly idle. An idle link of constant rate accepts any packet, and takes the same time for all
/// packets of one size. The hop is informed of such a packet only when another packet finds the link busy.
#[derive(Debug)]
pub struct PrivateLink {
    /// Packet size for which an idle link's transmission time is cached; 0 for a link of varying rate.
    usual: Bytes,
    transmission: Dur,
    /// Departure of the last packet.
    free_at: Time,
    /// Arrival time of the last packet, if the hop has not been informed of it.
    untold: Option<Time>,
    hop: Box<Hop>,
}

impl PrivateLink {
    /// Creates the element for `config`, which must be valid. `rng` is not used.
    pub fn new(config: &PrivateLinkConfig, rng: ChaCha8Rng) -> PrivateLink {
        let droptail = DroptailConfig { limit: config.limit, limit_packets: config.limit_packets };
        let hop = HopConfig { link: config.link.clone(), queue: QueueConfig::Droptail(droptail) };
        PrivateLink {
            usual: Bytes::ZERO,
            transmission: Dur::ZERO,
            free_at: Time::ZERO,
            untold: None,
            hop: Box::new(Hop::new(&hop, rng)),
        }
    }

    #[inline(never)]
    fn arrive_at_hop(&mut self, now: Time, packet: &Packet) -> Verdict {
        let before = Packet { bytes: self.usual, ..*packet };
        if let Some(at) = self.untold.take() {
            self.hop.arrive(at, &before);
        }
        let verdict = self.hop.arrive(now, packet);
        self.free_at = self.hop.free_at();
        if packet.bytes != self.usual
            && let Some(transmission) = self.hop.idle_transmission(packet.bytes)
        {
            (self.usual, self.transmission) = (packet.bytes, transmission);
        }
        verdict
    }
}

impl Element for PrivateLink {
    #[inline(always)]
    fn arrive(&mut self, now: Time, packet: &Packet) -> Verdict {
        if now > self.free_at && packet.bytes == self.usual {
            self.untold = Some(now);
            self.free_at = now.after(self.transmission);
            return Verdict::Deliver(self.free_at);
        }
        self.arrive_at_hop(now, packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::ConstantConfig;
    use crate::queue::tests::packet;
    use fairweir_units::Rate;
    use rand::SeedableRng;

    fn deliveries_ms(limit_packets: Option<u64>) -> Vec<Option<u64>> {
        let link = LinkConfig::Constant(ConstantConfig { rate: Rate::from_mbps(12) });
        let config = PrivateLinkConfig { link, limit: None, limit_packets };
        config.validate().unwrap();
        let mut element = PrivateLink::new(&config, ChaCha8Rng::seed_from_u64(0));
        let mut deliver = |ms: u64| match element.arrive(Time::from_nanos(ms * 1_000_000), &packet(1500)) {
            Verdict::Deliver(at) => Some(at.as_nanos() / 1_000_000),
            _ => None,
        };
        [0, 0, 0, 1, 9].into_iter().map(&mut deliver).collect()
    }

    #[test]
    fn serves_like_a_hop_with_and_without_a_limit() {
        assert_eq!(deliveries_ms(None), [Some(1), Some(2), Some(3), Some(4), Some(10)]);
        assert_eq!(deliveries_ms(Some(2)), [Some(1), Some(2), None, Some(3), Some(10)]);
    }
}
