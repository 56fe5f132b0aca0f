//! Restart after idle (RFC 2861), as in Linux 6.18: `tcp_slow_start_after_idle_check` (include/net/tcp.h) and
//! `tcp_cwnd_restart` (net/ipv4/tcp_output.c).
//!
//! If the application provides data while nothing is in flight, and the last transmission is more than an RTO ago, cwnd
//! is halved once for each RTO that has passed, to the initial cwnd at the lowest. ssthresh remembers three quarters of
//! the window before, so that slow start restores it within a few RTTs. Algorithms that control recovery themselves
//! (`cong_control`, such as BBR) keep their window.
//!
//! The second half of RFC 2861 in Linux, `tcp_cwnd_application_limited`, is not needed here: it requires an RTO without
//! an ACK that may raise cwnd (`tcp_cong_avoid` sets `snd_cwnd_stamp`), but without an expired timer and without an
//! idle period.
//!
//! **Deviation from Linux**: times are not rounded to jiffies.

use super::Flow;
use fairweir_cca::Restart;
use fairweir_scenario::{FlowSpec, Mechanism};
use fairweir_units::{Bytes, Dur, Time};

impl Flow {
    /// Returns the smallest cwnd, packets, to which an idle period reduces the window of a flow of `spec`; `None` if
    /// idle periods do not reduce it.
    pub(super) fn restart_window(&self, spec: &FlowSpec) -> Option<u64> {
        let has_cong_control = self.interests.own_recovery;
        (self.has(spec, Mechanism::IdleRestart) && !has_cong_control).then_some(spec.initial_cwnd)
    }

    /// Reduces cwnd if the data that the application has just provided end an idle period.
    #[cold]
    #[inline(never)]
    pub(super) fn restart_after_idle(&mut self, restart_window: u64, now: Time) {
        let has_sent = self.sender.srtt > Dur::ZERO;
        // The reduction after a mark in the last ACK ends with the next ACK, and sets cwnd to ssthresh in any case.
        if !has_sent || self.sender.packets_out() > 0 || self.sender.is_reducing() {
            return;
        }
        let rto = self.timers.rto(&self.sender);
        // With all packets delivered, the most recently sent of them is the last transmission (`lsndtime`); before the
        // first data, Linux counts from the end of the handshake.
        let idle = now.since(self.recovery.rack.sent.max(self.first_data_at));
        if idle <= rto {
            return;
        }
        let halvings = (idle.as_nanos() - 1) / rto.as_nanos();
        let floor = restart_window.min(self.window.cwnd_pkts);
        let halved = self.window.cwnd_pkts >> halvings.min(u64::from(u64::BITS - 1));
        let restart = Restart { cwnd: Bytes(halved.max(floor) * self.mss), sender: &self.sender };
        self.cc.on_restart(&restart, &mut Flow::context(now, &mut self.rng));
        self.read_controller();
    }
}
