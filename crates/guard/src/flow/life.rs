//! A flow's life: a stranger until its peer shows that it has seen what we sent; then open; then ended.

use crate::packet::{Direction, Flags, Packet, distance};

/// A forged RST would have to guess a sequence number this near (RFC 5961 §3.2 asks for the exact one; summaries may come late).
const RST_SLACK: u32 = 1 << 16;
/// How far back an acknowledgement may reach.
const MAX_SENT: u32 = 1 << 30;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The peer's address may be forged.
    Stranger,
    /// The peer has acknowledged a sequence number of ours.
    Open,
    /// The peer has no more data, or the connection was reset.
    Ended,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Life {
    pub(crate) phase: Phase,
    /// First and last sequence number that we sent.
    sent: Option<(u32, u32)>,
    /// Next that we expect of the peer.
    received: Option<u32>,
    /// We have no more data: what follows may be the last ACKs of a flow that is forgotten already.
    is_closing: bool,
}

impl Life {
    pub(crate) fn new() -> Life {
        Life { phase: Phase::Stranger, sent: None, received: None, is_closing: false }
    }

    /// A packet of the flow passes; what this makes of it.
    pub(crate) fn observe(&mut self, packet: &Packet) -> Phase {
        match (packet.direction, packet.flags.has(Flags::RST)) {
            (Direction::Outgoing, true) => self.end(),
            (Direction::Outgoing, false) => self.on_sent(packet),
            (Direction::Incoming, true) => {
                if self.received.is_some_and(|next| distance(next, packet.seq).unsigned_abs() <= RST_SLACK) {
                    self.end();
                }
            }
            (Direction::Incoming, false) => self.on_received(packet),
        }
        self.phase
    }

    fn end(&mut self) {
        if self.phase == Phase::Open {
            self.phase = Phase::Ended;
        }
    }

    fn on_sent(&mut self, packet: &Packet) {
        self.is_closing |= packet.flags.has(Flags::FIN);
        let end = packet.end();
        self.sent = Some(match self.sent {
            Some((first, last)) if distance(last, end) > 0 => {
                let floor = end.wrapping_sub(MAX_SENT);
                (if distance(first, floor) > 0 { floor } else { first }, end)
            }
            Some(range) => range,
            None => (end, end),
        });
    }

    fn on_received(&mut self, packet: &Packet) {
        let end = packet.end();
        if self.received.is_none_or(|next| distance(next, end) > 0) {
            self.received = Some(end);
        }
        let is_ours = packet.flags.has(Flags::ACK)
            && self.sent.is_some_and(|(first, last)| packet.ack.wrapping_sub(first) <= last.wrapping_sub(first));
        let is_last_ack = self.is_closing && packet.payload == 0;
        if self.phase == Phase::Stranger && is_ours && !is_last_ack {
            self.phase = Phase::Open;
        }
        if packet.flags.has(Flags::FIN) {
            self.end();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::FlowKey;
    use fairweir_units::Time;

    const ACK: Flags = Flags::ACK;

    fn packet(direction: Direction, flags: Flags, seq: u32, ack: u32, payload: u32) -> Packet {
        Packet {
            at: Time::ZERO,
            flow: FlowKey::new("10.0.0.1:1".parse().unwrap(), "192.0.2.1:443".parse().unwrap(), 0),
            direction,
            flags,
            seq,
            ack,
            window: 65_535,
            timestamps: None,
            payload,
            wire: 54 + payload,
            segs: 1,
            wscale: None,
        }
    }

    fn sent(flags: Flags, seq: u32, payload: u32) -> Packet {
        packet(Direction::Outgoing, flags, seq, 0, payload)
    }

    fn received(flags: Flags, seq: u32, ack: u32, payload: u32) -> Packet {
        packet(Direction::Incoming, flags, seq, ack, payload)
    }

    fn after(packets: &[Packet]) -> Phase {
        let mut life = Life::new();
        for packet in packets {
            life.observe(packet);
        }
        life.phase
    }

    #[test]
    fn a_peer_that_has_seen_what_we_sent_is_no_stranger() {
        // The handshake, also where sequence numbers wrap.
        for first in [1_000, u32::MAX] {
            let syn = sent(Flags::SYN, first, 0);
            let answer = |ack| received(Flags::SYN.and(ACK), 7_000, ack, 0);
            assert_eq!(after(&[syn, answer(first.wrapping_add(1))]), Phase::Open, "{first}");
            for guessed in [first, first.wrapping_add(2), 0x4000_0000] {
                assert_eq!(after(&[syn, answer(guessed)]), Phase::Stranger, "{first}: {guessed}");
            }
        }
        let data = received(ACK, 7_000, 2_000, 1_448);
        assert_eq!(after(&[data]), Phase::Stranger, "we have sent nothing");
        assert_eq!(after(&[sent(ACK, 1_900, 100), data]), Phase::Open, "a connection older than the guard");
        assert_eq!(after(&[sent(ACK, 1_900, 100), received(Flags(0), 7_000, 2_000, 1_448)]), Phase::Stranger, "no ACK");
    }

    #[test]
    fn the_last_acks_of_a_flow_that_is_forgotten_begin_no_new_one() {
        let fin = sent(Flags::FIN.and(ACK), 1_000, 0);
        let last = received(ACK, 7_000, 1_001, 0);
        assert_eq!(after(&[fin, last]), Phase::Stranger);
        let data = received(ACK, 7_000, 1_001, 1_448);
        assert_eq!(after(&[fin, last, data]), Phase::Open, "we have no more data, the peer has");
        assert_eq!(after(&[sent(ACK, 900, 100), received(ACK, 7_000, 1_000, 0)]), Phase::Open, "we are not closing");
    }

    #[test]
    fn what_ends_a_flow_must_be_plausible() {
        let open = [sent(ACK, 900, 100), received(ACK, 7_000, 1_000, 1_000)];
        let then = |last: Packet| after(&[open[0], open[1], last]);
        assert_eq!(then(received(Flags::FIN.and(ACK), 8_000, 1_000, 0)), Phase::Ended);
        assert_eq!(then(sent(Flags::RST, 1_000, 0)), Phase::Ended);
        assert_eq!(then(sent(Flags::FIN.and(ACK), 1_000, 0)), Phase::Open, "the peer may go on");
        for (seq, phase) in [
            (8_000, Phase::Ended),
            (8_000 + RST_SLACK, Phase::Ended),
            (8_000 + RST_SLACK + 1, Phase::Open),
            (8_000u32.wrapping_sub(RST_SLACK + 1), Phase::Open),
        ] {
            assert_eq!(then(received(Flags::RST, seq, 0, 0)), phase, "a reset at {seq}");
        }
        assert_eq!(after(&[received(Flags::RST, 0, 0, 0)]), Phase::Stranger);
    }

    #[test]
    fn acknowledgements_reach_back_only_so_far() {
        let steps = 8;
        let mut packets: Vec<Packet> = (0..=steps).map(|i| sent(ACK, i * (MAX_SENT / 4), 0)).collect();
        let latest = steps * (MAX_SENT / 4);
        packets.push(received(ACK, 7_000, latest - MAX_SENT - 1, 100));
        assert_eq!(after(&packets), Phase::Stranger);
        packets.push(received(ACK, 7_000, latest - MAX_SENT, 100));
        assert_eq!(after(&packets), Phase::Open);
    }
}
