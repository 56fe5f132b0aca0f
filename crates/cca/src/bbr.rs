//! BBR, version 1.
//!
//! Model, on every ACK:
//!
//! - bw = windowed max over 10 packet-timed rounds of delivery-rate samples; app-limited samples count only if they are
//!   larger;
//! - min_rtt = windowed min over 10 s;
//! - pacing_rate = pacing_gain x 0.99 bw;
//! - cwnd grows by the bytes acknowledged, up to max(ceil(cwnd_gain bw min_rtt) + extra_acked + alpha, 4), where alpha
//!   is the send quanta and extra_acked the excess over bw that aggregated ACKs deliver at once.
//!
//! The equilibrium of cwnd-limited flows is cwnd_i = 2 C R / n + alpha, RTT = 2 R + n alpha / C: only alpha determines
//! the shares.
//!
//! ```text
//!   STARTUP    pacing gain 2.885 = 2/ln 2, cwnd gain the same
//!      |       until bw grew by less than 25 % in three rounds
//!      v
//!    DRAIN     pacing gain 1/2.885
//!      |       until inflight <= BDP
//!      v
//!   PROBE_BW   pacing gain 1.25, 0.75, 1, 1, 1, 1, 1, 1, about min_rtt each, entered at random but not at 0.75;
//!      |  ^    cwnd gain 2
//!      v  |    after 10 s without a smaller RTT
//!   PROBE_RTT  cwnd 4 for 200 ms and a round; then back to PROBE_BW, or to STARTUP if the pipe was never full
//! ```
//!
//! Loss does not change the rate: the first round of recovery sends one packet for each packet delivered, and cwnd is
//! restored afterwards. Two lossy intervals with equal bandwidth indicate a policer; its rate is then used for 48
//! rounds. If the scenario grants an oracle, min_rtt is the true propagation delay and BBR never enters PROBE_RTT.
//!
//! **Source**: Cardwell et al., ACM Queue 14(5), 2016; facts of the kernel's `tcp_bbr.c` (version 1); Arun et al.,
//! SIGCOMM 2022, §5.2 for alpha.
//!
//! **Deviations**: alpha is a constant number of packets (`quanta_pkts`), so that the fixed point can be tested; with
//! `send_quanta` it is the kernel's, pacing_rate x 3 ms. Time is in ns, except for the policer's intervals; bandwidth is
//! in packets/ns with 34 fraction bits. Packets that wait for pacing are not in flight here, so inflight is used as
//! measured, not at the next departure time; while probing, the quantum that is about to be sent is added, as in the
//! kernel. A restart after idle is detected at the ACK that drains the pipe, with the same effect. Once min_rtt has
//! expired, RTT samples of delayed ACKs are accepted too. Marks are ignored, as in Linux.

mod aggregation;
mod bandwidth;
mod params;
mod policer;
mod probe_rtt;
mod running_max;

pub use params::Params;

pub(crate) use aggregation::Aggregation;
pub(crate) use bandwidth::{Bandwidth, Gain, Pacer};
pub(crate) use probe_rtt::{ProbeRtt, Step, cwnd_to_restore};

use crate::algorithm::{Algorithm, BuildError, Row, Start};
use crate::{Ack, CaState, Cause, Context, Controller, Interests, Loss, Sender, Undo};
use fairweir_units::{Bytes, Dur, Rate, Time};
use policer::{Evidence, Policer};
use rand::RngExt;
use running_max::RunningMax;

/// `sk_pacing_shift` is 10: a quantum is 1/1024 s of sending.
const QUANTA_PER_SEC: u64 = 1024;
/// Largest quantum, packets (`bbr_tso_segs_goal`).
const MAX_QUANTUM_PKTS: u64 = 127;
/// Largest quantum, bytes: 64 KiB less the room for headers, `GSO_LEGACY_MAX_SIZE - 1 - MAX_TCP_HEADER`.
const MAX_QUANTUM_BYTES: u64 = 65_215;
/// At pacing rates below this, a quantum is one packet: 1.2 Mbps in bytes per second (`bbr_min_tso_rate`).
const SLOW_PACING_RATE: u64 = 150_000;
/// Minimum window, packets: two ACKs that each acknowledge two packets keep the pipe busy (`bbr_cwnd_min_target`).
pub(crate) const MIN_CWND: u64 = 4;

