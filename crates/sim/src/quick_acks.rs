//! Quick ACKs: a receiver that delays ACKs acknowledges some packets at once, as Linux 6.18's does.
//!
//! - The first packet of a flow, a packet after a pause of more than a retransmission timeout, and a duplicate grant
//!   16 immediate ACKs (`tcp_event_data_recv`, `tcp_incr_quickack` and `tcp_enter_quickack_mode` of tcp_input.c; every
//!   ACK uses up one, `tcp_dec_quickack_mode` of tcp.h).
//! - A packet that ends the application's data carries PSH. The receiving application reads it at once, and the ACK
//!   follows (`tcp_measure_rcv_mss` of tcp_input.c and `tcp_cleanup_rbuf` of tcp.c, since Linux 6.6).
//! - A packet that lets the receive window grow is acknowledged at once, and uses up no immediate ACK (`quick |= 1` in
//!   `tcp_grow_window` of tcp_input.c). An autotuned window grows as [`crate::receive_window`] describes. The receivers of
//!   the kernel world keep an unlimited window constant from their first read on, of 64 KiB; every packet until then lets
//!   it grow, so that with the first 16 immediate ACKs 62 packets of 1500 bytes are not delayed.
//! - With ECN, the first marked packet grants two (`tcp_data_ecn_check` of tcp_input.c). The next grant requires that
//!   the sender has confirmed its reduction: the first new packet after it carries CWR, and is acknowledged at once
//!   (`tcp_ecn_accept_cwr`). A retransmission is not ECN-capable (`tcp_ecn_send` of tcp_output.c), and grants two.
//! - If the receiver runs the algorithm, too ([`fairweir_cca::Interests::exact_marks`]), it acknowledges at once when
//!   marks begin or end, and before that the packets that it has not acknowledged yet (`dctcp_ece_ack_update` of
//!   tcp_dctcp.h, RFC 8257 section 3.2). Marks then grant nothing, and retransmissions are ECN-capable.
//!
//! **Deviations from Linux**: the timeout is that of the handshake's RTT sample, without queueing; writes in the middle
//! of unlimited data carry no PSH; a retransmission is recognised because it fills a hole; the timer of delayed ACKs
//! does not adapt.

use crate::ring::Ring;
use fairweir_units::{Dur, Time};

/// Immediate ACKs granted at a time (`TCP_MAX_QUICKACKS`).
const MAX_QUICK_ACKS: u64 = 16;
/// Immediate ACKs granted by a mark.
const MARK_QUICK_ACKS: u64 = 2;

/// Data of the kernel world's receivers' first read, bytes (`WAKE_UP_BYTES` of crates/emu).
const FIRST_READ: u64 = 64 << 10;

/// The congestion echo of a receiver with ECN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Echo {
    /// One congestion signal per round (RFC 3168), until a packet with CWR arrives.
    Signal,
    /// Which packets are marked (RFC 8257).
    Marks,
}

/// State of a receiver with quick ACKs.
#[derive(Debug)]
pub(crate) struct QuickAcks {
    /// Immediate ACKs that remain (`icsk_ack.quick`).
    left: u64,
    /// Maximum number granted at a time: half of the receive window, at least two.
    grant: u64,
    /// A pause of more than this grants new ones.
    timeout: Dur,
    /// Last call of [`QuickAcks::arrive`]; the first packet of a flow comes after a pause.
    last_arrival: Option<Time>,
    /// The packet before this number ends the application's data.
    data_end: u64,
    /// Packets below this number let an unlimited window grow; 0 if the window is limited or autotuned.
    grows_below: u64,
    /// `None` if packets are not ECN-capable.
    echo: Option<Echo>,
    /// The congestion signal that ACKs carry (`TCP_ECN_DEMAND_CWR`): for [`Echo::Signal`] since a mark, for
    /// [`Echo::Marks`] whether the last packet was marked.
    is_echoing: bool,
    /// Packets with CWR that have not arrived.
    cwr: Ring<u64>,
}

impl QuickAcks {
    /// Creates the state of the receiver of a flow with this receive window, packets, and timeout.
    pub(crate) fn new(rwnd: Option<u64>, rtprop: Dur, min_rto: Dur, echo: Option<Echo>) -> QuickAcks {
        let grant = rwnd.map_or(MAX_QUICK_ACKS, |rwnd| (rwnd / 2).clamp(2, MAX_QUICK_ACKS));
        let timeout = rtprop + (rtprop * 2).max(min_rto);
        QuickAcks {
            left: 0,
            grant,
            timeout,
            last_arrival: None,
            data_end: u64::MAX,
            grows_below: 0,
            echo,
            is_echoing: false,
            cwr: Ring::new(),
        }
    }

