//! The hosts that receive the data of a capture.

use fairweir_tcp::Segment;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Bytes of payload that each host received.
#[derive(Clone, Debug, Default)]
pub struct Receivers(BTreeMap<IpAddr, u64>);

impl Receivers {
    /// Counts a segment.
    pub fn take(&mut self, segment: &Segment) {
        *self.0.entry(segment.dst.address).or_default() += u64::from(segment.payload);
    }

    /// Returns the host that received the most payload (if several received the same amount, the one with the highest
    /// address); `None` before the first segment.
    pub fn busiest(&self) -> Option<IpAddr> {
        self.0.iter().max_by_key(|(_, bytes)| **bytes).map(|(address, _)| *address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairweir_tcp::{Endpoint, Flags, Options};
    use fairweir_units::Time;

    fn segment(to: u8, payload: u32) -> Segment {
        let endpoint = |last| Endpoint { address: [10, 0, 0, last].into(), port: 443 };
        Segment {
            frame: 1,
            time: Time::ZERO,
            src: endpoint(9),
            dst: endpoint(to),
            seq: 0,
            ack: 0,
            flags: Flags::ACK,
            window: 0,
            payload,
            ip_bytes: payload + 40,
            ecn: Default::default(),
            options: Options::default(),
        }
    }

    #[test]
    fn the_busiest_has_the_most_payload_not_the_most_segments() {
        let mut receivers = Receivers::default();
        assert_eq!(receivers.busiest(), None);
        for (to, payload) in [(1, 1000), (2, 400), (2, 400), (3, 0)] {
            receivers.take(&segment(to, payload));
        }
        assert_eq!(receivers.busiest(), Some([10, 0, 0, 1].into()));
        receivers.take(&segment(2, 200));
        assert_eq!(receivers.busiest(), Some([10, 0, 0, 2].into()), "of equals the highest address");
    }
}
