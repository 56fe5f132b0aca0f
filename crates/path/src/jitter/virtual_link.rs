//! Jitter that makes a shared path indistinguishable from an ideal private link.
//!
//! The flow's packets also pass a simulated FIFO of rate `rate`, the virtual link, from the time they are sent. The
//! element holds each packet until the time at which it would leave that FIFO. The flow then observes an ideal link,
//! unless that time is already past or more than `bound` away; such packets are counted as violations. The bound can
//! apply from a later time: the theorem's flows start in the states to which they converge, and before they converge
//! the virtual queue may be longer than that of converged flows.
//!
//! **Source**: the starvation paper's Theorem 1, adapted to any controller: packets are released at the virtual
//! departure, the hold is clipped to [0, D], and violations are counted (docs/derivations.md, "Virtual links").

use crate::constant_rate::ConstantRate;
use crate::error::{check_dur, check_packet, check_positive_dur, check_rate};
use crate::{ConfigError, Element, ElementSpec, Packet, Verdict};
use fairweir_units::{Bytes, Dur, Rate, Time};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// Parameters of [`VirtualLink`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VirtualLinkConfig {
    /// Rate of the virtual link.
    pub rate: Rate,
    /// Propagation delay from the sender to this element.
    pub base: Dur,
    /// Maximum delay: the jitter bound D.
    pub bound: Dur,
    /// Time from which arriving packets are held for at most `bound`, and violations are counted. Earlier packets leave
    /// by `from + bound`.
    #[serde(default)]
    pub from: Time,
    /// Bytes counted per packet: on the return path, the data that an ACK acknowledges. Default: the packet's own size.
    #[serde(default)]
    pub counts_as: Option<Bytes>,
}

impl VirtualLinkConfig {
    /// Checks the configuration.
    ///
    /// # Errors
    /// A rate, bound or size that is zero or out of range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        check_rate("rate", self.rate)?;
        check_dur("base", self.base)?;
        check_positive_dur("bound", self.bound)?;
        self.counts_as.map_or(Ok(()), |bytes| check_packet("counts_as", bytes))
    }
}

impl ElementSpec for VirtualLinkConfig {
    fn validate(&self) -> Result<(), ConfigError> {
        VirtualLinkConfig::validate(self)
    }

    fn build(&self, _rng: ChaCha8Rng) -> Box<dyn Element> {
        Box::new(VirtualLink::new(self))
    }

    fn longest_hold(&self) -> Option<Dur> {
        Some(self.from.since(Time::ZERO) + self.bound)
    }

    fn examples() -> &'static [&'static str] {
        &[r#"{"kind": "virtual-link", "rate": 1500000, "base": 1000000, "bound": 10000000, "from": 50000000}"#]
    }
}

/// Holds packets until they would have left a private link.
#[derive(Clone, Debug)]
pub struct VirtualLink {
    link: ConstantRate,
    base: Dur,
    bound: Dur,
    from: Time,
    counts_as: Option<Bytes>,
    violations: u64,
}

impl VirtualLink {
    /// The element for `config`, which must be valid.
    pub fn new(config: &VirtualLinkConfig) -> VirtualLink {
        VirtualLink {
            link: ConstantRate::new(config.rate),
            base: config.base,
            bound: config.bound,
            from: config.from,
            counts_as: config.counts_as,
            violations: 0,
        }
    }
}

impl Element for VirtualLink {
    fn arrive(&mut self, now: Time, packet: &Packet) -> Verdict {
        let due = self.link.depart(packet.sent, self.counts_as.unwrap_or(packet.bytes)) + self.base;
        let kept = due.clamp(now, now.max(self.from) + self.bound);
        self.violations += u64::from(due != kept && now >= self.from);
        Verdict::Deliver(kept)
    }

    fn violations(&self) -> u64 {
        self.violations
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::tests::packet;

    /// A virtual link of 12 Mbps (1 ms per packet) and 10 ms of propagation, at most 3 ms of jitter.
    fn element(from_ms: u64) -> VirtualLink {
        let config = VirtualLinkConfig {
            rate: Rate::from_mbps(12),
            base: Dur::from_millis(10),
            bound: Dur::from_millis(3),
            from: Time::from_nanos(from_ms * 1_000_000),
            counts_as: None,
        };
        config.validate().unwrap();
        VirtualLink::new(&config)
    }

    fn release_ms(element: &mut VirtualLink, sent_ms: u64, now_ms: u64) -> u64 {
        let packet = Packet { sent: Time::from_nanos(sent_ms * 1_000_000), ..packet(1500) };
        match element.arrive(Time::from_nanos(now_ms * 1_000_000), &packet) {
            Verdict::Deliver(at) => at.as_nanos() / 1_000_000,
            verdict => panic!("{verdict:?}"),
        }
    }

    #[test]
    fn releases_when_the_virtual_link_would_have() {
        let mut element = element(0);
        assert_eq!(release_ms(&mut element, 0, 10), 11);
        assert_eq!(release_ms(&mut element, 0, 10), 12);
        assert_eq!(release_ms(&mut element, 0, 10), 13);
        assert_eq!(release_ms(&mut element, 20, 31), 31);
        assert_eq!(element.violations(), 0);
    }

    #[test]
    fn clips_and_counts_what_it_cannot_keep() {
        let mut element = element(0);
        assert_eq!(release_ms(&mut element, 0, 15), 15);
        assert_eq!(element.violations(), 1);
        for _ in 0..5 {
            release_ms(&mut element, 10, 16);
        }
        // Due at 21, 22, ..., but never held more than 3 ms.
        assert_eq!(release_ms(&mut element, 10, 16), 19);
        assert_eq!(element.violations(), 7);
    }
    #[test]
    fn the_bound_and_the_count_begin_at_their_start_time() {
        let mut element = element(50);
        // Sent at once, due at 11, 12, ... 60: each is held until it is due, for far longer than 3 ms, but none after
        // 53.
        let releases: Vec<_> = (0..50).map(|_| release_ms(&mut element, 0, 10)).collect();
        assert_eq!((releases[0], releases[41], releases[42], releases[49]), (11, 52, 53, 53));
        assert_eq!(element.violations(), 0);
        // Due at 61, but it arrives when the bound applies.
        assert_eq!(release_ms(&mut element, 40, 50), 53);
        assert_eq!(element.violations(), 1);
        assert_eq!(release_ms(&mut element, 50, 60), 62);
        assert_eq!(element.violations(), 1);
    }
}
