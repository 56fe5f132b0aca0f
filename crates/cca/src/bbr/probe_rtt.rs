//! PROBE_RTT, which remeasures min_rtt, for both versions; min_rtt of BBR version 1.

use super::{Bbr, MIN_CWND, Mode};
use crate::{Ack, CaState, Context};
use fairweir_units::{Dur, Time};

/// PROBE_RTT in progress: inflight falls to a small window and stays there for a minimum time and a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProbeRtt {
    /// End of the minimum time; `None` until inflight is small.
    done_at: Option<Time>,
    is_round_done: bool,
}

/// Next step of PROBE_RTT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Stay,
    /// Inflight has become small: the round for which it must stay small begins.
    StartRound,
    Leave,
}

impl ProbeRtt {
    /// Processes an ACK; `is_drained`: inflight is small.
    pub(crate) fn advance(&mut self, is_drained: bool, is_round_start: bool, duration: Dur, now: Time) -> Step {
        match self.done_at {
            None if is_drained => {
                *self = ProbeRtt { done_at: Some(now + duration), is_round_done: false };
                Step::StartRound
            }
            None => Step::Stay,
            Some(at) => {
                self.is_round_done |= is_round_start;
                if self.is_round_done && now > at { Step::Leave } else { Step::Stay }
            }
        }
    }

    /// Returns whether inflight has been small for the required time and round at `time`.
    pub(crate) fn is_over_at(&self, time: Time) -> bool {
        self.done_at.is_some_and(|done_at| time > done_at)
    }
}

/// Returns the cwnd to restore after recovery or PROBE_RTT: its value before either of these reduced it.
pub(crate) fn cwnd_to_restore(prior: u64, cwnd: u64, state: CaState, is_in_probe_rtt: bool) -> u64 {
    let is_cut = is_in_probe_rtt || matches!(state, CaState::Recovery | CaState::Loss);
    if is_cut { prior.max(cwnd) } else { cwnd }
}

impl Bbr {
    #[inline]
    pub(super) fn update_min_rtt(&mut self, ack: &Ack<'_>, cx: &mut Context<'_>) {
        if self.has_oracle {
            self.is_idle_restart = false;
            return;
        }
        // A flow can start at any time, so min_rtt cannot expire before the first sample.
        let has_expired = self.min_rtt != Dur::MAX && cx.now.since(self.min_rtt_stamp) > self.params.min_rtt_window;
        if let Some(rtt) = ack.rtt
            && (rtt <= self.min_rtt || has_expired)
        {
            self.is_target_stale |= rtt != self.min_rtt;
            self.min_rtt = rtt;
            self.min_rtt_stamp = cx.now;
        }
        let is_in_probe_rtt = matches!(self.mode, Mode::ProbeRtt(_));
        if has_expired && !is_in_probe_rtt && !self.is_idle_restart && self.params.probe_rtt_duration > Dur::ZERO {
            // in this order: a larger cwnd from before a recovery is remembered (`bbr_update_min_rtt`)
            self.set_mode(Mode::ProbeRtt(ProbeRtt::default()));
            self.save_cwnd();
            self.probe_rtt_span = (ack.sender.delivered, ack.sender.delivered);
        }
        if matches!(self.mode, Mode::ProbeRtt(_)) {
            self.run_probe_rtt(ack, cx);
        }
        if ack.rate.delivered > 0 {
            self.is_idle_restart = false;
        }
    }

    #[cold]
    fn run_probe_rtt(&mut self, ack: &Ack<'_>, cx: &mut Context<'_>) {
        let Mode::ProbeRtt(probe) = &mut self.mode else { return };
        self.probe_rtt_span.1 = ack.sender.delivered + ack.sender.inflight();
        let is_drained = ack.sender.inflight() <= MIN_CWND;
        match probe.advance(is_drained, self.is_round_start, self.params.probe_rtt_duration, cx.now) {
            Step::StartRound => self.next_round_delivered = ack.sender.delivered,
            Step::Leave => self.leave_probe_rtt(cx),
            Step::Stay => {}
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
        let is_in_probe_rtt = matches!(self.mode, Mode::ProbeRtt(_));
        self.prior_cwnd = cwnd_to_restore(self.prior_cwnd, self.cwnd_pkts, self.prev_ca_state, is_in_probe_rtt);
    }
}
