//! Results of the handshake: the RTT, and the scale of the windows that the managed host advertises. The scale applies
//! only if both SYNs offer one (RFC 7323 §2.2).
//!
//! The host's own segments decide. Its SYN-ACK offers a scale only to a peer that has offered one. If answers to the
//! host's SYN differ, one is forged; the window of the host's first ACK shows which answer it accepted. After that the
//! scale is fixed until the host sends another SYN.

use crate::packet::Packet;
use crate::window::MAX_SCALE;
use fairweir_tcp::{Direction, Flags};
use fairweir_units::{Dur, Time};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Answer {
    #[default]
    Unseen,
    /// Whether the peer offered a scale.
    Seen(bool),
    /// Answers differed.
    Contradicted,
}

/// The managed host's SYN or SYN-ACK.
#[derive(Clone, Copy, Debug)]
struct Ours {
    seq: u32,
    scale: Option<u8>,
    /// The window, not scaled, as in every SYN.
    window: u16,
    at: Time,
    is_repeated: bool,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Handshake {
    ours: Option<Ours>,
    answer: Answer,
    agreed: Option<u8>,
    is_over: bool,
    rtt: Option<Dur>,
}

impl Handshake {
    /// Returns whether this is a SYN of the managed host for a different connection between the same ends.
    pub(crate) fn is_anew(&self, packet: &Packet) -> bool {
        let is_syn = packet.flags.has(Flags::SYN) && !packet.flags.has(Flags::RST);
        is_syn && packet.direction == Direction::Outgoing && self.ours.is_none_or(|ours| ours.seq != packet.seq)
    }

    /// Processes a packet that passes at `now`.
    #[inline]
    pub(crate) fn observe(&mut self, packet: &Packet, now: Time) {
        if !self.is_over {
            self.follow(packet, now);
        }
    }

    #[cold]
    fn follow(&mut self, packet: &Packet, now: Time) {
        if packet.flags.has(Flags::RST) {
            return;
        }
        let is_syn = packet.flags.has(Flags::SYN);
        match (packet.direction, is_syn) {
            (Direction::Outgoing, true) => self.on_our_syn(packet, now),
            (Direction::Outgoing, false) => self.end(packet.window),
            (Direction::Incoming, _) => self.on_answer(packet, is_syn, now),
        }
    }

    fn on_our_syn(&mut self, packet: &Packet, now: Time) {
        match &mut self.ours {
            Some(ours) if ours.seq == packet.seq => ours.is_repeated = true,
            ours => {
                let (seq, scale, window) = (packet.seq, packet.wscale.map(|scale| scale.min(MAX_SCALE)), packet.window);
                *ours = Some(Ours { seq, scale, window, at: now, is_repeated: false });
            }
        }
        if packet.flags.has(Flags::ACK) {
            // The host offers a scale only to a peer that has offered one.
            self.answer = Answer::Seen(packet.wscale.is_some());
            self.agreed = Some(packet.wscale.unwrap_or(0).min(MAX_SCALE));
        }
    }

    fn on_answer(&mut self, packet: &Packet, is_syn: bool, now: Time) {
        let Some(ours) = self.ours else { return };
        if !packet.flags.has(Flags::ACK) || packet.ack != ours.seq.wrapping_add(1) {
            return;
        }
        // If the SYN was repeated, it is unknown which copy is answered (RFC 6298 §3).
        if self.rtt.is_none() && !ours.is_repeated && now > ours.at {
            self.rtt = Some(now.since(ours.at));
        }
        if is_syn && self.agreed.is_none() {
            let offered = Answer::Seen(packet.wscale.is_some());
            self.answer =
                if self.answer == Answer::Unseen || self.answer == offered { offered } else { Answer::Contradicted };
        }
    }

    /// Processes the host's first segment after its SYN, when its scale is fixed.
    fn end(&mut self, window: u16) {
        self.is_over = true;
        let Some(ours) = self.ours.filter(|_| self.agreed.is_none()) else { return };
        let scale = ours.scale.unwrap_or(0);
        self.agreed = Some(match self.answer {
            Answer::Seen(true) => scale,
            Answer::Seen(false) => 0,
            // The window changes little from the SYN to the first ACK, which shows whether it is in units of 2^scale
            // bytes.
            Answer::Unseen | Answer::Contradicted => {
                let (one, scaled) = (f64::from(ours.window), f64::from(ours.window >> scale));
                if f64::from(window) < (one * scaled.max(1.0)).sqrt() { scale } else { 0 }
            }
        });
    }

    /// Returns the scale, if enough of the handshake was captured.
    pub(crate) fn scale(&self) -> Option<u8> {
        self.agreed
    }

