//! Sender state at the time each unacknowledged packet was sent.

use std::collections::VecDeque;

/// Counters when a packet was sent (`tcp_skb_cb.tx` of BBR version 3's kernel).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AtSend {
    /// Packets in flight, including this one.
    pub(super) inflight: u64,
    /// Packets lost since the start.
    pub(super) lost: u64,
    /// Packets delivered with a mark since the start.
    pub(super) delivered_ce: u64,
}

/// One record per packet from `snd_una` on.
#[derive(Clone, Debug)]
pub(super) struct Flight {
    first: u64,
    records: VecDeque<AtSend>,
}

impl Flight {
    pub(super) fn new() -> Flight {
        Flight { first: 0, records: VecDeque::new() }
    }

    /// Records the state when packet `seq` is sent or retransmitted.
    pub(super) fn record(&mut self, seq: u64, at_send: AtSend) {
        if self.records.is_empty() {
            self.first = seq;
        }
        let Some(i) = seq.checked_sub(self.first) else { return };
        if i > self.records.len() as u64 {
            self.records.clear(); // numbers jumped: packets sent before are unknown
            self.first = seq;
        }
        match self.records.get_mut((seq - self.first) as usize) {
            Some(record) => *record = at_send,
            None => self.records.push_back(at_send),
        }
    }

    /// Returns the record of packet `seq`, if it is unacknowledged.
    pub(super) fn get(&self, seq: u64) -> Option<AtSend> {
        let i = seq.checked_sub(self.first)?;
        self.records.get(i as usize).copied()
    }

    /// Removes the records below `snd_una`, which are acknowledged.
    pub(super) fn forget_below(&mut self, snd_una: u64) {
        let n = snd_una.saturating_sub(self.first).min(self.records.len() as u64);
        self.records.drain(..n as usize);
        self.first += n;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(inflight: u64) -> AtSend {
        AtSend { inflight, lost: 0, delivered_ce: 0 }
    }

    #[test]
    fn records_follow_the_window() {
        let mut flight = Flight::new();
        (10..20).for_each(|seq| flight.record(seq, at(seq)));
        flight.forget_below(15);
        assert_eq!(flight.get(14), None);
        assert_eq!(flight.get(15), Some(at(15)));
        flight.record(16, at(99));
        assert_eq!(flight.get(16), Some(at(99)));
        assert_eq!(flight.get(20), None);
        flight.forget_below(1000);
        flight.record(1000, at(1));
        assert_eq!(flight.get(1000), Some(at(1)));
        flight.record(2000, at(2));
        assert_eq!((flight.get(1000), flight.get(2000)), (None, Some(at(2))));
    }
}
