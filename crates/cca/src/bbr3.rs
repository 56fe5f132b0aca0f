//! BBR, version 3.
//!
//! Model, on every ACK:
//!
//! - max_bw = maximum delivery-rate sample of the last two probing cycles; bw = min(max_bw, bw_lo);
//! - min_rtt = windowed min over 10 s, refreshed by PROBE_RTT every 5 s;
//! - pacing_rate = pacing_gain x 0.99 bw;
//! - cwnd = max(cwnd_gain bw min_rtt + extra_acked, quanta, 4), at most inflight_lo, and at most inflight_hi, or 85 % of
//!   it while cruising and in PROBE_RTT;
//! - a round with loss outside of a probe: bw_lo and inflight_lo are multiplied by 0.7, but not set below the round's
//!   delivery rate and volume;
//! - more than 2 % of a flight is lost while probing: inflight_hi = that flight, and the probe ends; while probing
//!   without such loss inflight_hi rises, twice as fast each round.
//!
//! ```text
//!   STARTUP     pacing gain 2.77, cwnd gain 2, until bandwidth stopped growing (25 % in three rounds),
//!      |        or six ACKs of a recovery round lost more than 2 %, or half of the packets of two rounds were marked
//!      v
//!    DRAIN      pacing gain 1/2.885 until inflight <= BDP
//!      v
//!   PROBE_BW    +-> DOWN 0.91 --> CRUISE 1 --> REFILL 1 --> UP 1.25, cwnd gain 2.25 --+
//!      |  ^     |   queue empty   2 to 3 s, or a round       bandwidth stopped        |
//!      |  |     |                 per packet of BDP          growing, loss, marks     |
//!      v  |     +--------------------------------------------------------------------+
//!   PROBE_RTT   cwnd half a BDP for 200 ms and a round, after 5 s without a smaller RTT
//! ```
//!
//! If the scenario grants an oracle, min_rtt is the true propagation delay and BBR never enters PROBE_RTT.
//!
//! **Source**: draft-ietf-ccwg-bbr-01; facts of `tcp_bbr.c` of google/bbr, branch v3.
//!
//! **Deviations**: those of `bbr` on units, inflight at departure time, idle restart and delayed ACKs. cwnd is at least
//! a constant `quanta_pkts`, not three times a send quantum that depends on rate and RTT. There is no undo of spurious
//! losses and no signal from tail-loss probes: the transport has neither. A lost packet counts as application-limited
//! if the last sample was. No fast path, no load balancing by flow label. Marks are used wherever min_rtt is short
//! enough (`ecn_max_rtt`), without the kernel's per-route opt-in.

mod cycle;
mod flight;
mod full_bw;
mod params;
mod probe_rtt;
mod signals;
mod windowed_max;

pub use params::Params;

use crate::algorithm::{Algorithm, BuildError, Row, Start};
use crate::bbr::{AGGREGATION_ROUNDS, Aggregation, Bandwidth, Gain, MIN_CWND, NOMINAL_RTT, Pacer, ProbeRtt};
use crate::{Ack, CaState, Cause, Context, Controller, Interests, Loss, LostPacket, Sender, Sent};
use cycle::{AckPhase, Phase, Probing};
use fairweir_units::{Bytes, Dur, Rate, Time};
use flight::{AtSend, Flight};
use full_bw::FullBw;
use signals::{EcnAlpha, ShortTerm, Signals};
use windowed_max::WindowedMax;

/// DRAIN's pacing gain (`bbr_drain_gain`).
const DRAIN_GAIN: f64 = 1000.0 / 2885.0;
/// Pacing gain of PROBE_BW's UP phase.
const UP_GAIN: f64 = 1.25;
/// Pacing gain of PROBE_BW's DOWN phase.
const DOWN_GAIN: f64 = 0.91;
/// Increase of the cwnd gain in the UP phase.
const UP_CWND_GAIN: f64 = 0.25;
/// Number of ACKs with losses in a round that can end STARTUP (`bbr_full_loss_cnt`).
const STARTUP_LOSS_EVENTS: u32 = 6;
/// Number of rounds with at least half of the packets marked that end STARTUP (`bbr_full_ecn_cnt`).
const STARTUP_ECN_ROUNDS: u32 = 2;
/// Fraction of marked packets that is excessive: half, in 256ths (`bbr_ecn_thresh`).
const ECN_THRESH_256THS: u64 = 128;

