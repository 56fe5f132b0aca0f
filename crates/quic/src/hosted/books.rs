//! The packets of a connection, reconstructed from what a stack reports to its congestion controller.
//!
//! quinn's trait reports the bytes and the time of what was sent, the send time and the bytes of each packet
//! acknowledged, and the total of the bytes lost. This determines the packets: those sent at the same instant are equal to
//! a controller, and a stack declares losses from the oldest packet outstanding onwards (RFC 9002 §6.1). Packets that leave
//! flight without a report (a lone ACK, a packet of the handshake whose keys are discarded) follow from the bytes in flight
//! that the stack reports after each ACK.

use fairweir_cca::{RateSample, Sender};
use fairweir_units::{Bytes, Dur, Time};
use std::collections::VecDeque;

/// Whether a packet is in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    InFlight,
    Lost,
    /// Delivered, or out of flight for another reason.
    Done,
}

/// A packet, and the delivery rate's state when it was sent (`tcp_rate.c`).
#[derive(Clone, Copy, Debug)]
struct Packet {
    state: State,
    /// Bytes in flight.
    bytes: u64,
    sent: Time,
    first_sent: Time,
    delivered_at: Time,
    delivered: u64,
    is_app_limited: bool,
}

/// A packet's number and the time at which it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Numbered {
    pub(super) seq: u64,
    pub(super) sent: Time,
}

/// All packets from the oldest in flight on, and the state of the connection that follows from them.
#[derive(Debug)]
pub(super) struct Books {
    pub(super) sender: Sender,
    packets: VecDeque<Packet>,
    /// Bytes in flight.
    bytes: u64,
    first_sent: Time,
    delivered_at: Time,
    /// `delivered` up to which samples of the rate are application-limited; 0 if none.
    app_limited: u64,
    /// [`Books::note_window`]: the next packet when cwnd last limited; the most packets in flight in the round that ends
    /// there.
    limited_at: u64,
    max_packets_out: u64,
    round_end: u64,
}

impl Books {
    /// A connection that sends packets of `mss` bytes and has sent none.
    pub(super) fn new(mss: Bytes) -> Books {
        Books {
            sender: Sender::new(mss),
            packets: VecDeque::new(),
            bytes: 0,
            first_sent: Time::ZERO,
            delivered_at: Time::ZERO,
            app_limited: 0,
            limited_at: 0,
            max_packets_out: 0,
            round_end: 0,
        }
    }

