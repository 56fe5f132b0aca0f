//! Quick ACKs: a receiver that delays ACKs acknowledges some packets at once, as Linux's does.
//!
//! - The first packet of a flow, a packet after a pause of more than a retransmission timeout, and a duplicate grant
//!   16 immediate ACKs (`tcp_event_data_recv`, `tcp_incr_quickack` and `tcp_enter_quickack_mode` of tcp_input.c; every
//!   ACK uses up one, `tcp_dec_quickack_mode` of tcp.h).
//! - A packet that ends the application's data carries PSH. The receiving application reads it at once, and the ACK
//!   follows (`tcp_measure_rcv_mss` of tcp_input.c and `tcp_cleanup_rbuf` of tcp.c, since Linux 6.6).
//!
//! **Deviations from Linux**: the timeout is that of the handshake's RTT sample, without queueing; writes in the middle
//! of unlimited data carry no PSH; no immediate ACK when ECN marks begin or end, and none while the receive window
//! grows; the timer of delayed ACKs does not adapt.

use fairweir_units::{Dur, Time};

/// Immediate ACKs granted at a time (`TCP_MAX_QUICKACKS`).
const MAX_QUICK_ACKS: u64 = 16;

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
}

impl QuickAcks {
    /// Creates the state of the receiver of a flow with this receive window, packets, and timeout.
    pub(crate) fn new(rwnd: Option<u64>, rtprop: Dur, min_rto: Dur) -> QuickAcks {
        let grant = rwnd.map_or(MAX_QUICK_ACKS, |rwnd| (rwnd / 2).clamp(2, MAX_QUICK_ACKS));
        let timeout = rtprop + (rtprop * 2).max(min_rto);
        QuickAcks { left: 0, grant, timeout, last_arrival: None, data_end: u64::MAX }
    }

    /// The application has provided the packets below `data_end`.
    pub(crate) fn set_data_end(&mut self, data_end: u64) {
        self.data_end = data_end;
    }

    /// Returns whether packet `seq`, which arrives in order at `at` and is not acknowledged for another reason, is
    /// acknowledged at once.
    pub(crate) fn arrive(&mut self, seq: u64, at: Time) -> bool {
        if self.last_arrival.is_none_or(|last| at.since(last) > self.timeout) {
            self.left = self.left.max(self.grant);
        }
        self.last_arrival = Some(at);
        let is_quick = self.left > 0 || seq + 1 == self.data_end;
        self.left = self.left.saturating_sub(u64::from(is_quick));
        is_quick
    }

    /// A packet arrived again.
    pub(crate) fn on_duplicate(&mut self) {
        self.left = self.left.max(self.grant);
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
        (0..).zip(arrivals).map(|(seq, ms)| quick.arrive(seq, at(ms))).collect()
    }

    #[test]
    fn the_first_packets_and_those_after_a_pause_are_acknowledged_at_once() {
        let mut quick = QuickAcks::new(None, Dur::from_millis(40), Dur::from_millis(200));
        let first = answers(&mut quick, 0..20);
        assert_eq!(first.iter().filter(|&&is_quick| is_quick).count(), 16);
        assert!(first[..16].iter().all(|&is_quick| is_quick));
        assert_eq!(answers(&mut quick, [259, 500].into_iter()), [false, true]);
    }

    #[test]
    fn a_small_window_grants_fewer() {
        for (rwnd, count) in [(1, 2), (10, 5), (100, 16)] {
            let mut quick = QuickAcks::new(Some(rwnd), Dur::from_millis(40), Dur::from_millis(200));
            assert_eq!(answers(&mut quick, 0..20).iter().filter(|&&is_quick| is_quick).count(), count);
        }
    }

    #[test]
    fn the_end_of_the_data_and_duplicates_are_acknowledged_at_once() {
        let mut quick = QuickAcks::new(None, Dur::from_millis(40), Dur::from_millis(200));
        quick.set_data_end(20);
        let quick_ones = answers(&mut quick, 0..20);
        assert_eq!(quick_ones[16..], [false, false, false, true]);
        assert!(!quick.arrive(20, at(20)));
        quick.on_duplicate();
        assert!(quick.arrive(21, at(21)));
    }
}
