//! A FIFO that drops packets that do not fit.

use super::limit::Limit;
use super::{Admission, Backlog, Queue, QueueSpec};
use crate::error::check_limit;
use crate::{ConfigError, Packet};
use fairweir_units::{Bytes, Time};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// Parameters of [`Droptail`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DroptailConfig {
    /// Maximum bytes held, the packet in transmission included; unlimited if absent.
    #[serde(default)]
    pub limit: Option<Bytes>,
    /// Maximum packets held, the one in transmission included; unlimited if absent.
    #[serde(default)]
    pub limit_packets: Option<u64>,
}

impl DroptailConfig {
    /// Checks the configuration.
    ///
    /// # Errors
    /// A limit of zero.
    pub fn validate(&self) -> Result<(), ConfigError> {
        check_limit(self.limit, self.limit_packets)
    }
}

impl QueueSpec for DroptailConfig {
    fn validate(&self) -> Result<(), ConfigError> {
        DroptailConfig::validate(self)
    }

    fn build(&self, _rng: ChaCha8Rng) -> Box<dyn Queue> {
        Box::new(Droptail::new(self))
    }

    fn examples() -> &'static [&'static str] {
        &[
            r#"{"kind": "droptail", "limit": 60000}"#,
            r#"{"kind": "droptail", "limit_packets": 3}"#,
            r#"{"kind": "droptail"}"#,
        ]
    }
}

/// A FIFO that drops packets that do not fit; an empty one accepts any packet.
#[derive(Clone, Debug)]
pub struct Droptail {
    limit: Limit,
}

impl Droptail {
    /// Creates the queue that `config` describes.
    pub fn new(config: &DroptailConfig) -> Droptail {
        Droptail { limit: Limit::new(config.limit, config.limit_packets) }
    }
}

impl Queue for Droptail {
    #[inline]
    fn admit(&mut self, _now: Time, packet: &Packet, backlog: Backlog) -> Admission {
        if self.limit.has_room(packet, backlog) { Admission::Accept } else { Admission::Drop }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::tests::packet;

    #[test]
    fn both_limits_bind_and_an_empty_queue_takes_any_packet() {
        let config = DroptailConfig { limit: Some(Bytes(4000)), limit_packets: Some(3) };
        let mut queue = Droptail::new(&config);
        let mut admit = |bytes, packets, size| {
            queue.admit(Time::ZERO, &packet(size), Backlog { bytes: Bytes(bytes), packets }) == Admission::Accept
        };
        assert!(admit(2500, 2, 1500));
        assert!(!admit(2501, 2, 1500));
        assert!(!admit(120, 3, 40));
        assert!(admit(0, 0, 9000));
    }
}
