//! SACK compression: a receiver with packets out of order delays ACKs for a moment, as Linux 6.18's does.
//!
//! - After three immediate ACKs with the same cumulative number, packets out of order wait for a timer: 5 % of the RTT,
//!   at most a millisecond (`__tcp_ack_snd_check` of tcp_input.c, `tcp_comp_sack_delay_ns`), and the timer's slack
//!   (`tcp_comp_sack_slack_ns`). Every ACK reports all of them, and stops the timer.
//! - A packet that no longer fits into the first two SACK blocks of the next ACK lets the waiting ACK leave before it
//!   (`tcp_sack_new_ofo_skb`). If every second packet is lost, each ACK therefore leaves with the next packet at the
//!   latest.
//! - A packet that fills a hole is acknowledged at once.
//!
//! **Deviations from Linux**: the RTT is the rtprop, as if the handshake had measured it; an ACK has no limit on its
//! number of SACK blocks; after 44 packets Linux does not wait for the timer (`tcp_comp_sack_nr`), which matters above
//! 500 Mbit/s.

use fairweir_units::{Dur, Time};

/// Immediate ACKs with the same cumulative number (`TCP_FASTRETRANS_THRESH`).
const IMMEDIATE: u64 = 3;
/// Longest delay (`tcp_comp_sack_delay_ns`), and the part of the RTT.
const MAX_DELAY: Dur = Dur::from_millis(1);
const RTT_PARTS: u64 = 20;
/// By how much the timer is late (`tcp_comp_sack_slack_ns`).
const SLACK: Dur = Dur::from_micros(100);
/// SACK blocks that a receiver remembers, and those that every ACK has room for (`TCP_NUM_SACKS`,
/// `TCP_SACK_BLOCKS_EXPECTED`).
const BLOCKS: usize = 4;
const ROOM: usize = 2;

/// Reply of a receiver to a packet out of order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// It sends an ACK.
    Now,
    /// An ACK leaves at this time, unless another one leaves before.
    By(Time),
}

/// State of a receiver that compresses SACKs.
#[derive(Debug)]
pub(crate) struct SackCompression {
    delay: Dur,
    /// Immediate ACKs with the cumulative number `counted_at` (`dup_ack_counter`, `compressed_ack_rcv_nxt`).
    immediate: u64,
    counted_at: u64,
    /// First packet and the one after the last of each SACK block, those that changed last in front.
    blocks: [(u64, u64); BLOCKS],
    used: usize,
}

impl SackCompression {
    /// Creates the state of the receiver of a flow with this rtprop.
    pub(crate) fn new(rtprop: Dur) -> SackCompression {
        let delay = (rtprop / RTT_PARTS).min(MAX_DELAY) + SLACK;
        SackCompression { delay, immediate: 0, counted_at: 0, blocks: [(0, 0); BLOCKS], used: 0 }
    }

    /// Records packet `seq`, which is out of order and new; returns whether an ACK that waits leaves before it.
    pub(crate) fn record(&mut self, seq: u64) -> bool {
        let blocks = &mut self.blocks[..self.used];
        let place = blocks.iter().position(|&(first, end)| seq == end || seq + 1 == first);
        let block = match place {
            Some(place) => (blocks[place].0.min(seq), blocks[place].1.max(seq + 1)),
            None => (seq, seq + 1),
        };
        let last = place.unwrap_or(self.used.min(BLOCKS - 1));
        self.used = self.used.max(last + 1);
        self.blocks.copy_within(..last, 1);
        self.blocks[0] = block;
        self.join_first();
        last >= ROOM
    }

    /// Joins the block in front with one that it has reached.
    fn join_first(&mut self) {
        let (first, end) = self.blocks[0];
        let touches = |&(other, other_end): &(u64, u64)| other_end == first || other == end;
        if let Some(place) = self.blocks[1..self.used].iter().position(touches) {
            let (other, other_end) = self.blocks[place + 1];
            self.blocks[0] = (first.min(other), end.max(other_end));
            self.blocks.copy_within(place + 2..self.used, place + 1);
            self.used -= 1;
        }
    }

    /// Packet `seq` filled the hole; all packets before `rcv_nxt` have now arrived.
    pub(crate) fn fill(&mut self, seq: u64, rcv_nxt: u64) {
        let mut kept = 0;
        for place in 0..self.used {
            if self.blocks[place].0 > rcv_nxt {
                self.blocks[kept] = self.blocks[place];
                kept += 1;
            }
        }
        self.used = kept;
        // Linux counts the ACK for a packet that fills a hole of one packet, unless it is the last hole.
        if kept > 0 && rcv_nxt == seq + 1 {
            (self.immediate, self.counted_at) = (1, rcv_nxt);
        }
    }

    /// Returns the reply to a packet out of order that arrives at `at`, where `rcv_nxt` is the next packet in order.
    pub(crate) fn reply(&mut self, rcv_nxt: u64, at: Time) -> Reply {
        if self.counted_at != rcv_nxt {
            (self.immediate, self.counted_at) = (0, rcv_nxt);
        }
        if self.immediate < IMMEDIATE {
            self.immediate += 1;
            return Reply::Now;
        }
        Reply::By(at + self.delay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after_three() -> SackCompression {
        let mut sacks = SackCompression::new(Dur::from_millis(10));
        for seq in [11, 12, 13] {
            sacks.record(seq);
            assert_eq!(sacks.reply(10, Time::ZERO), Reply::Now);
        }
        sacks
    }

    #[test]
    fn three_acks_leave_at_once_and_later_ones_wait() {
        let mut sacks = after_three();
        assert!(!sacks.record(14));
        assert_eq!(sacks.reply(10, Time::ZERO), Reply::By(Time::ZERO + Dur::from_micros(600)));
        let far = SackCompression::new(Dur::from_millis(200));
        assert_eq!(far.delay, Dur::from_micros(1100));
    }

    #[test]
    fn an_advance_allows_three_again() {
        let mut sacks = after_three();
        sacks.record(16);
        sacks.fill(10, 14);
        assert_eq!((sacks.used, sacks.blocks[0]), (1, (16, 17)));
        for _ in 0..3 {
            assert_eq!(sacks.reply(14, Time::ZERO), Reply::Now);
        }
        assert_ne!(sacks.reply(14, Time::ZERO), Reply::Now);
        sacks.fill(14, 15);
        for _ in 0..2 {
            assert_eq!(sacks.reply(15, Time::ZERO), Reply::Now);
        }
        assert_ne!(sacks.reply(15, Time::ZERO), Reply::Now);
    }

    #[test]
    fn an_ack_with_too_many_blocks_leaves_before_the_packet() {
        let mut sacks = after_three();
        assert!(!sacks.record(15));
        assert!(sacks.record(17), "two blocks exist");
        assert!(!sacks.record(18), "it extends the block in front");
        assert!(!sacks.record(14), "it extends the second block, and joins two");
        assert_eq!((sacks.used, sacks.blocks[0], sacks.blocks[1]), (2, (11, 16), (17, 19)));
        assert!(sacks.record(21));
        assert!(sacks.record(19), "it extends the third block");
        assert_eq!((sacks.used, sacks.blocks[0]), (3, (17, 20)));
        for seq in [23, 25, 27, 29] {
            assert!(sacks.record(seq));
        }
        assert_eq!((sacks.used, sacks.blocks[3]), (4, (23, 24)));
    }
}
