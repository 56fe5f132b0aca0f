//! The windows that limit sending.

/// Maximum number of packets that a flow may have outstanding (5 s at 10 Gbps); it bounds the memory.
pub(super) const MAX_OUTSTANDING: u64 = 1 << 22;

/// The congestion window and the receiver's window, and the extent to which the congestion window is used.
#[derive(Debug)]
pub(super) struct SendWindow {
    /// The controller's decision, bytes.
    pub(super) cwnd: u64,
    /// `cwnd` in whole packets, at least one: with a window of zero the flow would stop permanently.
    pub(super) cwnd_pkts: u64,
    /// The receiver's window, packets.
    pub(super) rwnd: u64,
    /// Limit on packet numbers, from the ACKs that an observer modifies; `None` without one.
    pub(super) edge: Option<u64>,
    /// `snd_nxt` when the sender last had to stop because cwnd was full.
    pub(super) limited_at: u64,
    /// Maximum of `packets_out` until `snd_una` reaches `max_packets_seq` (`tcp_cwnd_validate`).
    pub(super) max_packets_out: u64,
    pub(super) max_packets_seq: u64,
}

impl SendWindow {
    /// Creates the windows of a flow that numbers its packets from `first_packet`, before the controller's first
    /// decision.
    pub(super) fn new(rwnd: Option<u64>, first_packet: u64) -> SendWindow {
        SendWindow {
            cwnd: 0,
            cwnd_pkts: 1,
            rwnd: rwnd.unwrap_or(MAX_OUTSTANDING).min(MAX_OUTSTANDING),
            edge: None,
            limited_at: first_packet,
            max_packets_out: 0,
            max_packets_seq: first_packet,
        }
    }

    /// Sets the receiver's window: packets below `edge` may be sent when those below `snd_una` are acknowledged.
    pub(super) fn advertise(&mut self, edge: u64, snd_una: u64) {
        self.rwnd = edge.saturating_sub(snd_una).min(MAX_OUTSTANDING);
    }
}
