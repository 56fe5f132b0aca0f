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
