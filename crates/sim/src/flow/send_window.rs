//! The windows that limit sending.

/// Maximum number of packets that a flow may have outstanding (5 s at 10 Gbps); it bounds the memory.
pub(super) const MAX_OUTSTANDING: u64 = 1 << 22;

/// Largest window in a SYN-ACK, bytes: it has 16 bits, and the option that scales windows holds only for later segments
/// (RFC 7323 §2.2).
const MAX_UNSCALED: u64 = 65_535;

/// The congestion window and the receiver's window, and the extent to which the congestion window is used.
#[derive(Debug)]
pub(super) struct SendWindow {
    /// The controller's decision, bytes.
    pub(super) cwnd: u64,
    /// `cwnd` in whole packets, at least one: with a window of zero the flow would stop permanently.
    pub(super) cwnd_pkts: u64,
    /// The receiver's window, packets.
    pub(super) rwnd: u64,
    /// The receiver's window after the first ACK, and the first packet, until then; `None` if the SYN-ACK had all of it.
    scaled: Option<(u64, u64)>,
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
            scaled: None,
            edge: None,
            limited_at: first_packet,
            max_packets_out: 0,
            max_packets_seq: first_packet,
        }
    }

    /// Reduces the receiver's window to what a SYN-ACK can announce, until the packet `snd_una` is acknowledged. Packets
    /// have a payload of `mss` bytes.
    pub(super) fn read_syn_ack(&mut self, mss: u64, snd_una: u64) {
        let unscaled = (MAX_UNSCALED / mss).max(1);
        if self.rwnd > unscaled {
            self.scaled = Some((self.rwnd, snd_una));
            self.rwnd = unscaled;
        }
    }

    /// Restores the receiver's window if the first packet is acknowledged; returns whether the window has grown.
    pub(super) fn grows_after_syn_ack(&mut self, snd_una: u64) -> bool {
        let Some((rwnd, _)) = self.scaled.take_if(|(_, first)| snd_una > *first) else { return false };
        self.rwnd = rwnd;
        true
    }

    /// Sets the receiver's window: packets below `edge` may be sent when those below `snd_una` are acknowledged.
    pub(super) fn advertise(&mut self, edge: u64, snd_una: u64) {
        self.rwnd = edge.saturating_sub(snd_una).min(MAX_OUTSTANDING);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_of_a_syn_ack_has_16_bits() {
        for (rwnd, mss, first, then) in
            [(None, 8948, 7, MAX_OUTSTANDING), (Some(5), 8948, 5, 5), (None, 1448, 45, MAX_OUTSTANDING)]
        {
            let mut window = SendWindow::new(rwnd, 100);
            window.read_syn_ack(mss, 100);
            assert_eq!(window.rwnd, first);
            assert!(!window.grows_after_syn_ack(100));
            window.grows_after_syn_ack(101);
            assert_eq!(window.rwnd, then);
        }
    }
}
