//! A packet as the path sees it, and the packet's fate.

use fairweir_units::{Bytes, Time};

/// A packet as the path sees it: a data packet or an ACK.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// Packet number within the flow: the packet's for data, the cumulative ACK for ACKs.
    pub seq: u64,
    /// Size on the wire.
    pub bytes: Bytes,
    /// Time at which it entered the network; for an ACK, the time at which the data packet that triggered it did.
    pub sent: Time,
    /// Its ECN codepoint, as its sender set it.
    pub ecn: Ecn,
}

/// The ECN codepoint that a sender sets: whether queues may mark the packet instead of dropping it, and how the sender
/// responds to marks. A mark is reported in the [`Verdict`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotEct,
    /// ECT(0): a mark counts as a loss (RFC 3168).
    Ect0,
    /// ECT(1): L4S, the sender responds to the fraction of marked packets (RFC 9331).
    Ect1,
}

impl Ecn {
    /// Returns whether a queue may mark the packet.
    #[inline]
    pub fn is_capable(self) -> bool {
        self != Ecn::NotEct
    }
}

/// Fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It leaves at this time.
    Deliver(Time),
    /// It leaves at this time with a congestion-experienced mark.
    Mark(Time),
    /// It is lost.
    Drop,
}

impl Verdict {
    /// Returns when the packet leaves and whether it is marked; `None` if it is lost.
    #[inline(always)]
    pub fn delivery(self) -> Option<(Time, bool)> {
        match self {
            Verdict::Deliver(at) => Some((at, false)),
            Verdict::Mark(at) => Some((at, true)),
            Verdict::Drop => None,
        }
    }
}
