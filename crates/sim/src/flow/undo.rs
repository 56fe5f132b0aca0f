//! Undo of spurious timeouts, as in Linux 6.18: `tcp_enter_loss`, `tcp_process_loss`, `tcp_try_undo_loss` and
//! `tcp_undo_cwnd_reduction` (net/ipv4/tcp_input.c).
//!
//! A timeout is spurious if packets or ACKs are late, not lost. Two signs reveal it: an ACK of new data echoes a timestamp
//! from before the first retransmission (Eifel, RFC 3522; `tcp_packet_delayed`), or packets that were sent before the
//! timeout and not again are delivered (F-RTO with SACK, RFC 5682 §3.1 step 3b). The sender then withdraws its marks of
//! loss, and continues with the cwnd and the ssthresh of before the timeout. As long as neither the one nor the other is
//! known, F-RTO sends new packets instead of retransmissions after the first ACK of new data (step 2b).
//!
//! Linux also undoes episodes when DSACKs have reported all retransmissions (`tcp_try_undo_dsack`), undoes fast
//! recoveries, and increases RACK's reordering window after DSACKs (`tcp_rack_update_reo_wnd`). None of this occurs on
//! paths that do not reorder packets: a fast recovery always has a loss, RACK ignores DSACKs before it has seen
//! reordering, and the timestamp of the ACK that has the DSACK is also from before the retransmission.
//!
//! **Deviations from Linux**: timestamps are not rounded to ms; an ACK echoes the newest packet received, not the oldest
//! one that is not acknowledged; F-RTO only with SACK.

use super::{Flow, Record};
use crate::net::Net;
use crate::watch::Watch;
use fairweir_cca::{CaState, Restart, Undo as Event};
use fairweir_units::{Bytes, Time};

/// The window that a timeout changes.
#[derive(Clone, Copy, Debug)]
struct Prior {
    cwnd: u64,
    ssthresh: Bytes,
}

/// State of the undo of timeouts.
#[derive(Debug)]
pub(super) struct Undo {
    pub(super) is_enabled: bool,
    /// The window before the timeout that is being repaired (`undo_marker`, `prior_ssthresh`, `prior_cwnd`); `None` after
    /// an undo, and if a loss or a mark was known before the timeout.
    prior: Option<Prior>,
    /// Time of the first retransmission since the timeout (`retrans_stamp`).
    pub(super) first_retransmission: Time,
    /// Whether F-RTO may still find that the timeout is spurious (`frto`).
    is_undecided: bool,
    /// Whether new packets have precedence over retransmissions (`REXMIT_NEW`).
    pub(super) prefers_new: bool,
}

impl Undo {
    pub(super) fn new(is_enabled: bool) -> Undo {
        Undo { is_enabled, prior: None, first_retransmission: Time::NEVER, is_undecided: false, prefers_new: false }
    }

    /// A loss or a mark is known: the episode that starts is not spurious.
    pub(super) fn forget(&mut self) {
        self.prior = None;
        self.first_retransmission = Time::NEVER;
        self.prefers_new = false;
    }
}

impl Flow {
    /// Saves the window when the retransmission timer has expired, before it is reduced.
    #[cold]
    pub(super) fn save_for_undo(&mut self) {
        let state = self.sender.ca_state;
        let is_new = matches!(state, CaState::Open | CaState::Disorder);
        let has_backed_off = self.timers.has_backed_off();
        let starts = is_new || self.sender.snd_una >= self.recovery.high_seq;
        if starts {
            self.undo.first_retransmission = Time::NEVER;
        }
        if starts || (state == CaState::Loss && !has_backed_off) {
            let ssthresh = match self.cc.ssthresh() {
                Some(ssthresh) if self.sender.is_reducing() => ssthresh,
                Some(ssthresh) => ssthresh.max(Bytes(Restart::min_ssthresh(self.window.cwnd_pkts) * self.mss)),
                None => Bytes::MAX,
            };
            self.undo.prior = Some(Prior { cwnd: self.window.cwnd, ssthresh });
        }
        self.undo.is_undecided = self.recovery.sack && (is_new || state == CaState::Cwr || has_backed_off);
        self.undo.prefers_new = false;
    }

    /// Processes an ACK that arrives after a timeout: it echoes the timestamp `echo`, acknowledges `cum_acked` packets
    /// in order, and `sacked` or not. `has_original` if it delivers packets that were sent before the timeout and not
    /// again.
    #[cold]
    #[inline(never)]
    pub(super) fn examine_timeout<W: Watch>(
        &mut self,
        echo: Time,
        cum_acked: u64,
        sacked: bool,
        has_original: bool,
        now: Time,
    ) {
        let is_late = self.undo.prior.is_some() && echo < self.undo.first_retransmission;
        if cum_acked > 0 && is_late {
            return self.undo_timeout(now);
        }
        self.undo.prefers_new = false;
        if !self.undo.is_undecided {
            return;
        }
        if has_original {
            return self.undo_timeout(now);
        }
        if self.sender.snd_nxt > self.recovery.high_seq {
            self.undo.is_undecided = !sacked;
        } else if cum_acked > 0 && self.sender.snd_una < self.recovery.high_seq {
            self.recovery.high_seq = self.sender.snd_nxt;
            self.undo.prefers_new = self.has_new_data::<W>();
            self.undo.is_undecided = self.undo.prefers_new;
        }
    }

    /// Sends new packets instead of retransmissions (`tcp_xmit_recovery`); returns `false` if there are none.
    pub(super) fn sends_new_first<W: Watch>(&mut self, now: Time, net: &mut Net<W>) -> bool {
        while self.has_new_data::<W>() && self.window_allows(self.sender.inflight()) {
            if self.pacer.rate > 0 && !self.pacer.allows(now) {
                return true;
            }
            self.send_new(now, net);
        }
        let has_sent = self.sender.snd_nxt > self.recovery.high_seq;
        self.undo.prefers_new &= has_sent;
        self.undo.is_undecided &= has_sent;
        has_sent
    }

    /// Withdraws the marks of loss and restores the window.
    fn undo_timeout(&mut self, now: Time) {
        let una = self.sender.snd_una;
        for seq in una..self.sender.snd_nxt {
            let record = self.records.get_mut(seq);
            self.stats.withdrawn += u64::from(record.has(Record::LOST) && !record.has(Record::RETRANS));
            record.flags &= !Record::LOST;
        }
        self.sender.lost_out = 0;
        self.recovery.to_retransmit.clear();
        self.recovery.rack.scan_from(una);
        self.undo.is_undecided = false;
        self.undo.first_retransmission = Time::NEVER;
        self.end_reduction();
        self.sender.ca_state = self.state_without_losses();
        match self.undo.prior.take() {
            Some(Prior { cwnd, ssthresh }) => {
                let event = Event { cwnd: Bytes(cwnd), ssthresh, sender: &self.sender };
                self.cc.on_undo(&event, &mut Flow::context(now, &mut self.rng));
            }
            None => self.cc.on_recovered(&self.sender, &mut Flow::context(now, &mut self.rng)),
        }
        self.read_controller();
    }

    /// Returns the state of a flow without known losses (`tcp_try_keep_open`).
    pub(super) fn state_without_losses(&self) -> CaState {
        let sender = &self.sender;
        let has_retransmitted = || {
            sender.retrans_out > 0
                || (sender.packets_out() > 0 && self.records.get(sender.snd_una).has(Record::EVER_RETRANS))
        };
        let is_disordered = sender.sacked_out > 0 || (self.undo.is_enabled && has_retransmitted());
        if is_disordered { CaState::Disorder } else { CaState::Open }
    }
}
