//! The receiver: records the packets that have arrived, and decides when to acknowledge them.
//!
//! Paths do not reorder packets, so a packet's arrival time is known when the packet leaves the last shared hop. The
//! receiver processes the packet at that point, before its arrival time, and the ACKs enter the return path with later
//! times.

use crate::quick_acks::QuickAcks;
use crate::receive_window::ReceiveWindow;
use crate::ring::Ring;
use crate::sack_compression::{Reply, SackCompression};
use fairweir_scenario::Receiver as Config;
use fairweir_units::{Dur, Time};

/// An ACK that leaves the receiver. All its fields are cumulative, so a lost ACK loses no information.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AckOut {
    pub(crate) at: Time,
    /// Next packet expected in order.
    pub(crate) cum: u64,
    /// Length of the receiver's log of out-of-order arrivals (it represents SACK blocks), modulo 2^32. The sender reads
    /// the log long before the length wraps.
    pub(crate) log: u32,
    /// Number of marked packets so far, modulo 2^32; senders use the difference between two ACKs.
    pub(crate) ce: u32,
    /// Packets from `cum` on that are in the receive window; 0 if the window is not autotuned.
    pub(crate) window: u32,
}

#[derive(Debug)]
pub(crate) struct Receiver {
    ack_every: u64,
    ack_timer: Dur,
    sack: bool,
    rcv_nxt: u64,
    /// In-order packets not yet acknowledged.
    pending: u64,
    /// Latest time of the pending ACK.
    deadline: Time,
    ce: u32,
    above: Above,
    /// Out-of-order arrivals that the sender has not read yet; the first entry has index `log_base`.
    log: Ring<u64>,
    log_base: u32,
    /// Immediate ACKs of a receiver that otherwise delays them.
    pub(crate) quick_acks: Option<QuickAcks>,
    /// The receive window, if it is autotuned.
    pub(crate) window: Option<Box<ReceiveWindow>>,
    /// Delayed ACKs for packets out of order.
    pub(crate) sack_compression: Option<Box<SackCompression>>,
    /// Packets that arrived twice.
    pub(crate) duplicates: u64,
}

impl Receiver {
    /// Creates a receiver that expects packet `first_packet`.
    pub(crate) fn new(config: &Config, first_packet: u64) -> Receiver {
        Receiver {
            ack_every: config.ack_every,
            ack_timer: config.ack_timer,
            sack: config.sack,
            rcv_nxt: first_packet,
            pending: 0,
            deadline: Time::NEVER,
            ce: 0,
            above: Above::new(),
            log: Ring::new(),
            log_base: 0,
            quick_acks: None,
            window: None,
            sack_compression: None,
            duplicates: 0,
        }
    }

    /// Processes packet `seq`, which arrives at `at` and echoes the timestamp `echo`: its sender has read the ACK that
    /// left at that time. Returns the ACK that the packet causes immediately, if any. Callers must call
    /// [`Receiver::due_before`] first.
    #[inline(always)]
    pub(crate) fn arrive(&mut self, seq: u64, is_marked: bool, at: Time, echo: Time) -> Option<AckOut> {
        self.ce = self.ce.wrapping_add(u32::from(is_marked));
        if seq == self.rcv_nxt && self.above.is_empty() {
            self.rcv_nxt += 1;
            self.pending += 1;
            if self.window.is_some() {
                self.autotune(1, at, echo);
            }
            if self.is_acknowledged_at_once(seq, is_marked, at) {
                return Some(self.ack(at));
            }
            if self.pending == 1 {
                self.deadline = at + self.ack_timer;
            }
            return None;
        }
        self.arrive_out_of_order(seq, is_marked, at, echo)
    }