impl Row for Bbr3 {
    const NAME: &'static str = "bbr3";
    const SUMMARY: &'static str = "BBR that bounds inflight where probing loses more than 2 % (version 3)";
    type Params = Params;

    fn build(start: &Start, params: Params) -> Result<Bbr3, BuildError> {
        params.check()?;
        Ok(Bbr3::new(start, params))
    }
}

/// BBR version 3, as a row of the list of controllers.
pub const ALGORITHM: Algorithm = Algorithm::of::<Bbr3>();

/// State of BBR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw(Phase),
    ProbeRtt(ProbeRtt),
}

/// Factors from the parameters, in 256ths.
#[derive(Clone, Copy, Debug)]
struct Gains {
    startup_pacing: Gain,
    startup_cwnd: Gain,
    drain: Gain,
    up: Gain,
    down: Gain,
    cwnd: Gain,
    up_cwnd: Gain,
    probe_rtt_cwnd: Gain,
    beta: Gain,
    headroom: Gain,
    loss_thresh: Gain,
}

/// Sample from an ACK or a lost packet: data about the flight in which the packet was sent.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    /// Bandwidth sample; zero if there is none.
    bandwidth: Bandwidth,
    /// Packets delivered since the packet was sent.
    delivered: u64,
    /// Marked packets among those delivered since the packet was sent.
    delivered_ce: u64,
    /// Packets lost since the packet was sent.
    lost: u64,
    /// Packets in flight when the packet was sent; 0 if unknown.
    tx_in_flight: u64,
    is_app_limited: bool,
}

/// BBR, version 3.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    params: Params,
    gains: Gains,
    pacer: Pacer,
    mss: u64,
    initial_cwnd: u64,

    mode: Mode,
    cwnd_pkts: u64,
    pacing_rate: Rate,

    /// Maximum over this probing cycle and the previous one.
    max_bw: WindowedMax,
    min_rtt: Dur,
    /// Whether the scenario provides min_rtt; then there are no RTT samples and no PROBE_RTT.
    has_oracle: bool,
    min_rtt_stamp: Time,
    probe_rtt_min: Dur,
    probe_rtt_min_stamp: Time,
    next_round_delivered: u64,
    is_round_start: bool,

    full_bw: FullBw,
    signals: Signals,
    short_term: ShortTerm,
    probing: Probing,
    aggregation: Aggregation,
    ecn_alpha: EcnAlpha,
    is_ecn_eligible: bool,
    startup_ecn_rounds: u32,

    flight: Flight,
    delivered: u64,
    lost: u64,
    is_app_limited: bool,
    /// Samples of packets sent in this range of `delivered` count as application-limited, because they were sent in
    /// PROBE_RTT.
    probe_rtt_span: (u64, u64),
    /// cwnd before a timeout or PROBE_RTT reduced it.
    prior_cwnd: u64,
    prev_ca_state: CaState,
    has_seen_rtt: bool,
    /// Time at which the flow became idle (nothing in flight), if it is idle.
    idle_since: Option<Time>,
    is_idle_restart: bool,
}

