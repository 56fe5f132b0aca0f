//! The scale of the windows that the managed host advertises: it counts if both SYNs offer one (RFC 7323 §2.2).

use crate::packet::{Direction, Flags, Packet};

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Scale {
    ours: Option<u8>,
    is_taken: Option<bool>,
}

impl Scale {
    /// A SYN or SYN-ACK passes.
    pub(crate) fn on_syn(&mut self, packet: &Packet) {
        match packet.direction {
            Direction::Incoming => self.is_taken = Some(packet.wscale.is_some()),
            Direction::Outgoing => {
                self.ours = Some(packet.wscale.unwrap_or(0));
                // An answer offers one only to a peer that has.
                if packet.flags.has(Flags::ACK) {
                    self.is_taken = Some(packet.wscale.is_some());
                }
            }
        }
    }

    /// What it is, if enough of the handshake was seen.
    pub(crate) fn agreed(self) -> Option<u8> {
        match (self.ours, self.is_taken) {
            (_, Some(false)) | (Some(0), _) => Some(0),
            (ours, Some(true)) => ours,
            (_, None) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::FlowKey;
    use fairweir_units::Time;

    fn syn(direction: Direction, flags: Flags, wscale: Option<u8>) -> Packet {
        Packet {
            at: Time::ZERO,
            flow: FlowKey::new("10.0.0.1:1".parse().unwrap(), "192.0.2.1:443".parse().unwrap(), 0),
            direction,
            flags,
            seq: 0,
            ack: 0,
            window: 65_535,
            timestamps: None,
            payload: 0,
            wire: 74,
            segs: 1,
            wscale,
        }
    }

    #[test]
    fn both_sides_must_offer_one() {
        use Direction::{Incoming, Outgoing};
        let (first, answer) = (Flags::SYN, Flags::SYN.and(Flags::ACK));
        for (packets, agreed) in [
            (vec![(Outgoing, first, Some(10)), (Incoming, answer, Some(7))], Some(10)),
            (vec![(Outgoing, first, Some(10)), (Incoming, answer, None)], Some(0)),
            (vec![(Outgoing, first, Some(10))], None),
            (vec![(Outgoing, first, None)], Some(0)),
            (vec![(Incoming, first, Some(7)), (Outgoing, answer, Some(10))], Some(10)),
            (vec![(Incoming, first, None), (Outgoing, answer, None)], Some(0)),
            (vec![(Outgoing, answer, Some(10))], Some(10)),
            (vec![(Incoming, first, Some(7))], None),
            (vec![], None),
        ] {
            let mut scale = Scale::default();
            packets.iter().for_each(|&(direction, flags, wscale)| scale.on_syn(&syn(direction, flags, wscale)));
            assert_eq!(scale.agreed(), agreed, "{packets:?}");
        }
    }
}
