//! The hard limit that every queue has.

use super::Backlog;
use crate::Packet;
use fairweir_units::Bytes;

/// Maximum bytes and packets of a queue, including the packet in transmission.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    pub(crate) bytes: Bytes,
    pub(crate) packets: u64,
}

impl Limit {
    pub(crate) fn new(bytes: Option<Bytes>, packets: Option<u64>) -> Limit {
        Limit { bytes: bytes.unwrap_or(Bytes::MAX), packets: packets.unwrap_or(u64::MAX) }
    }

    /// Returns whether the packet fits. An empty queue takes any packet; otherwise a limit below one packet would block
    /// the link.
    #[inline]
    pub(crate) fn has_room(self, packet: &Packet, backlog: Backlog) -> bool {
        (backlog.bytes + packet.bytes <= self.bytes && backlog.packets < self.packets) || backlog.packets == 0
    }
}
