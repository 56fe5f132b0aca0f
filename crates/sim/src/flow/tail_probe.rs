//! Tail loss probes (RFC 8985 §7), as in Linux 6.18: `tcp_schedule_loss_probe` and `tcp_send_loss_probe`
//! (net/ipv4/tcp_output.c), `tcp_process_tlp_ack` (net/ipv4/tcp_input.c).
//!
//! A loss is detected by the delivery of later packets. If the last packets of a window are lost, nothing is delivered
//! after them, and without probes the retransmission timer must expire. After two RTTs without an ACK the sender
//! transmits a new packet, or the last packet again. The ACK of the probe reveals the losses before it. A probe that
//! repaired the only loss is noticed by the first ACK beyond it, and cwnd is reduced once.
//!
//! **Deviations from Linux**: the probe counts as a retransmission in flight; an
//! ACK that reports nothing new counts as the DSACK of the probe, even if it is the ACK of the probe itself, because the
//! ACK before it was lost.

use super::{Flow, Record};
use crate::net::Net;
use crate::watch::Watch;
use fairweir_cca::{CaState, Cause};
use fairweir_scenario::{FlowSpec, Mechanism};
use fairweir_units::{Dur, Time};

/// `TCP_TIMEOUT_MIN_US`
const MIN_MARGIN: Dur = Dur::from_millis(2);
/// `TCP_TIMEOUT_INIT`
const UNMEASURED: Dur = Dur::from_secs(1);

/// State of a flow's probes.
#[derive(Debug)]
pub(super) struct TailProbe {
    pub(super) is_enabled: bool,
    /// Number of probes whose outcome is unknown, 0 or 1.
    pub(super) outstanding: u64,
    /// `tlp_high_seq`: `snd_nxt` after the outstanding probe.
    high_seq: u64,
    /// `tlp_retrans`: whether the outstanding probe is a retransmission.
    is_retransmission: bool,
    /// Last expiry of the timer; it is set again by progress or by new data after this time.
    expired_at: Option<Time>,
    /// Bound on the receiver's delay of the ACK for a single packet (`tcp_rto_min_us`).
    ack_delay: Dur,
}

impl TailProbe {
    /// Creates the state of a flow of `spec`; `is_tcp` is false for QUIC, which has probe timeouts of its own.
    pub(super) fn new(spec: &FlowSpec, is_tcp: bool) -> TailProbe {
        TailProbe {
            is_enabled: is_tcp && spec.receiver.sack && spec.transport.has(Mechanism::TailLossProbe),
            outstanding: 0,
            high_seq: 0,
            is_retransmission: false,
            expired_at: None,
            ack_delay: spec.min_rto,
        }
    }
}

impl Flow {
    /// Returns the time from which the timer of the next probe counts, and its length; `None` if it does not run. It runs only
    /// while no loss is suspected.
    fn tail_probe_timer(&self) -> Option<(Time, Dur)> {
        if self.sender.packets_out() == 0 || !matches!(self.sender.ca_state, CaState::Open | CaState::Cwr) {
            return None;
        }
        let base = self.timers.rto_base.max(self.records.get(self.sender.snd_nxt - 1).sent);
        if self.tail_probe.expired_at.is_some_and(|expired| base <= expired) {
            return None;
        }
        let margin = if self.sender.packets_out() == 1 { self.tail_probe.ack_delay } else { MIN_MARGIN };
        Some((base, if self.sender.srtt == Dur::ZERO { UNMEASURED } else { self.sender.srtt * 2 + margin }))
    }

    /// Returns the time of the next probe. The timer never runs longer than the retransmission timer, which it precedes.
    fn tail_probe_expiry(&self) -> Time {
        self.tail_probe_timer().map_or(Time::NEVER, |(base, timeout)| {
            self.timers.expiry(base, timeout).min(self.timers.rto_expiry(&self.sender))
        })
    }

    /// Returns whether the flow wakes before the next probe can be due, after `now`: the retransmission timeout is longer
    /// than srtt by the minimum RTO, and the probe's is longer than twice srtt.
    #[inline]
    pub(super) fn wakes_before_tail_probe(&self, now: Time) -> bool {
        let srtt = self.sender.srtt;
        let bound = self.timers.rto_base + srtt + srtt.min(self.tail_probe.ack_delay);
        now < self.timers.wake_at && self.timers.wake_at <= bound
    }

    /// Makes the slow timers due by the next probe.
    #[cold]
    #[inline(never)]
    pub(super) fn wake_for_tail_probe(&mut self, now: Time) {
        // A bound on the expiry, which costs less.
        let bound = self
            .tail_probe_timer()
            .map_or(Time::NEVER, |(base, timeout)| (base + timeout).min(self.timers.rto_deadline(&self.sender)));
        let deadline = if bound <= now { self.tail_probe_expiry() } else { bound };
        self.timers.wake_by(deadline);
    }

    /// Sends a probe if one is due, regardless of cwnd.
    #[cold]
    #[inline(never)]
    pub(super) fn check_tail_probe<W: Watch>(&mut self, now: Time, net: &mut Net<W>) {
        if self.tail_probe_expiry() > now {
            return;
        }
        self.tail_probe.expired_at = Some(now);
        if self.tail_probe.outstanding > 0 {
            return;
        }
        self.tail_probe.is_retransmission = !self.has_new_data::<W>();
        if self.tail_probe.is_retransmission {
            let last = self.sender.snd_nxt - 1;
            debug_assert!(!self.records.get(last).has(Record::SACKED), "a SACKed packet ends the state Open");
            self.send_probe(last, now, net);
        } else {
            self.send_new(now, net);
        }
        self.tail_probe.outstanding = 1;
        self.tail_probe.high_seq = self.sender.snd_nxt;
        self.timers.rto_base = now;
    }

    /// Processes an ACK of `cum` while a probe is outstanding; `is_duplicate` if the ACK reports nothing new.
    #[cold]
    #[inline(never)]
    pub(super) fn process_tail_probe_ack(&mut self, cum: u64, is_duplicate: bool, prior_inflight: u64, now: Time) {
        if cum < self.tail_probe.high_seq {
            return;
        }
        if !self.tail_probe.is_retransmission || is_duplicate {
            // The probe was new data, or original and probe both arrived: nothing was lost.
            self.tail_probe.outstanding = 0;
        } else if cum > self.tail_probe.high_seq {
            // No duplicate was reported before newer data: the original was lost.
            self.enter_episode(CaState::Cwr, Cause::Dupack, false, prior_inflight, now);
            self.leave_episode(now);
        }
    }
}