impl Bbr3 {
    /// Creates the state of a new connection; the parameters are valid.
    pub fn new(start: &Start, params: Params) -> Bbr3 {
        let cwnd_pkts = start.initial_cwnd.packets(start.mss).max(1);
        let pacer = Pacer::new(start.mss.0, params.pacing_margin_percent);
        let gains = Gains {
            startup_pacing: Gain::from_f64(params.startup_pacing_gain),
            startup_cwnd: Gain::from_f64(params.startup_cwnd_gain),
            drain: Gain::from_f64(DRAIN_GAIN),
            up: Gain::from_f64(UP_GAIN),
            down: Gain::from_f64(DOWN_GAIN),
            cwnd: Gain::from_f64(params.cwnd_gain),
            up_cwnd: Gain::from_f64(params.cwnd_gain + UP_CWND_GAIN),
            probe_rtt_cwnd: Gain::from_f64(params.probe_rtt_cwnd_gain),
            beta: Gain::from_f64(params.beta),
            headroom: Gain::from_f64(params.headroom),
            loss_thresh: Gain::from_f64(params.loss_thresh),
        };
        Bbr3 {
            gains,
            pacer,
            mss: start.mss.0,
            initial_cwnd: cwnd_pkts,
            mode: Mode::Startup,
            cwnd_pkts,
            pacing_rate: pacer.rate(Bandwidth::of_sample(cwnd_pkts, NOMINAL_RTT), gains.startup_pacing),
            max_bw: WindowedMax::new(1),
            min_rtt: start.oracle_rtprop.unwrap_or(Dur::MAX),
            has_oracle: start.oracle_rtprop.is_some(),
            min_rtt_stamp: Time::ZERO,
            probe_rtt_min: Dur::MAX,
            probe_rtt_min_stamp: Time::ZERO,
            next_round_delivered: 0,
            is_round_start: false,
            full_bw: FullBw::default(),
            signals: Signals::new(),
            short_term: ShortTerm::default(),
            probing: Probing::new(),
            aggregation: Aggregation::new(),
            ecn_alpha: EcnAlpha::new(),
            is_ecn_eligible: false,
            startup_ecn_rounds: 0,
            flight: Flight::new(),
            delivered: 0,
            lost: 0,
            is_app_limited: false,
            probe_rtt_span: (u64::MAX, 0),
            prior_cwnd: 0,
            prev_ca_state: CaState::Open,
            has_seen_rtt: false,
            idle_since: None,
            is_idle_restart: false,
            params,
        }
    }

    fn pacing_gain(&self) -> Gain {
        match self.mode {
            Mode::Startup => self.gains.startup_pacing,
            Mode::Drain => self.gains.drain,
            Mode::ProbeBw(Phase::Up(_)) => self.gains.up,
            Mode::ProbeBw(Phase::Down(_)) => self.gains.down,
            Mode::ProbeBw(_) | Mode::ProbeRtt(_) => Gain::UNIT,
        }
    }

    fn cwnd_gain(&self) -> Gain {
        match self.mode {
            Mode::Startup | Mode::Drain => self.gains.startup_cwnd,
            Mode::ProbeBw(Phase::Up(_)) => self.gains.up_cwnd,
            Mode::ProbeBw(_) => self.gains.cwnd,
            Mode::ProbeRtt(_) => Gain::UNIT,
        }
    }

    fn bdp(&self, bandwidth: Bandwidth, gain: Gain) -> u64 {
        if self.min_rtt == Dur::MAX { self.initial_cwnd } else { bandwidth.bdp(self.min_rtt, gain) }
    }

    fn with_quanta(&self, pkts: u64) -> u64 {
        // With a small BDP, probing must raise inflight above the quanta.
        let extra = if matches!(self.mode, Mode::ProbeBw(Phase::Up(_))) { 2 } else { 0 };
        pkts.max(self.params.quanta_pkts).max(MIN_CWND) + extra
    }

    fn inflight(&self, bandwidth: Bandwidth, gain: Gain) -> u64 {
        self.with_quanta(self.bdp(bandwidth, gain))
    }

    fn probe_rtt_cwnd(&self) -> u64 {
        self.bdp(self.bandwidth(), self.gains.probe_rtt_cwnd).max(MIN_CWND)
    }

