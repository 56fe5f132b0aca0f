//! A FIFO that marks above a threshold, as DCTCP requires.
//!
//! **Source**: Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, section 3.1: "an arriving packet is marked
//! with the CE codepoint if the queue occupancy is greater than K upon its arrival". Only the hard limit applies to
//! packets that are not ECN-capable.

use super::limit::Limit;
use super::{Admission, Backlog, Queue, QueueSpec};
use crate::error::check_limit;
use crate::{ConfigError, Packet};
use fairweir_units::{Bytes, Time};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// Parameters of [`EcnThreshold`]; at least one threshold.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EcnThresholdConfig {
    /// Mark a packet if the backlog at its arrival exceeds this, including the packet in transmission.
    #[serde(default)]
    pub mark_above: Option<Bytes>,
    /// Mark a packet if more packets than this are in the hop at its arrival, including the one in transmission.
    #[serde(default)]
    pub mark_above_packets: Option<u64>,
    /// Maximum bytes held; unlimited if absent.
    #[serde(default)]
    pub limit: Option<Bytes>,
    /// Maximum packets held; unlimited if absent.
    #[serde(default)]
    pub limit_packets: Option<u64>,
}

impl EcnThresholdConfig {
    /// Checks the configuration.
    ///
    /// # Errors
    /// No threshold, or a limit of zero.
    pub fn validate(&self) -> Result<(), ConfigError> {
        if self.mark_above.is_none() && self.mark_above_packets.is_none() {
            return Err(ConfigError::new(
                "mark_above",
                "is missing: no threshold to mark above",
                "give `mark_above` in bytes or `mark_above_packets`",
            ));
        }
        check_limit(self.limit, self.limit_packets)
    }
}

impl QueueSpec for EcnThresholdConfig {
    fn validate(&self) -> Result<(), ConfigError> {
        EcnThresholdConfig::validate(self)
    }

    fn build(&self, _rng: ChaCha8Rng) -> Box<dyn Queue> {
        Box::new(EcnThreshold::new(self))
    }

    fn examples() -> &'static [&'static str] {
        &[r#"{"kind": "ecn-threshold", "mark_above": 15000, "limit": 90000}"#]
    }
}

/// Marks packets that arrive while more than a threshold is queued.
#[derive(Clone, Debug)]
pub struct EcnThreshold {
    threshold_bytes: Bytes,
    threshold_packets: u64,
    limit: Limit,
}

impl EcnThreshold {
    /// The queue for `config`.
    pub fn new(config: &EcnThresholdConfig) -> EcnThreshold {
        EcnThreshold {
            threshold_bytes: config.mark_above.unwrap_or(Bytes::MAX),
            threshold_packets: config.mark_above_packets.unwrap_or(u64::MAX),
            limit: Limit::new(config.limit, config.limit_packets),
        }
    }
}

impl Queue for EcnThreshold {
    #[inline]
    fn admit(&mut self, _now: Time, packet: &Packet, backlog: Backlog) -> Admission {
        if !self.limit.has_room(packet, backlog) {
            return Admission::Drop;
        }
        let is_above = backlog.bytes > self.threshold_bytes || backlog.packets > self.threshold_packets;
        if is_above && packet.ecn.is_capable() { Admission::Mark } else { Admission::Accept }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ecn;
    use crate::queue::tests::packet;

    #[test]
    fn marks_above_the_threshold_only_what_can_be_marked() {
        let config =
            EcnThresholdConfig { mark_above_packets: Some(2), limit_packets: Some(4), ..EcnThresholdConfig::default() };
        let mut queue = EcnThreshold::new(&config);
        let mut admit = |packets, ecn| {
            let backlog = Backlog { bytes: Bytes(1500 * packets), packets };
            queue.admit(Time::ZERO, &Packet { ecn, ..packet(1500) }, backlog)
        };
        assert_eq!(admit(2, Ecn::Ect0), Admission::Accept);
        assert_eq!(admit(3, Ecn::Ect0), Admission::Mark);
        assert_eq!(admit(3, Ecn::NotEct), Admission::Accept);
        assert_eq!(admit(4, Ecn::Ect0), Admission::Drop);
    }

    #[test]
    fn a_threshold_in_bytes_counts_bytes() {
        let config = EcnThresholdConfig { mark_above: Some(Bytes(3000)), ..EcnThresholdConfig::default() };
        let mut queue = EcnThreshold::new(&config);
        let mut admit = |bytes| {
            let backlog = Backlog { bytes: Bytes(bytes), packets: 2 };
            queue.admit(Time::ZERO, &Packet { ecn: Ecn::Ect0, ..packet(1500) }, backlog)
        };
        assert_eq!((admit(3000), admit(3001)), (Admission::Accept, Admission::Mark));
    }
}