    /// Lets an unlimited window grow until the first read, of packets with a payload of `payload` bytes from
    /// `first_packet` on.
    pub(crate) fn grow_until_read(&mut self, payload: u64, first_packet: u64) {
        self.grows_below = first_packet + FIRST_READ.div_ceil(payload.max(1));
    }

    /// Returns whether immediate ACKs remain.
    pub(crate) fn has_any(&self) -> bool {
        self.left > 0
    }

    /// The application has provided the packets below `data_end`.
    pub(crate) fn set_data_end(&mut self, data_end: u64) {
        self.data_end = data_end;
    }

    /// The sender has reduced cwnd, and packet `seq`, which it will send next, carries CWR.
    pub(crate) fn expect_cwr(&mut self, seq: u64) {
        if self.echo.is_some() && self.cwr.back() != Some(&seq) {
            self.cwr.push(seq);
        }
    }

    /// Returns whether marks begin or end with the next packet, which `is_marked`; the packets before it are then
    /// acknowledged first.
    pub(crate) fn ends_run(&self, is_marked: bool) -> bool {
        self.echo == Some(Echo::Marks) && self.is_echoing != is_marked
    }

    /// Returns whether packet `seq`, which arrives in order at `at`, is acknowledged at once. `is_due` if it is
    /// acknowledged in any case.
    pub(crate) fn arrive(&mut self, seq: u64, is_marked: bool, at: Time, is_due: bool) -> bool {
        if self.last_arrival.is_none_or(|last| at.since(last) > self.timeout) {
            self.allow(self.grant);
        }
        self.last_arrival = Some(at);
        if seq < self.grows_below {
            self.on_growth();
        }
        let is_immediate = self.read_ecn(seq, is_marked);
        let is_quick = is_due || is_immediate || self.left > 0 || seq + 1 == self.data_end;
        self.left = self.left.saturating_sub(u64::from(is_quick));
        is_quick
    }

    /// Processes the ECN field and the CWR flag of packet `seq`; returns whether they require an immediate ACK.
    fn read_ecn(&mut self, seq: u64, is_marked: bool) -> bool {
        let Some(echo) = self.echo else { return false };
        let ends_run = self.ends_run(is_marked);
        let has_cwr = self.take_cwr(seq);
        match echo {
            Echo::Marks => self.is_echoing = is_marked,
            Echo::Signal => {
                self.is_echoing &= !has_cwr;
                if is_marked && !self.is_echoing {
                    self.is_echoing = true;
                    self.allow(MARK_QUICK_ACKS);
                }
            }
        }
        ends_run || has_cwr
    }

    /// Returns whether packet `seq` carries CWR. Packets are not reordered: an earlier packet with CWR was lost, and its
    /// retransmission has no CWR.
    fn take_cwr(&mut self, seq: u64) -> bool {
        while let Some(&with_cwr) = self.cwr.front()
            && with_cwr <= seq
        {
            self.cwr.pop();
            if with_cwr == seq {
                return true;
            }
        }
        false
    }

    /// The next packet lets the receive window grow (`quick |= 1`).
    pub(crate) fn on_growth(&mut self) {
        self.left |= 1;
    }

    fn allow(&mut self, count: u64) {
        self.left = self.left.max(count);
    }

    /// A packet arrived again.
    pub(crate) fn on_duplicate(&mut self) {
        self.allow(self.grant);
    }

    /// Packet `seq`, which is not a duplicate, arrives out of order or `fills_hole`; it is acknowledged at once.
    pub(crate) fn on_hole(&mut self, seq: u64, is_marked: bool, fills_hole: bool) {
        self.read_ecn(seq, is_marked);
        if fills_hole && self.echo == Some(Echo::Signal) {
            self.allow(MARK_QUICK_ACKS);
        }
    }

    /// An ACK leaves for a packet out of order.
    pub(crate) fn on_ack(&mut self) {
        self.left = self.left.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Dur::from_millis(ms)
    }

    /// Returns whether each packet of `arrivals`, ms, is acknowledged at once.
    fn answers(quick: &mut QuickAcks, arrivals: impl Iterator<Item = u64>) -> Vec<bool> {
        (0..).zip(arrivals).map(|(seq, ms)| quick.arrive(seq, false, at(ms), false)).collect()
    }