    /// Returns the time from the managed host's SYN to the answer.
    pub(crate) fn rtt(&self) -> Option<Dur> {
        self.rtt
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::FlowKey;
    use proptest::prelude::*;

    const SYN: Flags = Flags::SYN;
    const SYN_ACK: Flags = Flags::SYN.and(Flags::ACK);

    fn segment(direction: Direction, flags: Flags, wscale: Option<u8>, window: u16) -> Packet {
        Packet {
            at: Time::ZERO,
            flow: FlowKey::new("10.0.0.1:1".parse().unwrap(), "192.0.2.1:443".parse().unwrap(), 0),
            direction,
            flags,
            seq: if direction == Direction::Outgoing { 100 } else { 900 },
            ack: if direction == Direction::Outgoing { 901 } else { 101 },
            window,
            timestamps: None,
            payload: 0,
            wire: 74,
            segs: 1,
            wscale,
        }
    }

    fn ours(flags: Flags, wscale: Option<u8>) -> Packet {
        segment(Direction::Outgoing, flags, wscale, 64_240)
    }

    fn theirs(flags: Flags, wscale: Option<u8>) -> Packet {
        segment(Direction::Incoming, flags, wscale, 65_535)
    }

    fn first_ack(window: u16) -> Packet {
        Packet { seq: 101, ..segment(Direction::Outgoing, Flags::ACK, None, window) }
    }

    fn scale(packets: &[Packet]) -> Option<u8> {
        let mut handshake = Handshake::default();
        for (ms, packet) in (0..).zip(packets) {
            handshake.observe(packet, Time::ZERO + Dur::from_millis(10 * ms));
        }
        handshake.scale()
    }

    #[test]
    fn both_sides_must_offer_one() {
        for (packets, agreed) in [
            (vec![ours(SYN, Some(10)), theirs(SYN_ACK, Some(7)), first_ack(63)], Some(10)),
            (vec![ours(SYN, Some(10)), theirs(SYN_ACK, None), first_ack(64_240)], Some(0)),
            (vec![ours(SYN, Some(10)), theirs(SYN_ACK, Some(7))], None),
            (vec![ours(SYN, None), theirs(SYN_ACK, Some(7)), first_ack(64_240)], Some(0)),
            (vec![theirs(SYN, Some(7)), ours(SYN_ACK, Some(10))], Some(10)),
            (vec![theirs(SYN, Some(7)), ours(SYN_ACK, None)], Some(0)),
            (vec![ours(SYN_ACK, Some(10))], Some(10)),
            (vec![theirs(SYN, Some(7)), first_ack(500)], None),
            (vec![], None),
        ] {
            assert_eq!(scale(&packets), agreed, "{packets:?}");
        }
    }

    #[test]
    fn of_two_answers_the_hosts_window_shows_the_true_one() {
        let both = [ours(SYN, Some(7)), theirs(SYN_ACK, Some(7)), theirs(SYN_ACK, None)];
        for answers in [[both[1], both[2]], [both[2], both[1]]] {
            assert_eq!(scale(&[both[0], answers[0], answers[1], first_ack(502)]), Some(7));
            assert_eq!(scale(&[both[0], answers[0], answers[1], first_ack(64_240)]), Some(0));
        }
        let guessed = Packet { ack: 7, ..theirs(SYN_ACK, None) };
        assert_eq!(scale(&[both[0], guessed, both[1], first_ack(64_240)]), Some(7), "it answers no SYN of ours");
    }

    #[test]
    fn the_rtt_is_from_our_syn_to_its_answer() {
        let ms = |ms| Time::ZERO + Dur::from_millis(ms);
        let mut handshake = Handshake::default();
        handshake.observe(&ours(SYN_ACK, Some(7)), ms(10));
        handshake.observe(&Packet { ack: 7, ..theirs(Flags::ACK, None) }, ms(12));
        assert_eq!(handshake.rtt(), None);
        handshake.observe(&theirs(Flags::ACK, None), ms(30));
        handshake.observe(&theirs(Flags::ACK, None), ms(90));
        assert_eq!(handshake.rtt(), Some(Dur::from_millis(20)));
        let mut repeated = Handshake::default();
        repeated.observe(&ours(SYN, Some(7)), ms(10));
        repeated.observe(&ours(SYN, Some(7)), ms(1010));
        repeated.observe(&theirs(SYN_ACK, Some(7)), ms(1030));
        assert_eq!(repeated.rtt(), None, "which of the two was answered?");
    }

    proptest! {
        #[test]
        fn nothing_that_arrives_changes_a_scale_that_is_agreed(forged in proptest::collection::vec(
            (any::<u8>(), any::<Option<u8>>(), prop_oneof![Just(101u32), any::<u32>()], any::<u16>()), 1..40
        ), is_ours in any::<bool>()) {
            let mut handshake = Handshake::default();
            let open = if is_ours {
                vec![ours(SYN, Some(7)), theirs(SYN_ACK, Some(2)), first_ack(502)]
            } else {
                vec![theirs(SYN, Some(2)), ours(SYN_ACK, Some(7))]
            };
            for packet in &open {
                handshake.observe(packet, Time::ZERO);
            }
            for (flags, wscale, ack, window) in forged {
                let forged = Packet { ack, window, ..theirs(Flags(flags), wscale) };
                prop_assert!(!handshake.is_anew(&forged));
                handshake.observe(&forged, Time::ZERO);
                handshake.observe(&first_ack(window), Time::ZERO);
                prop_assert_eq!(handshake.scale(), Some(7));
            }
        }
    }
}
