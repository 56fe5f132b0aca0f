//! Packets and ACKs between the ends of a flow.

use fairweir_path::Verdict;
use fairweir_units::Time;

/// Identifies a stage (hop on a flow's lane): an index into the engine's list of all flows' stages. It is also the tag
/// of the stage's packets in hops that decide on leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StageId(pub(crate) u32);

/// Stands in place of a packet number in SYNs and SYN-ACKs.
pub(crate) const SYN: u64 = u64::MAX;

/// A packet or an ACK in transit.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Item {
    pub(crate) at: Time,
    /// Time at which the data packet entered the network; ACK: that of the newest packet received.
    pub(crate) sent: Time,
    /// Time at which the ACK left the receiver; data: that of the newest ACK that the sender had read.
    pub(crate) ack_sent: Time,
    /// Data: packet number; ACK: cumulative ACK.
    pub(crate) seq: u64,
    /// Data: transmission number of the flow; ACK: number of the receiver's ACK; both 0 without an observer.
    pub(crate) number: u64,
    /// ACK: number of marked packets so far, modulo 2^32; data: whether the packet is marked.
    pub(crate) ce: u32,
    /// ACK: length of the receiver's log, modulo 2^32; data: 1 for a retransmission, 0 for a new packet.
    pub(crate) log: u32,
    /// [`crate::receiver::AckOut::window`]
    pub(crate) window: u32,
}

impl Item {
    /// Applies `verdict`; returns `false` if the packet is lost.
    #[inline(always)]
    pub(crate) fn decide(&mut self, verdict: Verdict) -> bool {
        match verdict {
            Verdict::Deliver(at) => self.at = at,
            Verdict::Mark(at) => {
                self.at = at;
                self.ce |= 1;
            }
            Verdict::Drop => return false,
        }
        true
    }
}

/// A data packet that leaves the sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departure {
    pub(crate) at: Time,
    pub(crate) seq: u64,
    pub(crate) is_retransmission: bool,
}

/// An ACK that reaches the sender.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AckItem {
    pub(crate) at: Time,
    /// Next packet expected in order.
    pub(crate) cum: u64,
    /// [`crate::receiver::AckOut::log`]
    pub(crate) log: u32,
    /// [`crate::receiver::AckOut::ce`]
    pub(crate) ce: u32,
    /// [`crate::receiver::AckOut::window`]
    pub(crate) window: u32,
    /// Send time of the newest packet that the receiver had received: the timestamp that the ACK echoes.
    pub(crate) echo: Time,
    /// Time at which the ACK left the receiver: its own timestamp.
    pub(crate) ack_sent: Time,
}
