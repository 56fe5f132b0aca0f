//! State of a flow, determined from the packets that the managed host sends.
//!
//! A remote endpoint is unverified until it acknowledges a sequence number of the managed host, or until the host
//! acknowledges more of its data than before. Then the flow is open. No arriving segment ends an open flow, because the
//! host may drop a segment that the guard sees (checksum, RFC 9293 §3.10.7.4, RFC 5961). An arriving FIN or RST is
//! therefore a claim, and the host's own segments confirm it: the host's acknowledgment covers the FIN's sequence
//! number, or the host sends nothing after the RST.

use crate::packet::Packet;
use fairweir_tcp::{Direction, Flags, sequence::distance};

/// Maximum distance of an acknowledgement below the highest one.
const MAX_SENT: u32 = 1 << 30;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The peer's address may be forged.
    Unverified,
    /// The peer has acknowledged a sequence number of the host, or the host has acknowledged the peer's data.
    Open,
    /// The host has reset the connection, or has sent its FIN and acknowledged the peer's FIN.
    Closed,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Life {
    pub(crate) phase: Phase,
    /// First and last sequence number that the host has sent.
    sent: Option<(u32, u32)>,
    /// RCV.NXT, as the host's acknowledgments state it.
    acked: Option<u32>,
    /// Highest end of the data that arrived.
    data_end: Option<u32>,
    /// Sequence number of the FIN that arrived last, as long as no data at or beyond it has arrived or been
    /// acknowledged.
    fin: Option<u32>,
    /// An RST arrived exactly at RCV.NXT (RFC 5961 §3.2), and the host has sent nothing since.
    is_reset: bool,
    /// The host has sent its FIN. Later packets may be the last ACKs of a flow that has already been removed.
    is_closing: bool,
}

impl Life {
    pub(crate) fn new() -> Life {
        Life {
            phase: Phase::Unverified,
            sent: None,
            acked: None,
            data_end: None,
            fin: None,
            is_reset: false,
            is_closing: false,
        }
    }

    /// Processes a packet; returns the flow's phase.
    pub(crate) fn observe(&mut self, packet: &Packet) -> Phase {
        match packet.direction {
            Direction::Outgoing => self.on_sent(packet),
            Direction::Incoming if packet.flags.has(Flags::RST) => {
                self.is_reset |= self.phase == Phase::Open && self.acked == Some(packet.seq);
            }
            Direction::Incoming => self.on_received(packet),
        }
        self.phase
    }

    /// Returns whether the sender has no more data, as far as is known. Use this for accounting, not for releasing a
    /// flow.
    pub(crate) fn seems_over(&self) -> bool {
        self.phase == Phase::Closed || self.is_reset || self.has_finished()
    }

    /// Return RCV.NXT as the host's acknowledgments state it.
    pub(crate) fn acked(&self) -> Option<u32> {
        self.acked
    }

    /// Whether the host has acknowledged the peer's FIN: no data byte has that sequence number.
    fn has_finished(&self) -> bool {
        self.fin.is_some_and(|fin| self.acked == Some(fin.wrapping_add(1)))
    }

    fn on_sent(&mut self, packet: &Packet) {
        if packet.flags.has(Flags::RST) {
            if self.phase == Phase::Open {
                self.phase = Phase::Closed;
            }
            return;
        }
        self.is_reset = false;
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
        if packet.flags.has(Flags::ACK) {
            self.on_acknowledged(packet.ack);
        }
        // A packet filter may respond to forged segments with an RST in the host's name. If the host continues to send,
        // the RST was not its own.
        let is_over = self.is_closing && self.has_finished();
        self.phase = match self.phase {
            Phase::Open if is_over => Phase::Closed,
            Phase::Closed if !is_over => Phase::Open,
            phase => phase,
        };
    }

    fn on_acknowledged(&mut self, ack: u32) {
        let before = *self.acked.get_or_insert(ack);
        if distance(before, ack) <= 0 {
            return;
        }
        self.acked = Some(ack);
        if self.fin.is_some_and(|fin| distance(fin, ack) > 1) {
            self.fin = None;
        }
        // A host acknowledges data only on an established connection.
        if self.phase == Phase::Unverified && !self.is_closing {
            self.phase = Phase::Open;
        }
    }