    /// Processes a packet that is out of order, is a duplicate, or fills a hole. It is acknowledged immediately (RFC 5681,
    /// section 4.2) unless SACKs are compressed; the returned ACK may then be one that leaves before the packet.
    #[inline(never)]
    fn arrive_out_of_order(&mut self, seq: u64, is_marked: bool, at: Time, echo: Time) -> Option<AckOut> {
        let mut before = None;
        if seq > self.rcv_nxt {
            if !self.above.insert(seq, self.rcv_nxt) {
                self.count_duplicate();
            } else {
                if self.sack_compression.as_mut().is_some_and(|sacks| sacks.record(seq)) && self.deadline.is_set() {
                    before = Some(self.ack(at));
                }
                self.count_hole(seq, is_marked, false);
                if self.sack {
                    self.log.push(seq);
                }
                if let Some(window) = &mut self.window {
                    window.on_out_of_order(seq, self.rcv_nxt, self.above.count, at, echo, self.sack);
                }
            }
        } else if seq == self.rcv_nxt {
            self.rcv_nxt = self.above.advance(seq + 1);
            self.autotune(self.rcv_nxt - seq, at, echo);
            self.count_hole(seq, is_marked, true);
            if let Some(sacks) = &mut self.sack_compression {
                sacks.fill(seq, self.rcv_nxt);
            }
        } else {
            self.count_duplicate();
        }
        if seq > self.rcv_nxt && self.waits_out_of_order(at) {
            return before;
        }
        if let Some(quick) = &mut self.quick_acks {
            quick.on_ack();
        }
        Some(self.ack(at))
    }

    /// Returns whether the ACK for a packet out of order waits; if so, sets the timer.
    fn waits_out_of_order(&mut self, at: Time) -> bool {
        let is_quick = self.quick_acks.as_ref().is_some_and(QuickAcks::has_any);
        let Some(sacks) = &mut self.sack_compression else { return false };
        if is_quick {
            return false;
        }
        match sacks.reply(self.rcv_nxt, at) {
            Reply::Now => false,
            Reply::By(time) => {
                self.deadline = self.deadline.min(time);
                true
            }
        }
    }

    /// Returns whether packet `seq`, which is in order, is acknowledged now.
    #[inline]
    fn is_acknowledged_at_once(&mut self, seq: u64, is_marked: bool, at: Time) -> bool {
        let is_due = self.pending >= self.ack_every;
        match &mut self.quick_acks {
            None => is_due,
            Some(quick) => quick.arrive(seq, is_marked, at, is_due),
        }
    }

    /// Autotunes the window, if it is autotuned, after a packet that puts `packets` in order.
    #[inline(never)]
    fn autotune(&mut self, packets: u64, at: Time, echo: Time) {
        let Some(window) = &mut self.window else { return };
        if window.on_in_order(self.rcv_nxt, packets, self.above.count, at, echo)
            && let Some(quick) = &mut self.quick_acks
        {
            quick.on_growth();
        }
    }

    fn count_hole(&mut self, seq: u64, is_marked: bool, fills_hole: bool) {
        if let Some(quick) = &mut self.quick_acks {
            quick.on_hole(seq, is_marked, fills_hole);
        }
    }

    fn count_duplicate(&mut self) {
        self.duplicates += 1;
        if let Some(quick) = &mut self.quick_acks {
            quick.on_duplicate();
        }
    }

    /// Returns the delayed ACK that was due before `at`, if any.
    #[inline]
    pub(crate) fn overdue(&mut self, at: Time) -> Option<AckOut> {
        if self.deadline <= at { Some(self.ack(self.deadline)) } else { None }
    }

    /// Returns the delayed ACK that leaves before a packet that arrives at `at`, if any: it was due, or reports packets
    /// without a mark before a packet with one, or vice versa.
    #[inline(never)]
    pub(crate) fn due_before(&mut self, is_marked: bool, at: Time) -> Option<AckOut> {
        let ends_run = |quick: &QuickAcks| quick.ends_run(is_marked);
        if self.deadline.is_set() && self.deadline > at && self.quick_acks.as_ref().is_some_and(ends_run) {
            return Some(self.ack(at));
        }
        self.overdue(at)
    }

    /// Returns the time at which a delayed ACK is due.
    #[inline]
    pub(crate) fn deadline(&self) -> Time {
        self.deadline
    }

    #[inline]
    fn ack(&mut self, at: Time) -> AckOut {
        self.pending = 0;
        self.deadline = Time::NEVER;
        let log = self.log_base.wrapping_add(self.log.len() as u32);
        let window = match &mut self.window {
            Some(window) => window.on_ack_sent(self.rcv_nxt, self.above.count, at),
            None => 0,
        };
        AckOut { at, cum: self.rcv_nxt, log, ce: self.ce, window }
    }

    /// Returns the packet numbers in the log up to `to` that the sender has not read.
    pub(crate) fn unread_log(&self, to: u32) -> impl Iterator<Item = u64> {
        self.log.iter().take(to.wrapping_sub(self.log_base) as usize).copied()
    }