/// The pipe is full if, for [`FULL_BW_ROUNDS`], bandwidth has not grown by this factor (`bbr_full_bw_thresh`).
pub(crate) const FULL_BW_THRESH: f64 = 1.25;

/// Number of rounds without growth after which the pipe is full (`bbr_full_bw_cnt`).
pub(crate) const FULL_BW_ROUNDS: u32 = 3;

/// RTT assumed for the pacing rate before the first RTT sample.
pub(crate) const NOMINAL_RTT: Dur = Dur::from_millis(1);

/// Length of each window of the ACK-aggregation maximum, rounds (`bbr_extra_acked_win_rtts`).
pub(crate) const AGGREGATION_ROUNDS: u32 = 5;

/// Until this many packets are delivered, cwnd grows without a target (`TCP_INIT_CWND`).
const INITIAL_DELIVERED: u64 = 10;

/// Phases of the gain cycle: one probes, one drains, six cruise.
const CYCLE_LEN: u32 = 8;

/// The initial phase is drawn at random from all phases except the draining phase.
const CYCLE_RAND: u32 = 7;

impl Row for Bbr {
    const NAME: &'static str = "bbr";
    const SUMMARY: &'static str =
        "paces at the largest delivery rate, bounds inflight by twice the bandwidth-delay product (version 1)";
    type Params = Params;

    fn build(start: &Start, params: Params) -> Result<Bbr, BuildError> {
        params.check()?;
        Ok(Bbr::new(start, params))
    }
}

/// BBR version 1, as a row of the list of controllers.
pub const ALGORITHM: Algorithm = Algorithm::of::<Bbr>();

/// State of BBR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw {
        /// 0: the probing phase; 1: the draining phase; 2 to 7: cruising.
        phase: u32,
        since: Time,
    },
    ProbeRtt(ProbeRtt),
}

/// Gains from the parameters, in 256ths.
#[derive(Clone, Copy, Debug)]
struct Gains {
    startup: Gain,
    drain: Gain,
    probe_up: Gain,
    probe_down: Gain,
    cruise: Gain,
    cwnd: Gain,
}

/// BBR, version 1.
#[derive(Clone, Debug)]
pub struct Bbr {
    params: Params,
    gains: Gains,
    pacer: Pacer,
    mss: u64,

    mode: Mode,
    cwnd_pkts: u64,
    pacing_rate: Rate,
    /// Upper bound for the growth of cwnd, packets. Like the pacing rate, it is computed from the model and the mode.
    target_pkts: u64,
    /// Whether the model or the mode has changed since `target_pkts` was computed.
    is_target_stale: bool,

    max_bw: RunningMax,
    min_rtt: Dur,
    /// Whether the scenario provides min_rtt; then there are no RTT samples and no PROBE_RTT.
    has_oracle: bool,
    min_rtt_stamp: Time,
    next_round_delivered: u64,
    is_round_start: bool,

    /// Bandwidth when it last grew by a quarter, and number of rounds since then.
    full_bw: Bandwidth,
    full_bw_rounds: u32,
    is_pipe_full: bool,

    aggregation: Aggregation,
    policer: Policer,

    /// Samples of packets sent in this range of `delivered` count as application-limited, because they were sent in
    /// PROBE_RTT.
    probe_rtt_span: (u64, u64),
    /// cwnd before recovery or PROBE_RTT reduced it.
    prior_cwnd: u64,
    prev_ca_state: CaState,
    is_conserving_packets: bool,
    has_seen_rtt: bool,
    /// Time at which the flow became idle (nothing in flight), if it is idle.
    idle_since: Option<Time>,
    is_idle_restart: bool,
}