    /// `bytes` leave at `now`, in packets of at most `mss`; returns the number of packets.
    pub(super) fn send(&mut self, now: Time, bytes: u64) -> u64 {
        if self.sender.inflight() == 0 {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        let mss = self.sender.mss.0;
        let count = bytes.div_ceil(mss);
        for number in 0..count {
            self.packets.push_back(Packet {
                state: State::InFlight,
                bytes: mss.min(bytes - number * mss),
                sent: now,
                first_sent: self.first_sent,
                delivered_at: self.delivered_at,
                delivered: self.sender.delivered,
                is_app_limited: self.app_limited > 0,
            });
        }
        self.sender.snd_nxt += count;
        self.bytes += bytes;
        count
    }

    /// Updates whether cwnd, of `cwnd` bytes, limits sending (`tcp_is_cwnd_limited`), after a packet was sent.
    pub(super) fn note_window(&mut self, cwnd: u64) {
        let sender = &mut self.sender;
        if self.bytes + sender.mss.0 > cwnd {
            self.limited_at = sender.snd_nxt;
        }
        if sender.snd_una >= self.round_end {
            (self.max_packets_out, self.round_end) = (0, sender.snd_nxt);
        }
        self.max_packets_out = self.max_packets_out.max(sender.inflight());
    }

    /// Returns whether cwnd limited the last round. In slow start it does if half of it was used.
    pub(super) fn is_cwnd_limited(&self, cwnd: u64, ssthresh: Option<Bytes>) -> bool {
        let is_slow_start = ssthresh.is_some_and(|ssthresh| cwnd < ssthresh.0);
        self.limited_at >= self.sender.snd_una || (is_slow_start && cwnd < 2 * self.max_packets_out * self.sender.mss.0)
    }

    /// `bytes` that were sent at `sent` are delivered; returns the packet if all of it is.
    pub(super) fn deliver(&mut self, sent: Time, bytes: u64) -> Option<Numbered> {
        let from = self.packets.partition_point(|packet| packet.sent < sent);
        let at_once = || self.packets.iter().enumerate().skip(from).take_while(|(_, packet)| packet.sent == sent);
        let in_flight = || at_once().filter(|(_, packet)| packet.state == State::InFlight);
        let (index, _) = in_flight().find(|(_, packet)| packet.bytes == bytes).or_else(|| in_flight().next())?;
        let packet = &mut self.packets[index];
        let taken = packet.bytes.min(bytes);
        packet.bytes -= taken;
        self.bytes -= taken;
        if packet.bytes > 0 {
            return None;
        }
        packet.state = State::Done;
        self.sender.sacked_out += 1;
        self.sender.delivered += 1;
        Some(Numbered { seq: self.sender.snd_una + index as u64, sent })
    }

    /// `bytes` of packets are lost that were sent until `newest`; adds the packets to `out`.
    pub(super) fn lose(&mut self, mut bytes: u64, newest: Time, out: &mut Vec<Numbered>) {
        for (index, packet) in self.packets.iter_mut().enumerate().take_while(|(_, packet)| packet.sent <= newest) {
            if packet.state == State::InFlight && packet.bytes <= bytes {
                bytes -= packet.bytes;
                self.bytes -= packet.bytes;
                packet.state = State::Lost;
                self.sender.lost_out += 1;
                self.sender.lost += 1;
                out.push(Numbered { seq: self.sender.snd_una + index as u64, sent: packet.sent });
            }
        }
    }

    /// The stack has `in_flight` bytes in flight: packets beyond them left flight without a report.
    pub(super) fn reconcile(&mut self, in_flight: u64) {
        let mut excess = self.bytes.saturating_sub(in_flight);
        for packet in &mut self.packets {
            if excess == 0 {
                return;
            }
            if packet.state == State::InFlight && packet.bytes <= excess {
                excess -= packet.bytes;
                self.bytes -= packet.bytes;
                packet.state = State::Done;
                self.sender.sacked_out += 1;
            }
        }
    }

    /// Moves `snd_una` to the oldest packet in flight; returns by how many packets.
    pub(super) fn advance(&mut self) -> u64 {
        let before = self.sender.snd_una;
        while let Some(packet) = self.packets.pop_front_if(|packet| packet.state != State::InFlight) {
            let out = if packet.state == State::Lost { &mut self.sender.lost_out } else { &mut self.sender.sacked_out };
            *out -= 1;
            self.sender.snd_una += 1;
        }
        self.sender.snd_una - before
    }

    /// Records an RTT sample (RFC 6298 §2).
    pub(super) fn sample_rtt(&mut self, rtt: Dur) {
        let sender = &mut self.sender;
        sender.min_rtt = sender.min_rtt.min(rtt);
        if sender.srtt == Dur::ZERO {
            (sender.srtt, sender.rttvar) = (rtt, rtt / 2);
            return;
        }
        let (srtt, sample) = (sender.srtt.as_nanos(), rtt.as_nanos());
        sender.rttvar = Dur::from_nanos((3 * sender.rttvar.as_nanos() + srtt.abs_diff(sample)) / 4);
        sender.srtt = Dur::from_nanos((7 * srtt + sample) / 8);
    }

    /// Returns the sample of the delivery rate of an ACK at `now` whose newest packet is `newest`, which is not yet behind
    /// `snd_una` (`tcp_rate_gen`).
    pub(super) fn sample_rate(&mut self, newest: u64, now: Time) -> RateSample {
        let Some(&packet) = self.packets.get((newest - self.sender.snd_una) as usize) else {
            return RateSample::default();
        };
        let interval = packet.sent.since(packet.first_sent).max(now.since(packet.delivered_at));
        (self.first_sent, self.delivered_at) = (packet.sent, now);
        // A rate over less than the minimum RTT is an artefact of compression.
        let is_valid = interval >= self.sender.min_rtt;
        RateSample {
            delivered: if is_valid { self.sender.delivered - packet.delivered } else { 0 },
            interval: if is_valid { interval } else { Dur::ZERO },
            prior_delivered: packet.delivered,
            is_app_limited: packet.is_app_limited,
        }
    }

    /// After an ACK, the stack reports whether the application limited sending.
    pub(super) fn note_app_limited(&mut self, is_app_limited: bool) {
        if self.app_limited > 0 && self.sender.delivered > self.app_limited {
            self.app_limited = 0;
        }
        if is_app_limited {
            self.app_limited = (self.sender.delivered + self.sender.inflight()).max(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    fn books() -> Books {
        Books::new(Bytes(1000))
    }

    #[test]
    fn packets_are_found_by_time_and_size() {
        let mut books = books();
        // A batch of three packets, the last of which is short, and a packet at the same instant.
        assert_eq!((books.send(ms(1), 2_400), books.send(ms(1), 1_000), books.send(ms(2), 700)), (3, 1, 1));
        assert_eq!(books.deliver(ms(1), 400), Some(Numbered { seq: 2, sent: ms(1) }));
        assert_eq!(books.deliver(ms(1), 1_000), Some(Numbered { seq: 0, sent: ms(1) }));
        assert_eq!(books.deliver(ms(3), 700), None, "nothing was sent then");
        assert_eq!((books.advance(), books.bytes, books.sender.inflight()), (1, 2_700, 3));
        // The rest of the first instant is lost.
        let mut lost = Vec::new();
        books.lose(2_000, ms(1), &mut lost);
        assert_eq!(lost.iter().map(|packet| packet.seq).collect::<Vec<_>>(), [1, 3]);
        assert_eq!((books.sender.lost, books.sender.lost_out, books.sender.inflight()), (2, 2, 1));
        assert_eq!((books.advance(), books.sender.lost_out, books.sender.inflight()), (3, 0, 1));
    }

    #[test]
    fn a_datagram_of_two_packets_is_delivered_in_parts() {
        let mut books = books();
        books.send(ms(1), 900);
        assert_eq!(books.deliver(ms(1), 300), None);
        assert_eq!(books.deliver(ms(1), 600), Some(Numbered { seq: 0, sent: ms(1) }));
        assert_eq!((books.bytes, books.advance()), (0, 1));
    }

    #[test]
    fn what_leaves_flight_without_a_report_is_forgotten() {
        let mut books = books();
        books.send(ms(1), 1_000);
        books.send(ms(2), 40);
        books.send(ms(3), 1_000);
        books.reconcile(2_000);
        assert_eq!((books.bytes, books.sender.inflight(), books.sender.delivered), (2_000, 2, 0));
        books.deliver(ms(1), 1_000);
        assert_eq!(books.advance(), 2);
    }

    #[test]
    fn the_rate_is_what_was_delivered_between_two_acks_of_a_steady_flow() {
        let mut books = books();
        // A packet per millisecond, acknowledged 10 ms later.
        for at in 0..100 {
            if at >= 10 {
                let newest = books.deliver(ms(at - 10), 1_000).expect("sent").seq;
                books.sample_rtt(Dur::from_millis(10));
                let rate = books.sample_rate(newest, ms(at));
                books.advance();
                if at > 40 {
                    assert_eq!((rate.delivered, rate.interval), (10, Dur::from_millis(10)), "{at}");
                }
            }
            books.send(ms(at), 1_000);
        }
        assert_eq!((books.sender.srtt, books.sender.min_rtt), (Dur::from_millis(10), Dur::from_millis(10)));
    }
}
