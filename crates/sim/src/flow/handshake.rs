//! The handshake of a flow, as in Linux 6.18: `tcp_connect` (net/ipv4/tcp_output.c), `tcp_retransmit_timer`
//! (net/ipv4/tcp_timer.c), `tcp_rcv_synsent_state_process` and `tcp_init_transfer` (net/ipv4/tcp_input.c).
//!
//! A SYN passes the data path, and the SYN-ACK returns on the path of the ACKs; then the data leave. The SYN is sent
//! again after 1 s, five times with the same timeout (`tcp_syn_linear_timeouts`), then after 2 s, 4 s ... The handshake
//! gives the first RTT sample, by the timestamp in the SYN-ACK if the SYN was sent again.
//!
//! The window in the SYN-ACK is not scaled: before the first ACK, at most 65,535 bytes may be sent, which is less than an
//! initial cwnd of ten packets of 9000 bytes.
//!
//! Only the first SYN asks for ECN; if it is lost, the flow has no ECN (`tcp_ecn_clear_syn`, `tcp_ecn_fallback`).
//!
//! **Deviations from Linux**: the ACK of the SYN-ACK is not sent; the sender never gives up (Linux: after ten
//! retransmissions); the initial cwnd is not reduced to one after two retransmissions; the receiver sends the SYN-ACK
//! again only for a SYN, not by its own timer; the timestamp is not rounded to ms; `delivered` does not count the SYN.

use super::Flow;
use crate::net::Net;
use crate::watch::Watch;
use fairweir_scenario::HEADER_BYTES;
use fairweir_units::{Dur, Time};

/// `TCP_TIMEOUT_INIT`
const INITIAL_TIMEOUT: Dur = Dur::from_secs(1);
/// `TCP_RTO_MAX`
const MAX_TIMEOUT: Dur = Dur::from_secs(120);
/// Timeouts after which the timeout does not double (`sysctl_tcp_syn_linear_timeouts`).
const LINEAR_TIMEOUTS: u32 = 4;

/// State of a flow's handshake.
#[derive(Debug)]
pub(super) struct Handshake {
    pub(super) is_pending: bool,
    /// Number of SYNs sent.
    sent: u32,
    timeout: Dur,
    /// Time of the first SYN.
    start: Time,
    /// Time of the next SYN.
    deadline: Time,
}

impl Handshake {
    /// Creates the state of a flow that starts at `start`, with or without a handshake.
    pub(super) fn new(is_enabled: bool, start: Time) -> Handshake {
        Handshake { is_pending: is_enabled, sent: 0, timeout: INITIAL_TIMEOUT, start, deadline: start }
    }
}

impl Flow {
    /// Sends a SYN if one is due.
    #[cold]
    pub(super) fn check_handshake<W: Watch>(&mut self, now: Time, net: &mut Net<W>) {
        let handshake = &mut self.handshake;
        if handshake.deadline <= now {
            handshake.sent += 1;
            if handshake.sent > LINEAR_TIMEOUTS + 1 {
                handshake.timeout = (handshake.timeout * 2).min(MAX_TIMEOUT);
            }
            handshake.deadline = now + handshake.timeout;
            self.route.send_syn(now, net);
        }
        self.timers.wake_at = self.handshake.deadline;
    }

    /// Processes a SYN-ACK, which left the receiver at `left`. The first establishes the connection, and the flow starts to
    /// send.
    #[cold]
    #[inline(never)]
    pub(super) fn on_syn_ack<W: Watch>(&mut self, left: Time, now: Time, net: &mut Net<W>) {
        if !self.handshake.is_pending {
            return;
        }
        self.route.last_ack_sent = left;
        self.handshake.is_pending = false;
        if let Some(sent) = self.route.syn_echo {
            if sent > self.handshake.start {
                self.give_up_ecn();
            }
            let rtt = now.since(sent);
            self.estimate_rtt(rtt, |_| rtt);
        }
        if self.route.receiver.window.is_none() {
            self.window.read_syn_ack(self.mss.saturating_sub(HEADER_BYTES).max(1), self.sender.snd_una);
        }
        self.cc.on_established(&self.sender, &mut Flow::context(now, &mut self.rng));
        self.read_controller();
        self.first_data_at = now;
        self.on_wake(now, net);
    }

    /// Sends data without ECN from now on.
    fn give_up_ecn(&mut self) {
        self.recovery.reacts_to_marks = false;
        self.route.give_up_ecn();
    }
}
