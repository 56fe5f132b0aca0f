//! A flow's measurements, for any kind of packets and ACKs.

use crate::Histogram;
use fairweir_units::{Dur, Time};

/// Counters of the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowCounts {
    /// Data packets that entered the network.
    pub sent: u64,
    /// Of these, packets that had entered before.
    pub retransmits: u64,
    /// Packets newly covered by ACKs.
    pub delivered: u64,
    /// Wire bytes of these.
    pub delivered_bytes: u64,
    /// Data packets that arrived with a mark.
    pub marked: u64,
}

impl std::ops::Sub for FlowCounts {
    type Output = FlowCounts;
    fn sub(self, earlier: FlowCounts) -> FlowCounts {
        FlowCounts {
            sent: self.sent - earlier.sent,
            retransmits: self.retransmits - earlier.retransmits,
            delivered: self.delivered - earlier.delivered,
            delivered_bytes: self.delivered_bytes - earlier.delivered_bytes,
            marked: self.marked - earlier.marked,
        }
    }
}

/// One flow's measurements.
#[derive(Clone, Debug)]
pub struct Tally {
    /// RTT samples; starts afresh with the warm-up's end.
    pub rtt: Histogram,
    /// Counters of the whole run.
    pub counts: FlowCounts,
    /// Time when the first data packet entered the network.
    pub first_sent: Option<Time>,
    /// Time of the last ACK of new data.
    pub last_delivered: Option<Time>,
}

impl Default for Tally {
    fn default() -> Tally {
        Tally::new()
    }
}

impl Tally {
    /// The measurements of a flow that has sent nothing.
    pub fn new() -> Tally {
        Tally { rtt: Histogram::new(), counts: FlowCounts::default(), first_sent: None, last_delivered: None }
    }

    /// Returns sum and number of the RTT samples since the warm-up's end.
    pub fn rtt_total(&self) -> (Dur, u64) {
        let (sum_ns, samples) = self.rtt.total();
        // A run takes at most an hour of real time: a sum of 2^64 ns would need five thousand million RTT samples per
        // second.
        (Dur::from_nanos(sum_ns as u64), samples)
    }
}

/// A source of a flow's measurements.
pub trait Meter {
    /// The measurements so far.
    fn tally(&self) -> &Tally;
    /// The measurements so far, to start some of them afresh.
    fn tally_mut(&mut self) -> &mut Tally;
}

impl Meter for Tally {
    fn tally(&self) -> &Tally {
        self
    }

    fn tally_mut(&mut self) -> &mut Tally {
        self
    }
}
