//! min_rtt of BBR version 1, and PROBE_RTT, which measures it anew.

use super::{Bbr, MIN_CWND, Mode};
use crate::{Ack, CaState, Context};
use fairweir_units::Dur;

impl Bbr {
    #[inline]
    pub(super) fn update_min_rtt(&mut self, ack: &Ack<'_>, cx: &mut Context<'_>) {
        if self.has_oracle {
            self.is_idle_restart = false;
            return;
        }
        // Without a sample there is nothing to expire: flows start at any time.
        let has_expired = self.min_rtt != Dur::MAX && cx.now.since(self.min_rtt_stamp) > self.params.min_rtt_window;
        if let Some(rtt) = ack.rtt
            && (rtt <= self.min_rtt || has_expired)
        {
            self.is_target_stale |= rtt != self.min_rtt;
            self.min_rtt = rtt;
            self.min_rtt_stamp = cx.now;
        }
        let is_in_probe_rtt = matches!(self.mode, Mode::ProbeRtt { .. });
        if has_expired && !is_in_probe_rtt && !self.is_idle_restart && self.params.probe_rtt_duration > Dur::ZERO {
            self.save_cwnd();
            self.set_mode(Mode::ProbeRtt { done_at: None, is_round_done: false });
            self.probe_rtt_span = (ack.sender.delivered, ack.sender.delivered);
        }
        if matches!(self.mode, Mode::ProbeRtt { .. }) {
            self.run_probe_rtt(ack, cx);
        }
        if ack.rate.delivered > 0 {
            self.is_idle_restart = false;
        }
    }

    #[cold]
    fn run_probe_rtt(&mut self, ack: &Ack<'_>, cx: &mut Context<'_>) {
        let Mode::ProbeRtt { done_at, is_round_done } = &mut self.mode else { return };
        self.probe_rtt_span.1 = ack.sender.delivered + ack.sender.inflight();
        match done_at {
            None if ack.sender.inflight() <= MIN_CWND => {
                *done_at = Some(cx.now + self.params.probe_rtt_duration);
                *is_round_done = false;
                self.next_round_delivered = ack.sender.delivered;
            }
            None => {}
            Some(at) => {
                *is_round_done |= self.is_round_start;
                if *is_round_done && cx.now > *at {
                    self.leave_probe_rtt(cx);
                }
            }
        }
    }

    pub(super) fn leave_probe_rtt(&mut self, cx: &mut Context<'_>) {
        self.min_rtt_stamp = cx.now;
        self.cwnd_pkts = self.cwnd_pkts.max(self.prior_cwnd);
        if self.is_pipe_full {
            self.enter_probe_bw(cx);
        } else {
            self.set_mode(Mode::Startup);
        }
    }

    pub(super) fn save_cwnd(&mut self) {
        let is_cut = matches!(self.prev_ca_state, CaState::Recovery | CaState::Loss)
            || matches!(self.mode, Mode::ProbeRtt { .. });
        self.prior_cwnd = if is_cut { self.prior_cwnd.max(self.cwnd_pkts) } else { self.cwnd_pkts };
    }
}