impl Bbr {
    /// Creates the state of a new connection; the parameters are valid.
    pub fn new(start: &Start, params: Params) -> Bbr {
        let cwnd_pkts = start.initial_cwnd.packets(start.mss).max(1);
        let pacer = Pacer::new(start.mss.0, params.pacing_margin_percent);
        let gains = Gains {
            startup: Gain::from_f64(params.startup_gain),
            drain: Gain::from_f64(1.0 / params.startup_gain),
            probe_up: Gain::from_f64(params.probe_up_gain),
            probe_down: Gain::from_f64(params.probe_down_gain),
            cruise: Gain::from_f64(params.cruise_gain),
            cwnd: Gain::from_f64(params.cwnd_gain),
        };
        Bbr {
            gains,
            pacer,
            mss: start.mss.0,
            mode: Mode::Startup,
            cwnd_pkts,
            pacing_rate: pacer.rate(Bandwidth::of_sample(cwnd_pkts, NOMINAL_RTT), gains.startup),
            target_pkts: cwnd_pkts,
            is_target_stale: true,
            max_bw: RunningMax::new(params.bw_window_rounds),
            min_rtt: start.oracle_rtprop.unwrap_or(Dur::MAX),
            has_oracle: start.oracle_rtprop.is_some(),
            min_rtt_stamp: Time::ZERO,
            next_round_delivered: 0,
            is_round_start: false,
            full_bw: Bandwidth::ZERO,
            full_bw_rounds: 0,
            is_pipe_full: false,
            aggregation: Aggregation::new(),
            policer: Policer::new(),
            probe_rtt_span: (u64::MAX, 0),
            prior_cwnd: 0,
            prev_ca_state: CaState::Open,
            is_conserving_packets: false,
            has_seen_rtt: false,
            idle_since: None,
            is_idle_restart: false,
            params,
        }
    }

    fn set_mode(&mut self, mode: Mode) {
        self.mode = mode;
        self.is_target_stale = true;
    }

    /// Returns the estimate of the path's bandwidth.
    #[inline]
    fn bandwidth(&self) -> Bandwidth {
        self.policer.bandwidth().unwrap_or(self.max_bw.get())
    }

    #[inline]
    fn pacing_gain(&self) -> Gain {
        match self.mode {
            Mode::Startup => self.gains.startup,
            Mode::Drain => self.gains.drain,
            Mode::ProbeBw { .. } if self.policer.bandwidth().is_some() => Gain::UNIT,
            Mode::ProbeBw { phase: 0, .. } => self.gains.probe_up,
            Mode::ProbeBw { phase: 1, .. } => self.gains.probe_down,
            Mode::ProbeBw { .. } => self.gains.cruise,
            Mode::ProbeRtt(_) => Gain::UNIT,
        }
    }

    #[inline]
    fn cwnd_gain(&self) -> Gain {
        match self.mode {
            Mode::Startup | Mode::Drain => self.gains.startup,
            Mode::ProbeBw { .. } => self.gains.cwnd,
            Mode::ProbeRtt(_) => Gain::UNIT,
        }
    }

    /// Returns the inflight that `gain` allows, packets, before quanta are added.
    #[inline]
    fn bdp(&self, bandwidth: Bandwidth, gain: Gain) -> u64 {
        if self.min_rtt == Dur::MAX { INITIAL_DELIVERED } else { bandwidth.bdp(self.min_rtt, gain) }
    }

    /// Returns alpha, packets.
    #[inline]
    fn quanta(&self) -> u64 {
        if self.params.send_quanta { self.send_quanta() } else { self.params.quanta_pkts }
    }

    /// Adds the quanta to an inflight, as `bbr_quantization_budget` and `bbr_tso_segs_goal` do.
    #[inline(never)]
    fn send_quanta(&self) -> u64 {
        let rate = self.pacing_rate.bytes_per_sec();
        let least = if rate < SLOW_PACING_RATE { 1 } else { 2 };
        let quantum = ((rate / QUANTA_PER_SEC).min(MAX_QUANTUM_BYTES) / self.mss).clamp(least, MAX_QUANTUM_PKTS);
        (3 * quantum).max(self.params.quanta_pkts)
    }

    /// Returns the packets that are sent at once: a third of alpha, at least one.
    #[inline]
    fn quantum(&self) -> u64 {
        (self.quanta() / 3).max(1)
    }

    /// Adds alpha, so that the sending and receiving hosts are kept busy.
    #[inline]
    fn with_quanta(&self, pkts: u64) -> u64 {
        let quanta = self.quanta();
        let mut pkts = pkts + quanta;
        if self.params.round_to_even {
            pkts = (pkts + 1) & !1;
        }
        // With a small BDP, probing must raise inflight above the quanta.
        if quanta > 0 && matches!(self.mode, Mode::ProbeBw { phase: 0, .. }) {
            pkts += 2;
        }
        pkts
    }