    /// Returns whether the mode raises inflight (STARTUP, REFILL, UP); the short-term bounds are then suspended.
    fn is_probing_bandwidth(&self) -> bool {
        matches!(self.mode, Mode::Startup | Mode::ProbeBw(Phase::Refill { .. } | Phase::Up(_)))
    }

    fn take_sample(&mut self, ack: &Ack<'_>) -> Sample {
        let rate = &ack.rate;
        let at_send = ack.newest.and_then(|seq| self.flight.get(seq));
        let (first, last) = self.probe_rtt_span;
        Sample {
            bandwidth: match rate.interval {
                Dur::ZERO => Bandwidth::ZERO,
                interval => Bandwidth::of_sample(rate.delivered, interval),
            },
            delivered: rate.delivered,
            delivered_ce: at_send.map_or(0, |s| ack.sender.delivered_ce.saturating_sub(s.delivered_ce)),
            lost: at_send.map_or(0, |s| ack.sender.lost.saturating_sub(s.lost)),
            tx_in_flight: at_send.map_or(0, |s| s.inflight),
            is_app_limited: rate.is_app_limited || (first..=last).contains(&rate.prior_delivered),
        }
    }

    fn update_round(&mut self, ack: &Ack<'_>) {
        self.is_round_start = ack.rate.interval > Dur::ZERO && ack.rate.prior_delivered >= self.next_round_delivered;
        if !self.is_round_start {
            return;
        }
        self.next_round_delivered = ack.sender.delivered;
        self.count_round();
        self.aggregation.start_round(if self.full_bw.is_reached { AGGREGATION_ROUNDS } else { 1 });
        self.is_ecn_eligible |= self.params.ecn && self.min_rtt <= self.params.ecn_max_rtt;
        if self.is_ecn_eligible
            && let Some(ratio) = self.ecn_alpha.update(ack.sender.delivered, ack.sender.delivered_ce)
            && !self.full_bw.is_reached
        {
            self.startup_ecn_rounds = if ratio >= ECN_THRESH_256THS { self.startup_ecn_rounds + 1 } else { 0 };
            if self.startup_ecn_rounds >= STARTUP_ECN_ROUNDS {
                self.handle_queue_too_high_in_startup();
            }
        }
    }

    /// Processes the bandwidth, loss and marks of this ACK and, once per round, the short-term bounds.
    fn update_signals(&mut self, ack: &Ack<'_>, sample: &Sample) {
        let signals = &mut self.signals;
        signals.ecn_in_round |= self.is_ecn_eligible && ack.marked > 0;
        signals.is_loss_round_start = false;
        if ack.rate.interval == Dur::ZERO || ack.acked == 0 {
            return;
        }
        signals.bw_latest = signals.bw_latest.max(sample.bandwidth);
        signals.inflight_latest = signals.inflight_latest.max(sample.delivered);
        if ack.rate.prior_delivered >= signals.loss_round_delivered {
            signals.loss_round_delivered = ack.sender.delivered;
            signals.is_loss_round_start = true;
        }
        if !sample.is_app_limited || sample.bandwidth >= self.max_bw.get() {
            self.max_bw.update(sample.bandwidth);
        }
        signals.loss_in_round |= ack.lost > 0;
        if signals.is_loss_round_start {
            if !self.is_probing_bandwidth() {
                let cut = self.signals.ecn_in_round.then(|| self.ecn_alpha.cut());
                self.short_term.adapt(&self.signals, self.max_bw.get(), self.cwnd_pkts, self.gains.beta, cut);
            }
            self.signals.loss_in_round = false;
            self.signals.ecn_in_round = false;
        }
    }

    fn check_startup_loss(&mut self, ack: &Ack<'_>, sample: &Sample) {
        if self.full_bw.is_reached {
            return;
        }
        self.signals.loss_events_in_round += u32::from(ack.lost > 0);
        if self.signals.is_loss_round_start {
            let is_lossy = ack.sender.ca_state == CaState::Recovery
                && self.signals.loss_events_in_round >= STARTUP_LOSS_EVENTS
                && self.is_inflight_too_high(sample);
            if is_lossy {
                self.handle_queue_too_high_in_startup();
            }
            self.signals.loss_events_in_round = 0;
        }
    }

