//! min_rtt of BBR version 3, and PROBE_RTT, which remeasures it.

use super::{AckPhase, Bbr3, Mode, ShortTerm};
use crate::bbr::{ProbeRtt, Step, cwnd_to_restore};
use crate::{Ack, Context};
use fairweir_units::Dur;

impl Bbr3 {
    pub(super) fn update_min_rtt(&mut self, ack: &Ack<'_>, cx: &mut Context<'_>) {
        if self.has_oracle {
            self.is_idle_restart = false;
            return;
        }
        // A flow can start at any time, so min_rtt cannot expire before the first sample.
        let has_probe_expired =
            self.probe_rtt_min != Dur::MAX && cx.now.since(self.probe_rtt_min_stamp) > self.params.probe_rtt_interval;
        if let Some(rtt) = ack.rtt
            && (rtt < self.probe_rtt_min || has_probe_expired)
        {
            self.probe_rtt_min = rtt;
            self.probe_rtt_min_stamp = cx.now;
        }
        let has_expired = cx.now.since(self.min_rtt_stamp) > self.params.min_rtt_window;
        if self.probe_rtt_min <= self.min_rtt || has_expired {
            self.min_rtt = self.probe_rtt_min;
            self.min_rtt_stamp = self.probe_rtt_min_stamp;
        }
        let is_in_probe_rtt = matches!(self.mode, Mode::ProbeRtt(_));
        if has_probe_expired && !is_in_probe_rtt && !self.is_idle_restart && self.params.probe_rtt_duration > Dur::ZERO
        {
            self.save_cwnd();
            self.mode = Mode::ProbeRtt(ProbeRtt::default());
            self.probing.ack_phase = AckPhase::ProbeStopping;
            self.next_round_delivered = ack.sender.delivered;
            self.probe_rtt_span = (ack.sender.delivered, ack.sender.delivered);
        }
        if matches!(self.mode, Mode::ProbeRtt(_)) {
            self.run_probe_rtt(ack, cx);
        }
        if ack.rate.delivered > 0 {
            self.is_idle_restart = false;
        }
    }

    fn run_probe_rtt(&mut self, ack: &Ack<'_>, cx: &mut Context<'_>) {
        let cwnd = self.probe_rtt_cwnd();
        let Mode::ProbeRtt(probe) = &mut self.mode else { return };
        self.probe_rtt_span.1 = ack.sender.delivered + ack.sender.inflight();
        let is_drained = ack.sender.inflight() <= cwnd;
        match probe.advance(is_drained, self.is_round_start, self.params.probe_rtt_duration, cx.now) {
            Step::StartRound => self.next_round_delivered = ack.sender.delivered,
            Step::Leave => self.leave_probe_rtt(cx),
            Step::Stay => {}
        }
    }

    pub(super) fn leave_probe_rtt(&mut self, cx: &mut Context<'_>) {
        self.probe_rtt_min_stamp = cx.now;
        self.cwnd_pkts = self.cwnd_pkts.max(self.prior_cwnd);
        self.short_term = ShortTerm::default();
        if self.full_bw.is_reached {
            self.start_cruise_after_probe_rtt(cx);
        } else {
            self.mode = Mode::Startup;
        }
    }

    pub(super) fn save_cwnd(&mut self) {
        let is_in_probe_rtt = matches!(self.mode, Mode::ProbeRtt(_));
        self.prior_cwnd = cwnd_to_restore(self.prior_cwnd, self.cwnd_pkts, self.prev_ca_state, is_in_probe_rtt);
    }
}