    fn inflight_target(&self, gain: Gain) -> u64 {
        self.with_quanta(self.bdp(self.max_bw.get(), gain))
    }

    #[inline]
    fn update_bandwidth(&mut self, ack: &Ack<'_>, cx: &mut Context<'_>) {
        self.is_round_start = false;
        let rate = &ack.rate;
        if rate.interval == Dur::ZERO || rate.delivered == 0 {
            return;
        }
        if rate.prior_delivered >= self.next_round_delivered {
            self.start_round(ack);
        }
        let is_app_limited = self.is_app_limited(ack);
        if self.params.policer_detection {
            let is_mere_time = !self.is_round_start && !is_app_limited && self.policer.is_only_counting();
            if ack.lost > 0 || (self.policer.is_active() && !is_mere_time) {
                self.look_for_policer(ack.lost > 0, is_app_limited, ack.sender, cx);
            }
        }
        if !self.max_bw.is_no_news(rate.delivered, rate.interval) {
            let sample = Bandwidth::of_sample(rate.delivered, rate.interval);
            if !is_app_limited || sample >= self.max_bw.get() {
                self.is_target_stale |= self.max_bw.update(sample);
            }
        }
        if self.params.ack_aggregation && ack.acked > 0 {
            self.is_target_stale |= self.aggregation.update(cx.now, ack.acked, self.bandwidth(), self.cwnd_pkts);
        }
    }

    #[cold]
    fn start_round(&mut self, ack: &Ack<'_>) {
        self.next_round_delivered = ack.sender.delivered;
        self.is_round_start = true;
        self.is_conserving_packets = false;
        self.max_bw.advance();
        self.aggregation.start_round(AGGREGATION_ROUNDS);
        self.is_target_stale = true;
    }

    #[inline(never)]
    fn look_for_policer(&mut self, has_losses: bool, is_app_limited: bool, sender: &Sender, cx: &mut Context<'_>) {
        let before = self.policer.bandwidth();
        let is_over = self.policer.update(&Evidence {
            now: cx.now,
            has_losses,
            is_app_limited,
            is_round_start: self.is_round_start,
            is_probing_bw: matches!(self.mode, Mode::ProbeBw { .. }),
            sender,
        });
        self.is_target_stale |= self.policer.bandwidth() != before;
        if is_over {
            self.enter_probe_bw(cx);
        }
    }

    #[inline]
    fn is_app_limited(&self, ack: &Ack<'_>) -> bool {
        let (first, last) = self.probe_rtt_span;
        ack.rate.is_app_limited || (first..=last).contains(&ack.rate.prior_delivered)
    }

    /// Ends a phase of the gain cycle when its time is over or its inflight is reached.
    #[inline]
    fn update_cycle_phase(&mut self, ack: &Ack<'_>, now: Time) {
        let Mode::ProbeBw { phase, since } = self.mode else { return };
        let is_full_length = now.since(since) > self.min_rtt;
        let is_policed = self.policer.bandwidth().is_some();
        let is_over = match phase {
            // losses: the buffer cannot hold pacing_gain x BDP; the quantum that is about to be sent counts
            // (`bbr_packets_in_net_at_edt`)
            0 if !is_policed => {
                let inflight = ack.prior_inflight + self.quantum();
                is_full_length && (ack.lost > 0 || inflight >= self.inflight_target(self.gains.probe_up))
            }
            1 if !is_policed => is_full_length || ack.prior_inflight <= self.inflight_target(Gain::UNIT),
            _ => is_full_length,
        };
        if is_over {
            self.set_mode(Mode::ProbeBw { phase: (phase + 1) % CYCLE_LEN, since: now });
        }
    }

    fn enter_probe_bw(&mut self, cx: &mut Context<'_>) {
        let phase = match self.params.first_phase {
            Some(phase) => phase,
            None => (CYCLE_LEN - cx.rng.random_range(0..CYCLE_RAND)) % CYCLE_LEN,
        };
        self.set_mode(Mode::ProbeBw { phase, since: cx.now });
    }

