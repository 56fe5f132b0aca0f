//! PROBE_BW of BBR version 3: the phases DOWN, CRUISE, REFILL and UP, and the long-term bound on inflight.

use super::{Bbr3, Mode, Sample};
use crate::bbr::{Bandwidth, Gain, MIN_CWND};
use crate::{Ack, CaState, Context};
use fairweir_units::{Dur, Time};
use rand::RngExt;

/// Bound on the random number of rounds by which the wait for a probe is shortened (`bbr_bw_probe_rand_rounds`).
const RANDOM_ROUNDS: u64 = 2;

/// inflight_hi grows by at most 2^30 packets per round.
const MAX_SLOPE_ROUNDS: u32 = 30;

/// Phase of PROBE_BW.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Pacing gain 0.91 until inflight is below the bound with headroom and the queue is drained.
    Down(ProbeTimer),
    /// Pacing gain 1 until the next probe is due.
    Cruise(ProbeTimer),
    /// Pacing gain 1 for one round, without short-term bounds.
    Refill {
        /// log2 of the first increment of inflight_hi.
        slope_rounds: u32,
    },
    /// Pacing gain 1.25 until bandwidth stops growing, or loss or marks end the probe.
    Up(Slope),
}

/// Time of the next probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ProbeTimer {
    since: Time,
    wait: Dur,
    rounds: u64,
}

/// Growth of inflight_hi, whose speed doubles each round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slope {
    rounds: u32,
    acks: u64,
    acks_per_increment: u64,
}

impl Slope {
    fn start(rounds: u32, cwnd: u64) -> Slope {
        let mut slope = Slope { rounds, acks: 0, acks_per_increment: u64::MAX };
        slope.raise(cwnd);
        slope
    }

    fn raise(&mut self, cwnd: u64) {
        self.acks_per_increment = (cwnd >> self.rounds).max(1);
        self.rounds = (self.rounds + 1).min(MAX_SLOPE_ROUNDS);
    }
}

/// How the ACKs received now relate to the probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// Results of probing, and the state for interpreting its samples.
#[derive(Clone, Debug)]
pub(super) struct Probing {
    /// Maximum inflight without excessive loss; `None` before there is a bound.
    pub(super) inflight_hi: Option<u64>,
    pub(super) ack_phase: AckPhase,
    /// Whether samples that arrive now were sent while probing.
    pub(super) has_samples: bool,
    /// Whether the last probe had excessive loss.
    prev_too_high: bool,
    /// Whether the last probe stopped at inflight_hi, before any loss.
    stopped_risky: bool,
}

impl Probing {
    pub(super) fn new() -> Probing {
        Probing {
            inflight_hi: None,
            ack_phase: AckPhase::Init,
            has_samples: false,
            prev_too_high: false,
            stopped_risky: false,
        }
    }
}

impl Bbr3 {
    /// Returns the target inflight: a BDP, unless congestion reduced cwnd.
    fn target_inflight(&self) -> u64 {
        self.inflight(self.bandwidth(), Gain::UNIT).min(self.cwnd_pkts)
    }

    /// Returns inflight_hi minus the headroom for other flows.
    pub(super) fn inflight_with_headroom(&self) -> Option<u64> {
        let hi = self.probing.inflight_hi?;
        let headroom = self.gains.headroom.of(hi).max(1);
        Some(hi.saturating_sub(headroom).max(MIN_CWND))
    }

    /// Returns whether the loss or marks in a sample indicate that inflight is too high.
    pub(super) fn is_inflight_too_high(&self, sample: &Sample) -> bool {
        if sample.lost > 0 && sample.tx_in_flight > 0 && sample.lost > self.gains.loss_thresh.of(sample.tx_in_flight) {
            return true;
        }
        // `bbr_ecn_thresh`: half of the packets
        self.is_ecn_eligible && sample.delivered_ce > 0 && sample.delivered_ce > sample.delivered / 2
    }

    /// Returns the inflight at which the loss of a lost packet's flight crossed the threshold. With p = (lost_prev + x)
    /// / (inflight_prev + x), it solves p = thresh for x.
    fn inflight_hi_from_lost_packet(&self, sample: &Sample) -> u64 {
        let inflight_prev = sample.tx_in_flight.saturating_sub(1);
        let lost_prev = sample.lost.saturating_sub(1);
        let thresh = self.gains.loss_thresh.as_f64();
        let budget = (inflight_prev as f64 * thresh).ceil();
        let prefix = ((budget - lost_prev as f64) / (1.0 - thresh)).max(0.0);
        inflight_prev + prefix as u64
    }