    #[test]
    fn the_first_packets_and_those_after_a_pause_are_acknowledged_at_once() {
        let mut quick = QuickAcks::new(None, Dur::from_millis(40), Dur::from_millis(200), None);
        let first = answers(&mut quick, 0..20);
        assert_eq!(first.iter().filter(|&&is_quick| is_quick).count(), 16);
        assert!(first[..16].iter().all(|&is_quick| is_quick));
        assert_eq!(answers(&mut quick, [259, 500].into_iter()), [false, true]);
    }

    #[test]
    fn an_unlimited_window_grows_until_the_first_read() {
        for (payload, count) in [(1448, 46 + 16), (8948, 8 + 16)] {
            let mut quick = QuickAcks::new(None, Dur::from_millis(40), Dur::from_millis(200), None);
            quick.grow_until_read(payload, 0);
            let quick_ones = answers(&mut quick, 0..100);
            assert_eq!(quick_ones.iter().take_while(|&&is_quick| is_quick).count(), count);
            assert!(quick_ones[count..].iter().all(|&is_quick| !is_quick));
        }
    }

    #[test]
    fn a_small_window_grants_fewer() {
        for (rwnd, count) in [(1, 2), (10, 5), (100, 16)] {
            let mut quick = QuickAcks::new(Some(rwnd), Dur::from_millis(40), Dur::from_millis(200), None);
            assert_eq!(answers(&mut quick, 0..20).iter().filter(|&&is_quick| is_quick).count(), count);
        }
    }

    #[test]
    fn the_end_of_the_data_and_duplicates_are_acknowledged_at_once() {
        let mut quick = QuickAcks::new(None, Dur::from_millis(40), Dur::from_millis(200), None);
        quick.set_data_end(20);
        let quick_ones = answers(&mut quick, 0..20);
        assert_eq!(quick_ones[16..], [false, false, false, true]);
        assert!(!quick.arrive(20, false, at(20), false));
        quick.on_duplicate();
        assert!(quick.arrive(21, false, at(21), false));
    }

    /// Returns the packets, of those from 100 on with the given `marks`, that are acknowledged at once.
    fn with_marks(quick: &mut QuickAcks, marks: &[bool]) -> Vec<u64> {
        (100..).zip(marks).filter(|&(seq, &mark)| quick.arrive(seq, mark, at(100), false)).map(|(seq, _)| seq).collect()
    }

    fn with_echo(echo: Echo) -> QuickAcks {
        let mut quick = QuickAcks::new(None, Dur::from_millis(40), Dur::from_millis(200), Some(echo));
        answers(&mut quick, 0..100);
        quick
    }

    #[test]
    fn a_mark_grants_two_until_the_sender_has_reacted() {
        let mut quick = with_echo(Echo::Signal);
        quick.expect_cwr(106);
        // 100 and 101 by the first mark, 106 by its CWR, 108 and 109 by the next mark
        let marks = [true, true, true, true, false, false, false, false, true, true, true];
        assert_eq!(with_marks(&mut quick, &marks), [100, 101, 106, 108, 109]);
    }

    #[test]
    fn a_lost_packet_with_cwr_is_not_waited_for() {
        let mut quick = with_echo(Echo::Signal);
        quick.expect_cwr(99);
        quick.expect_cwr(102);
        assert_eq!(with_marks(&mut quick, &[true, false, false, true]), [100, 101, 102, 103]);
    }

    #[test]
    fn the_begin_and_the_end_of_marks_are_acknowledged_at_once() {
        let mut quick = with_echo(Echo::Marks);
        assert_eq!(with_marks(&mut quick, &[false, true, true, true, false, false]), [101, 104]);
        assert!(quick.ends_run(true) && !quick.ends_run(false));
    }

    #[test]
    fn a_retransmission_is_not_ecn_capable_and_grants_two() {
        for (echo, left) in [(Echo::Signal, 2), (Echo::Marks, 0)] {
            let mut quick = with_echo(echo);
            quick.on_hole(100, false, true);
            assert_eq!(quick.left, left);
        }
    }

    #[test]
    fn packets_are_acknowledged_at_once_while_the_window_grows() {
        let mut quick = QuickAcks::new(None, Dur::from_millis(40), Dur::from_millis(200), None);
        let grown = |quick: &mut QuickAcks, seq| {
            quick.on_growth();
            quick.arrive(seq, false, at(seq), false)
        };
        assert!((0..40).all(|seq| grown(&mut quick, seq)));
        assert_eq!((40..60).filter(|&seq| quick.arrive(seq, false, at(seq), false)).count(), 14);
    }
}