    /// Handles STARTUP and DRAIN, including STARTUP and DRAIN after PROBE_RTT.
    #[inline(never)]
    fn update_startup(&mut self, ack: &Ack<'_>, cx: &mut Context<'_>) {
        self.check_full_pipe(ack);
        if self.mode == Mode::Startup && self.is_pipe_full {
            self.set_mode(Mode::Drain);
        }
        if self.mode == Mode::Drain && ack.sender.inflight() <= self.inflight_target(Gain::UNIT) {
            self.enter_probe_bw(cx);
        }
        if !self.has_seen_rtt && ack.sender.srtt > Dur::ZERO {
            self.set_first_pacing_rate(ack.sender.srtt);
        }
    }

    /// `bbr_init_pacing_rate_from_rtt`, once `srtt` is known.
    fn set_first_pacing_rate(&mut self, srtt: Dur) {
        self.has_seen_rtt = true;
        let bandwidth = Bandwidth::of_sample(self.cwnd_pkts, srtt);
        self.pacing_rate = self.pacer.rate(bandwidth, self.gains.startup);
        self.is_target_stale = true;
    }

    /// Checks whether bandwidth has stopped growing.
    fn check_full_pipe(&mut self, ack: &Ack<'_>) {
        if self.is_pipe_full || !self.is_round_start || self.is_app_limited(ack) {
            return;
        }
        if self.max_bw.get() >= self.full_bw.scaled(Gain::from_f64(FULL_BW_THRESH)) {
            self.full_bw = self.max_bw.get();
            self.full_bw_rounds = 0;
            return;
        }
        self.full_bw_rounds += 1;
        self.is_pipe_full = self.full_bw_rounds >= FULL_BW_ROUNDS;
    }

    /// Computes the pacing rate and cwnd's target from the model and the mode.
    #[inline(never)]
    fn update_targets(&mut self) {
        self.is_target_stale = false;
        let bandwidth = self.bandwidth();
        let rate = self.pacer.rate(bandwidth, self.pacing_gain());
        if self.is_pipe_full || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
        let has_allowance = self.is_pipe_full && self.params.ack_aggregation;
        let allowance = if has_allowance { self.aggregation.allowance(bandwidth) } else { 0 };
        self.target_pkts = self.with_quanta(self.bdp(bandwidth, self.cwnd_gain()) + allowance);
    }

    #[inline]
    fn set_cwnd(&mut self, ack: &Ack<'_>) {
        if ack.acked > 0 && !self.recover_or_restore(ack) {
            if self.is_pipe_full {
                self.cwnd_pkts = (self.cwnd_pkts + ack.acked).min(self.target_pkts);
            } else if self.cwnd_pkts < self.target_pkts || ack.sender.delivered < INITIAL_DELIVERED {
                self.cwnd_pkts += ack.acked;
            }
            self.cwnd_pkts = self.cwnd_pkts.max(MIN_CWND);
        }
        if matches!(self.mode, Mode::ProbeRtt(_)) {
            self.cwnd_pkts = self.cwnd_pkts.min(MIN_CWND);
        }
    }

    /// Applies packet conservation in the first round of recovery and restores cwnd at its end; returns whether this
    /// determined cwnd.
    #[inline]
    fn recover_or_restore(&mut self, ack: &Ack<'_>) -> bool {
        let is_quiet = ack.lost == 0
            && self.prev_ca_state == CaState::Open
            && ack.sender.ca_state == CaState::Open
            && !self.is_conserving_packets;
        !is_quiet && self.recover(ack)
    }

    #[inline(never)]
    fn recover(&mut self, ack: &Ack<'_>) -> bool {
        let (prev, state) = (self.prev_ca_state, ack.sender.ca_state);
        let is_repairing = |s| matches!(s, CaState::Recovery | CaState::Loss);
        self.cwnd_pkts = self.cwnd_pkts.saturating_sub(ack.lost).max(1);
        if state == CaState::Recovery && prev != CaState::Recovery {
            self.is_conserving_packets = true;
            self.next_round_delivered = ack.sender.delivered;
            self.cwnd_pkts = ack.sender.inflight() + ack.acked;
        } else if is_repairing(prev) && !is_repairing(state) {
            self.cwnd_pkts = self.cwnd_pkts.max(self.prior_cwnd);
            self.is_conserving_packets = false;
        }
        self.prev_ca_state = state;
        if self.is_conserving_packets {
            self.cwnd_pkts = self.cwnd_pkts.max(ack.sender.inflight() + ack.acked);
        }
        self.is_conserving_packets
    }

