//! A link that one flow has for itself, such as its access link.

use crate::error::check_limit;
use crate::hop::Hop;
use crate::queue::{DroptailConfig, QueueConfig};
use crate::{ConfigError, Element, HopConfig, Link, LinkConfig, Packet, Verdict};
use fairweir_units::{Bytes, Time};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// Parameters of [`PrivateLink`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrivateLinkConfig {
    /// How fast it serves.
    pub link: LinkConfig,
    /// Most bytes held, the packet in transmission included; absent means no limit.
    #[serde(default)]
    pub limit: Option<Bytes>,
    /// Most packets held, the one in transmission included; absent means no limit.
    #[serde(default)]
    pub limit_packets: Option<u64>,
}

impl PrivateLinkConfig {
    /// Is this an element that can be built?
    ///
    /// # Errors
    /// A link that cannot be built, or a limit of zero.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.link.validate().map_err(|e| e.within("link"))?;
        check_limit(self.limit, self.limit_packets)
    }
}

/// A link of one flow's own, with a droptail buffer. Fed by one flow it needs no event: departures are known at arrival.
#[derive(Debug)]
pub struct PrivateLink {
    server: Server,
}

/// Without a limit there is no need to know the backlog.
#[derive(Debug)]
enum Server {
    Unlimited(Box<dyn Link>),
    Limited(Box<Hop>),
}

impl PrivateLink {
    /// The element for `config`, which must be valid; `rng` is not drawn from.
    pub fn new(config: &PrivateLinkConfig, rng: ChaCha8Rng) -> PrivateLink {
        let server = if config.limit.is_none() && config.limit_packets.is_none() {
            Server::Unlimited(config.link.build())
        } else {
            let droptail = DroptailConfig { limit: config.limit, limit_packets: config.limit_packets };
            let hop = HopConfig { link: config.link.clone(), queue: QueueConfig::Droptail(droptail) };
            Server::Limited(Box::new(Hop::new(&hop, rng)))
        };
        PrivateLink { server }
    }
}

impl Element for PrivateLink {
    #[inline]
    fn arrive(&mut self, now: Time, packet: &Packet) -> Verdict {
        match &mut self.server {
            Server::Unlimited(link) => Verdict::Deliver(link.depart(now, packet.bytes)),
            Server::Limited(hop) => hop.arrive_mostly_idle(now, packet),
        }
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