    /// Processes the loss of a packet that was sent while probing.
    pub(super) fn handle_probe_loss(&mut self, mut sample: Sample, cx: &mut Context<'_>) {
        if self.is_inflight_too_high(&sample) {
            sample.tx_in_flight = self.inflight_hi_from_lost_packet(&sample);
            self.handle_inflight_too_high(&sample, cx);
        }
    }

    /// Reduces inflight_hi and starts DOWN, once per probe.
    fn handle_inflight_too_high(&mut self, sample: &Sample, cx: &mut Context<'_>) {
        self.probing.prev_too_high = true;
        self.probing.has_samples = false;
        if !sample.is_app_limited {
            let floor = self.gains.beta.complement().of(self.target_inflight());
            self.probing.inflight_hi = Some(sample.tx_in_flight.max(floor));
        }
        if matches!(self.mode, Mode::ProbeBw(Phase::Up(_))) {
            self.start_down(cx);
        }
    }

    /// Runs PROBE_BW's state machine, and adapts the upper bound in every mode after STARTUP.
    pub(super) fn update_cycle_phase(&mut self, ack: &Ack<'_>, sample: &Sample, cx: &mut Context<'_>) {
        if !self.full_bw.is_reached || self.adapt_upper_bound(ack, sample, cx) {
            return;
        }
        let Mode::ProbeBw(phase) = self.mode else { return };
        match phase {
            Phase::Cruise(timer) => {
                self.check_time_to_probe(timer, ack, cx.now);
            }
            Phase::Down(timer) => {
                if !self.check_time_to_probe(timer, ack, cx.now) && self.is_time_to_cruise(ack.prior_inflight) {
                    self.start_cruise(timer);
                }
            }
            Phase::Refill { slope_rounds } => {
                // One round of REFILL has been acknowledged: samples now reflect its inflight.
                if self.is_round_start {
                    self.probing.has_samples = true;
                    self.start_up(slope_rounds, ack, sample);
                }
            }
            Phase::Up(_) => self.check_end_of_up(ack, sample, cx),
        }
    }

    fn check_end_of_up(&mut self, ack: &Ack<'_>, sample: &Sample, cx: &mut Context<'_>) {
        // + 1: the packet that is about to be sent
        let is_at_hi = self.probing.inflight_hi.is_some_and(|hi| ack.prior_inflight + 1 >= hi);
        let is_risky = self.probing.prev_too_high && is_at_hi;
        if is_risky {
            self.probing.stopped_risky = true;
        } else if ack.sender.is_cwnd_limited && self.probing.inflight_hi.is_some_and(|hi| self.cwnd_pkts >= hi) {
            // Bandwidth stopped growing because of inflight_hi, not because of the path.
            self.full_bw.restart(sample.bandwidth);
            return;
        } else if !self.full_bw.is_now {
            return;
        }
        self.probing.prev_too_high = false;
        self.start_down(cx);
    }