    /// Passes the log up to `to` to the sender, one packet number at a time.
    #[inline]
    pub(crate) fn read_log(&mut self, to: u32) -> Option<u64> {
        if self.log_base == to {
            return None;
        }
        self.log_base = self.log_base.wrapping_add(1);
        self.log.pop()
    }
}

/// The set of packets above the first hole: one bit per packet, in a ring that is large enough for all of them.
#[derive(Debug)]
struct Above {
    /// The ring; its length n is a power of two. Packet `seq` is bit `seq % 64` of word `seq / 64`, modulo n.
    words: Box<[u64]>,
    count: u64,
}

impl Above {
    fn new() -> Above {
        Above { words: vec![0; 4].into(), count: 0 }
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the index of the word of packet `seq`, and the packet's bit.
    #[inline]
    fn word(&mut self, seq: u64) -> (&mut u64, u64) {
        let mask = self.words.len() - 1;
        (&mut self.words[(seq / 64) as usize & mask], seq % 64)
    }

    /// Adds packet `seq`, which is above the hole at `hole`; returns `false` if it was already present.
    #[inline]
    fn insert(&mut self, seq: u64, hole: u64) -> bool {
        if seq / 64 - hole / 64 >= self.words.len() as u64 {
            self.grow(seq, hole);
        }
        let (word, place) = self.word(seq);
        let is_new = *word >> place & 1 == 0;
        *word |= 1 << place;
        self.count += u64::from(is_new);
        is_new
    }

    /// Grows the ring to hold `seq` above `hole`.
    #[cold]
    fn grow(&mut self, seq: u64, hole: u64) {
        let (base, held) = (hole / 64, self.words.len() as u64);
        let larger = (seq / 64 - base + 1).next_power_of_two();
        let mut words = vec![0; larger as usize].into_boxed_slice();
        for word in base..base + held {
            words[(word & (larger - 1)) as usize] = self.words[(word & (held - 1)) as usize];
        }
        self.words = words;
    }

    /// Removes the run of packets that starts at `seq`; returns the number after the run.
    #[inline]
    fn advance(&mut self, mut seq: u64) -> u64 {
        loop {
            let (word, place) = self.word(seq);
            let run = u64::from((*word >> place).trailing_ones());
            if run == 0 {
                return seq;
            }
            *word &= !(u64::MAX >> (64 - run) << place);
            self.count -= run;
            seq += run;
            if place + run < 64 {
                return seq;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn receiver(ack_every: u64) -> Receiver {
        Receiver::new(&Config { ack_every, ..Config::default() }, 0)
    }

    #[test]
    fn delayed_acks_wait_for_their_count_or_timer() {
        let mut r = receiver(2);
        let t = Time::from_nanos;
        assert_eq!(r.arrive(0, false, t(5), Time::ZERO), None);
        assert_eq!(r.deadline(), t(40_000_005));
        assert_eq!(r.arrive(1, false, t(6), Time::ZERO).map(|a| a.cum), Some(2));
        assert_eq!(r.arrive(2, false, t(7), Time::ZERO), None);
        assert_eq!(r.overdue(t(40_000_007)).map(|a| (a.at, a.cum)), Some((t(40_000_007), 3)));
        assert_eq!(r.deadline(), Time::NEVER);
    }

    #[test]
    fn a_hole_is_reported_and_filled() {
        let mut r = receiver(1);
        let t = Time::ZERO;
        r.arrive(0, false, t, Time::ZERO);
        let ack = r.arrive(2, true, t, Time::ZERO).unwrap();
        assert_eq!((ack.cum, ack.log, ack.ce), (1, 1, 1));
        assert_eq!(r.arrive(1, false, t, Time::ZERO).unwrap().cum, 3);
        assert_eq!(r.read_log(1), Some(2));
        assert_eq!(r.read_log(1), None);
    }

    proptest! {
        #[test]
        fn cumulative_ack_is_the_first_packet_missing(seqs in proptest::collection::vec(0..300u64, 1..400)) {
            let mut r = receiver(1);
            let mut got = BTreeSet::new();
            for seq in seqs {
                got.insert(seq);
                let ack = r.arrive(seq, false, Time::ZERO, Time::ZERO).unwrap();
                let missing = (0..).find(|s| !got.contains(s)).unwrap();
                prop_assert_eq!(ack.cum, missing);
            }
        }
    }
}