    fn on_received(&mut self, packet: &Packet) {
        let is_ours = packet.flags.has(Flags::ACK)
            && self.sent.is_some_and(|(first, last)| packet.ack.wrapping_sub(first) <= last.wrapping_sub(first));
        let is_last_ack = self.is_closing && packet.payload == 0;
        if self.phase == Phase::Unverified && is_ours && !is_last_ack {
            self.phase = Phase::Open;
        }
        if packet.flags.has(Flags::SYN) {
            return;
        }
        let end = packet.seq.wrapping_add(packet.payload);
        let acked = self.acked.unwrap_or(packet.seq);
        // The host drops data that it has acknowledged or has no space for (RFC 9293 §3.10.7.4).
        if !(0..=MAX_SENT as i32).contains(&distance(acked, end)) {
            return;
        }
        let is_beyond = |before| distance(before, end) > 0 || distance(acked, before) < 0;
        if packet.payload > 0 && self.data_end.is_none_or(is_beyond) {
            self.data_end = Some(end);
        }
        if packet.flags.has(Flags::FIN) {
            self.fin = Some(end);
        }
        if self.fin.zip(self.data_end).is_some_and(|(fin, data_end)| distance(fin, data_end) > 0) {
            self.fin = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::FlowKey;
    use fairweir_units::Time;
    use proptest::prelude::*;

    const ACK: Flags = Flags::ACK;
    const FIN: Flags = Flags::FIN.and(ACK);

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

    fn sent(flags: Flags, seq: u32, ack: u32) -> Packet {
        packet(Direction::Outgoing, flags, seq, ack, 0)
    }

    fn received(flags: Flags, seq: u32, ack: u32, payload: u32) -> Packet {
        packet(Direction::Incoming, flags, seq, ack, payload)
    }

    fn life_after(packets: &[Packet]) -> Life {
        let mut life = Life::new();
        for packet in packets {
            life.observe(packet);
        }
        life
    }

    fn after(packets: &[Packet]) -> Phase {
        life_after(packets).phase
    }

    #[test]
    fn a_peer_that_has_seen_what_we_sent_is_no_stranger() {
        // The handshake, also with sequence numbers that wrap.
        for first in [1_000, u32::MAX] {
            let syn = sent(Flags::SYN, first, 0);
            let answer = |ack| received(Flags::SYN.and(ACK), 7_000, ack, 0);
            assert_eq!(after(&[syn, answer(first.wrapping_add(1))]), Phase::Open, "{first}");
            for guessed in [first, first.wrapping_add(2), 0x4000_0000] {
                assert_eq!(after(&[syn, answer(guessed)]), Phase::Unverified, "{first}: {guessed}");
            }
        }
        let data = received(ACK, 7_000, 2_000, 1_448);
        assert_eq!(after(&[data]), Phase::Unverified, "we have sent nothing");
        assert_eq!(after(&[sent(ACK, 2_000, 7_000), data]), Phase::Open, "a connection older than the guard");
        let unanswered = received(Flags(0), 7_000, 2_000, 1_448);
        assert_eq!(after(&[sent(ACK, 2_000, 7_000), unanswered]), Phase::Unverified, "no ACK");
    }

    #[test]
    fn a_peer_whose_data_the_host_acknowledges_is_no_stranger() {
        // The guard may see no arrivals at all: they may be fragments, or have more extension headers than are parsed.
        assert_eq!(after(&[sent(ACK, 1_000, 7_000), sent(ACK, 1_000, 7_000)]), Phase::Unverified);
        assert_eq!(after(&[sent(ACK, 1_000, 7_000), sent(ACK, 1_000, 8_448)]), Phase::Open);
        assert_eq!(after(&[sent(Flags::SYN.and(ACK), 1_000, 7_000), sent(ACK, 1_001, 8_448)]), Phase::Open);
        let resets = [sent(Flags::RST.and(ACK), 0, 7_000), sent(Flags::RST.and(ACK), 0, 8_448)];
        assert_eq!(after(&resets), Phase::Unverified, "a closed port answers anything");
    }

    #[test]
    fn the_last_acks_of_a_flow_that_is_forgotten_begin_no_new_one() {
        let fin = sent(FIN, 1_000, 7_000);
        let last = received(ACK, 7_000, 1_001, 0);
        assert_eq!(after(&[fin, last]), Phase::Unverified);
        assert_eq!(after(&[fin, last, sent(ACK, 1_001, 7_001)]), Phase::Unverified);
        let data = received(ACK, 7_000, 1_001, 1_448);
        assert_eq!(after(&[fin, last, data]), Phase::Open, "we have no more data, the peer has");
        let ours = [sent(ACK, 1_000, 7_000), received(ACK, 7_000, 1_000, 0)];
        assert_eq!(after(&ours), Phase::Open, "we are not closing");
    }

    /// An open flow: 1,000 bytes from sequence number 7,000 have arrived and are acknowledged.
    fn open() -> [Packet; 3] {
        [sent(ACK, 1_000, 7_000), received(ACK, 7_000, 1_000, 1_000), sent(ACK, 1_000, 8_000)]
    }

    fn then(more: &[Packet]) -> (Phase, bool) {
        let life = life_after(&[&open()[..], more].concat());
        (life.phase, life.seems_over())
    }

    #[test]
    fn a_fin_counts_when_the_host_acknowledges_it() {
        let fin = received(FIN, 8_000, 1_000, 0);
        let covered = sent(ACK, 1_000, 8_001);
        assert_eq!(then(&[fin]), (Phase::Open, false), "the host may drop it");
        assert_eq!(then(&[fin, covered]), (Phase::Open, true), "no more data; we may still send");
        assert_eq!(then(&[fin, sent(FIN, 1_000, 8_001)]), (Phase::Closed, true));
        assert_eq!(then(&[sent(FIN, 1_000, 8_000), fin, sent(ACK, 1_001, 8_001)]), (Phase::Closed, true));
        assert_eq!(then(&[sent(FIN, 1_000, 8_000)]), (Phase::Open, false), "the peer may continue");
        assert_eq!(then(&[fin, covered, sent(ACK, 1_000, 9_448)]), (Phase::Open, false), "it was a byte of data");
        for forged in [7_500, 8_500, 9_000, 900_000_000] {
            let data = received(ACK, 8_000, 1_000, 1_448);
            let more = [received(FIN, forged, 1_000, 0), data, sent(ACK, 1_000, forged.wrapping_add(1))];
            assert!(!then(&more[..2]).1, "a FIN at {forged}");
            assert!(forged > 10_000 || !then(&more).1, "a FIN at {forged} below acknowledged data");
        }
    }

    #[test]
    fn a_reset_counts_while_the_host_stays_silent() {
        assert_eq!(then(&[received(Flags::RST, 8_000, 0, 0)]), (Phase::Open, true));
        for seq in [7_999, 8_001, 8_000 + (1 << 16), 0] {
            assert_eq!(then(&[received(Flags::RST, seq, 0, 0)]), (Phase::Open, false), "RFC 5961 §3.2: {seq}");
        }
        let goes_on = [received(Flags::RST, 8_000, 0, 0), sent(ACK, 1_000, 8_000)];
        assert_eq!(then(&goes_on), (Phase::Open, false), "its checksum was wrong: a host that is reset sends nothing");
        let reset = sent(Flags::RST, 1_000, 0);
        assert_eq!(then(&[reset]), (Phase::Closed, true));
        assert_eq!(then(&[reset, sent(ACK, 1_000, 9_448)]), (Phase::Open, false), "a packet filter's, not the host's");
        assert_eq!(after(&[received(Flags::RST, 0, 0, 0)]), Phase::Unverified);
    }

    #[test]
    fn acknowledgements_reach_back_only_so_far() {
        let steps = 8;
        let mut packets: Vec<Packet> = (0..=steps).map(|i| sent(ACK, i * (MAX_SENT / 4), 0)).collect();
        let latest = steps * (MAX_SENT / 4);
        packets.push(received(ACK, 7_000, latest - MAX_SENT - 1, 100));
        assert_eq!(after(&packets), Phase::Unverified);
        packets.push(received(ACK, 7_000, latest - MAX_SENT, 100));
        assert_eq!(after(&packets), Phase::Open);
    }

    proptest! {
        /// As long as the host acknowledges data, no arrival changes the phase.
        #[test]
        fn nothing_that_arrives_ends_a_flow(forged in proptest::collection::vec(
            (any::<u8>(), prop_oneof![7_000u32..40_000, any::<u32>()], any::<u32>(), 0u32..3_000, any::<bool>()), 1..60
        )) {
            let mut life = life_after(&open());
            let mut next = 8_000u32;
            for (flags, seq, ack, payload, has_data) in forged {
                life.observe(&received(Flags(flags), seq, ack, payload));
                prop_assert_eq!(life.phase, Phase::Open);
                if has_data {
                    life.observe(&received(ACK, next, 1_000, 1_448));
                    next += 1_448;
                }
                life.observe(&sent(ACK, 1_000, next));
                prop_assert_eq!(life.phase, Phase::Open);
                prop_assert!(!life.seems_over() || !has_data);
            }
        }
    }
}