    /// Restarts the flow after idle: packets have been sent since the pipe was empty.
    #[cold]
    fn restart_from_idle(&mut self, since: Time, ack: &Ack<'_>, cx: &mut Context<'_>) {
        self.idle_since = None;
        if ack.newest_sent < since {
            return;
        }
        self.is_idle_restart = true;
        self.aggregation.restart(ack.newest_sent);
        if let Mode::ProbeRtt(probe) = self.mode
            && probe.is_over_at(ack.newest_sent)
        {
            self.leave_probe_rtt(cx);
        }
    }
}

impl Controller for Bbr {
    fn on_established(&mut self, sender: &Sender, cx: &mut Context<'_>) {
        self.set_first_pacing_rate(sender.srtt);
        if !self.has_oracle {
            self.min_rtt = sender.min_rtt;
            self.min_rtt_stamp = cx.now;
        }
    }

    fn on_ack(&mut self, ack: &Ack<'_>, cx: &mut Context<'_>) {
        if let Some(since) = self.idle_since {
            self.restart_from_idle(since, ack, cx);
        }
        self.update_bandwidth(ack, cx);
        self.update_cycle_phase(ack, cx.now);
        if !matches!(self.mode, Mode::ProbeBw { .. }) {
            self.update_startup(ack, cx);
        }
        self.update_min_rtt(ack, cx);
        if self.is_target_stale {
            self.update_targets();
        }
        self.set_cwnd(ack);
        if ack.sender.packets_out() == 0 && ack.sender.ca_state == CaState::Open {
            self.idle_since = Some(cx.now);
            if matches!(self.mode, Mode::ProbeBw { .. }) {
                // after idle, a pacing rate equal to the path's bandwidth is sufficient
                self.pacing_rate = self.pacer.rate(self.bandwidth(), Gain::UNIT);
                self.is_target_stale = true;
            }
        }
    }

    fn on_loss(&mut self, loss: &Loss<'_>, cx: &mut Context<'_>) {
        self.save_cwnd();
        if loss.cause != Cause::Timeout {
            return;
        }
        self.prev_ca_state = CaState::Loss;
        self.full_bw = Bandwidth::ZERO;
        self.cwnd_pkts = loss.sender.inflight() + 1;
        if self.params.policer_detection {
            self.is_round_start = true; // a timeout ends a round
            self.look_for_policer(true, false, loss.sender, cx);
        }
    }

    /// `bbr_undo_cwnd`; the window returns with the state of recovery.
    fn on_undo(&mut self, _undo: &Undo<'_>, _cx: &mut Context<'_>) {
        self.full_bw = Bandwidth::ZERO;
        self.full_bw_rounds = 0;
        self.policer = Policer::new();
        self.is_target_stale = true;
    }

    #[inline]
    fn cwnd(&self) -> Bytes {
        Bytes(self.cwnd_pkts.saturating_mul(self.mss))
    }

    #[inline]
    fn pacing_rate(&self) -> Option<Rate> {
        Some(self.pacing_rate)
    }

    fn interests(&self) -> Interests {
        Interests { rate_sample: true, own_recovery: true, own_ecn: true, ..Interests::default() }
    }

    fn telemetry(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        let mode = match self.mode {
            Mode::Startup => 0.0,
            Mode::Drain => 1.0,
            Mode::ProbeBw { .. } => 2.0,
            Mode::ProbeRtt(_) => 3.0,
        };
        emit("mode", mode);
        emit("pacing_gain", self.pacing_gain().as_f64());
        emit("bw_pkts_per_s", self.bandwidth().packets_per_sec());
        emit("min_rtt_ms", self.min_rtt.as_millis_f64());
        emit("is_policed", f64::from(u8::from(self.policer.bandwidth().is_some())));
    }
}

#[cfg(test)]
mod tests;