    fn check_drain(&mut self, ack: &Ack<'_>, cx: &mut Context<'_>) {
        if self.mode == Mode::Startup && self.full_bw.is_reached {
            self.mode = Mode::Drain;
            self.signals.reset();
        }
        if self.mode == Mode::Drain && ack.sender.inflight() <= self.inflight(self.max_bw.get(), Gain::UNIT) {
            self.start_down(cx);
        }
    }

    fn set_pacing_rate(&mut self, ack: &Ack<'_>) {
        if !self.has_seen_rtt && ack.sender.srtt > Dur::ZERO {
            self.set_first_pacing_rate(ack.sender.srtt);
        }
        let rate = self.pacer.rate(self.bandwidth(), self.pacing_gain());
        if self.full_bw.is_reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// `bbr_init_pacing_rate_from_rtt`, once `srtt` is known.
    fn set_first_pacing_rate(&mut self, srtt: Dur) {
        self.has_seen_rtt = true;
        let bandwidth = Bandwidth::of_sample(self.cwnd_pkts, srtt);
        self.pacing_rate = self.pacer.rate(bandwidth, self.gains.startup_pacing);
    }

    fn set_cwnd(&mut self, ack: &Ack<'_>) {
        if ack.acked > 0 {
            let bandwidth = self.bandwidth();
            let target = self.bdp(bandwidth, self.cwnd_gain()) + self.aggregation.allowance(bandwidth);
            let target = self.with_quanta(target);
            if self.full_bw.is_reached {
                self.cwnd_pkts = (self.cwnd_pkts + ack.acked).min(target);
            } else if self.cwnd_pkts < target || self.cwnd_pkts < 2 * self.initial_cwnd {
                self.cwnd_pkts += ack.acked;
            }
            self.cwnd_pkts = self.cwnd_pkts.max(MIN_CWND);
        }
        if matches!(self.mode, Mode::ProbeRtt(_)) {
            self.cwnd_pkts = self.cwnd_pkts.min(self.probe_rtt_cwnd());
        }
        let hi = match self.mode {
            Mode::ProbeBw(Phase::Cruise(_)) | Mode::ProbeRtt(_) => self.inflight_with_headroom(),
            Mode::ProbeBw(_) => self.probing.inflight_hi,
            Mode::Startup | Mode::Drain => None,
        };
        let bound = hi.unwrap_or(u64::MAX).min(self.short_term.inflight_lo.unwrap_or(u64::MAX)).max(MIN_CWND);
        self.cwnd_pkts = self.cwnd_pkts.min(bound);
    }

    /// Restarts the flow after idle: packets have been sent since the pipe was empty.
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

impl Controller for Bbr3 {
    fn on_established(&mut self, sender: &Sender, cx: &mut Context<'_>) {
        self.set_first_pacing_rate(sender.srtt);
        if !self.has_oracle {
            self.min_rtt = sender.min_rtt;
            self.min_rtt_stamp = cx.now;
        }
        (self.probe_rtt_min, self.probe_rtt_min_stamp) = (sender.min_rtt, cx.now);
    }

    fn on_ack(&mut self, ack: &Ack<'_>, cx: &mut Context<'_>) {
        if let Some(since) = self.idle_since {
            self.restart_from_idle(since, ack, cx);
        }
        let sample = self.take_sample(ack);
        self.flight.forget_below(ack.sender.snd_una);
        self.delivered = ack.sender.delivered;
        self.lost = ack.sender.lost;
        self.is_app_limited = sample.is_app_limited;

        self.update_round(ack);
        self.update_signals(ack, &sample);
        if ack.rate.interval > Dur::ZERO && ack.acked > 0 {
            self.aggregation.update(cx.now, ack.acked, self.bandwidth(), self.cwnd_pkts);
        }
        self.check_startup_loss(ack, &sample);
        self.full_bw.update(&sample, self.is_round_start);
        self.check_drain(ack, cx);
        self.update_cycle_phase(ack, &sample, cx);
        self.update_min_rtt(ack, cx);

        self.set_pacing_rate(ack);
        self.set_cwnd(ack);

        if self.signals.is_loss_round_start {
            self.signals.bw_latest = sample.bandwidth;
            self.signals.inflight_latest = sample.delivered;
        }
        self.signals.loss_in_cycle |= sample.lost > 0;
        self.signals.ecn_in_cycle |= sample.delivered_ce > 0;
        self.prev_ca_state = ack.sender.ca_state;
        if ack.sender.packets_out() == 0 && ack.sender.ca_state == CaState::Open {
            self.idle_since = Some(cx.now);
            if matches!(self.mode, Mode::ProbeBw(_)) {
                // after idle, a pacing rate equal to the path's bandwidth is sufficient
                self.pacing_rate = self.pacer.rate(self.bandwidth(), Gain::UNIT);
            }
        }
    }

    fn on_loss(&mut self, loss: &Loss<'_>, _cx: &mut Context<'_>) {
        self.save_cwnd();
        if loss.cause != Cause::Timeout {
            return;
        }
        self.prev_ca_state = CaState::Loss;
        self.full_bw.restart(Bandwidth::ZERO);
        if !self.is_probing_bandwidth() {
            self.short_term.inflight_lo.get_or_insert(self.cwnd_pkts.max(self.prior_cwnd));
        }
        self.cwnd_pkts = loss.sender.inflight() + 1;
    }

    fn on_recovered(&mut self, _sender: &Sender, _cx: &mut Context<'_>) {
        if self.prev_ca_state == CaState::Loss {
            self.cwnd_pkts = self.cwnd_pkts.max(self.prior_cwnd);
            self.prev_ca_state = CaState::Open;
        }
    }

    fn on_send(&mut self, sent: &Sent<'_>, _cx: &mut Context<'_>) {
        let at_send =
            AtSend { inflight: sent.sender.inflight(), lost: sent.sender.lost, delivered_ce: sent.sender.delivered_ce };
        self.flight.record(sent.seq, at_send);
    }

    fn on_packet_lost(&mut self, lost: &LostPacket, cx: &mut Context<'_>) {
        self.lost += 1;
        self.signals.note_loss(self.delivered);
        if !self.probing.has_samples {
            return;
        }
        if let Some(at_send) = self.flight.get(lost.seq) {
            let sample = Sample {
                lost: self.lost.saturating_sub(at_send.lost),
                tx_in_flight: at_send.inflight,
                is_app_limited: self.is_app_limited,
                ..Sample::default()
            };
            self.handle_probe_loss(sample, cx);
        }
    }

    fn cwnd(&self) -> Bytes {
        Bytes(self.cwnd_pkts.saturating_mul(self.mss))
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(self.pacing_rate)
    }

    fn interests(&self) -> Interests {
        Interests {
            sent: true,
            lost: true,
            rate_sample: true,
            own_recovery: true,
            own_ecn: true,
            exact_marks: true,
            ..Interests::default()
        }
    }

    fn telemetry(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        let mode = match self.mode {
            Mode::Startup => 0.0,
            Mode::Drain => 1.0,
            Mode::ProbeBw(_) => 2.0,
            Mode::ProbeRtt(_) => 3.0,
        };
        let or_nan = |x: Option<u64>| x.map_or(f64::NAN, |n| n as f64);
        emit("mode", mode);
        emit("pacing_gain", self.pacing_gain().as_f64());
        emit("bw_pkts_per_s", self.bandwidth().packets_per_sec());
        emit("min_rtt_ms", self.min_rtt.as_millis_f64());
        emit("inflight_hi_pkts", or_nan(self.probing.inflight_hi));
        emit("inflight_lo_pkts", or_nan(self.short_term.inflight_lo));
    }
}

#[cfg(test)]
mod tests;