    /// Determines how this ACK relates to the probe and adapts inflight_hi; returns whether a phase began.
    fn adapt_upper_bound(&mut self, ack: &Ack<'_>, sample: &Sample, cx: &mut Context<'_>) -> bool {
        let is_probe_bw = matches!(self.mode, Mode::ProbeBw(_));
        if self.probing.ack_phase == AckPhase::ProbeStarting && self.is_round_start {
            self.probing.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.probing.ack_phase == AckPhase::ProbeStopping && self.is_round_start {
            self.probing.has_samples = false;
            self.probing.ack_phase = AckPhase::Init;
            // samples of the cycle before the previous cycle expire now
            if is_probe_bw && !sample.is_app_limited {
                self.max_bw.advance();
            }
            // The last probe reached inflight_hi without loss, so probing continues from inflight_hi.
            if is_probe_bw && self.probing.stopped_risky && !self.probing.prev_too_high {
                self.start_refill(0, ack.sender.delivered);
                return true;
            }
        }
        if self.is_inflight_too_high(sample) {
            if self.probing.has_samples {
                self.handle_inflight_too_high(sample, cx);
            }
            return false;
        }
        // Random loss must not limit inflight: an inflight without excessive loss raises the bound in every phase.
        if let Some(hi) = &mut self.probing.inflight_hi {
            *hi = (*hi).max(sample.tx_in_flight);
            if matches!(self.mode, Mode::ProbeBw(Phase::Up(_))) {
                self.probe_inflight_hi_upward(ack);
            }
        }
        false
    }

    fn probe_inflight_hi_upward(&mut self, ack: &Ack<'_>) {
        let (cwnd, is_round_start) = (self.cwnd_pkts, self.is_round_start);
        let Mode::ProbeBw(Phase::Up(slope)) = &mut self.mode else { return };
        let Some(hi) = &mut self.probing.inflight_hi else { return };
        if !ack.sender.is_cwnd_limited || cwnd < *hi {
            return; // an unused bound does not grow
        }
        slope.acks += ack.acked;
        *hi += slope.acks / slope.acks_per_increment;
        slope.acks %= slope.acks_per_increment;
        if is_round_start {
            slope.raise(cwnd);
        }
    }

    /// Starts to probe if a probe is due; returns whether it started.
    fn check_time_to_probe(&mut self, timer: ProbeTimer, ack: &Ack<'_>, now: Time) -> bool {
        let signals = &self.signals;
        let have_marks_ceased = self.is_ecn_eligible
            && signals.ecn_in_cycle
            && !signals.loss_in_cycle
            && ack.sender.ca_state == CaState::Open;
        if have_marks_ceased {
            // start with increments of half of inflight_hi (`bbr_ecn_reprobe_gain`)
            let half = (self.probing.inflight_hi.unwrap_or(1 << MAX_SLOPE_ROUNDS) / 2).max(1);
            self.start_refill(half.ilog2().min(MAX_SLOPE_ROUNDS), ack.sender.delivered);
            return true;
        }
        let is_reno_time = timer.rounds >= self.params.probe_max_rounds.min(self.target_inflight());
        let is_time = is_reno_time || now.since(timer.since) > timer.wait;
        if is_time {
            self.start_refill(0, ack.sender.delivered);
        }
        is_time
    }

    fn is_time_to_cruise(&self, inflight: u64) -> bool {
        self.inflight_with_headroom().is_none_or(|room| inflight <= room)
            && inflight <= self.inflight(self.max_bw.get(), Gain::UNIT)
    }

    fn start_refill(&mut self, slope_rounds: u32, delivered: u64) {
        self.short_term = super::ShortTerm::default();
        self.probing.stopped_risky = false;
        self.probing.ack_phase = AckPhase::Refilling;
        self.next_round_delivered = delivered;
        self.mode = Mode::ProbeBw(Phase::Refill { slope_rounds });
    }

    fn start_up(&mut self, slope_rounds: u32, ack: &Ack<'_>, sample: &Sample) {
        self.probing.ack_phase = AckPhase::ProbeStarting;
        self.next_round_delivered = ack.sender.delivered;
        self.full_bw.restart(sample.bandwidth);
        self.mode = Mode::ProbeBw(Phase::Up(Slope::start(slope_rounds, self.cwnd_pkts)));
    }

    pub(super) fn start_down(&mut self, cx: &mut Context<'_>) {
        self.signals.reset();
        self.probing.ack_phase = AckPhase::ProbeStopping;
        self.next_round_delivered = self.delivered;
        let random = match self.params.probe_wait_random.as_nanos() {
            0 => Dur::ZERO,
            n => Dur::from_nanos(cx.rng.random_range(0..n)),
        };
        let timer = ProbeTimer {
            since: cx.now,
            wait: self.params.probe_wait + random,
            rounds: cx.rng.random_range(0..RANDOM_ROUNDS),
        };
        self.mode = Mode::ProbeBw(Phase::Down(timer));
    }

    fn start_cruise(&mut self, timer: ProbeTimer) {
        if let (Some(lo), Some(hi)) = (&mut self.short_term.inflight_lo, self.probing.inflight_hi) {
            *lo = (*lo).min(hi);
        }
        self.mode = Mode::ProbeBw(Phase::Cruise(timer));
    }

    /// After PROBE_RTT inflight is small: starts CRUISE, and schedules the next probe.
    pub(super) fn start_cruise_after_probe_rtt(&mut self, cx: &mut Context<'_>) {
        self.start_down(cx);
        if let Mode::ProbeBw(Phase::Down(timer)) = self.mode {
            self.start_cruise(timer);
        }
    }

    /// Counts a round: the wait for the next probe is one round shorter.
    pub(super) fn count_round(&mut self) {
        if let Mode::ProbeBw(Phase::Down(timer) | Phase::Cruise(timer)) = &mut self.mode {
            timer.rounds += 1;
        }
    }

    /// Handles excessive loss or marks in STARTUP: the pipe is full at the inflight that was delivered.
    pub(super) fn handle_queue_too_high_in_startup(&mut self) {
        self.full_bw.is_reached = true;
        let bdp = self.inflight(self.max_bw.get(), Gain::UNIT);
        self.probing.inflight_hi = Some(bdp.max(self.signals.inflight_latest));
    }

    /// Returns the maximum bandwidth sample, limited by the current short-term bounds.
    pub(super) fn bandwidth(&self) -> Bandwidth {
        let max = self.max_bw.get();
        self.short_term.bw_lo.map_or(max, |lo| lo.min(max))
    }
}
