//! PCC Proteus: PCC Vivace with tolerance of noise, and utilities for background transfers.
//!
//! Model, for an interval sent at rate x (Mbps), of which a fraction L was lost, with RTT gradient g and standard deviation
//! s of the RTT (s), both zero where they are noise ([`noise`]):
//!
//! - primary: u = x^0.9 - 900 x max(0, g) - 11.35 x L;
//! - scavenger: u = primary - 1500 x s;
//! - hybrid: primary below a threshold of x, scavenger from there on;
//! - STARTING: the rate doubles each interval until u falls, then returns to the second to last;
//! - PROBING: pairs of intervals at r (1 + eps) and r (1 - eps), eps = 5 %: three pairs of which two decide for an increase
//!   and all three for a decrease; the scavenger has two, which must agree; then r becomes the better rate, and a step
//!   along the mean gradient follows (as in PCC Vivace);
//! - MOVING: an interval at the new rate; if u changed as the direction predicts, another step; else back, and PROBING;
//! - at the minimum rate, after a decision or two rounds without one: STARTING, if u is above that of the last decision;
//! - cwnd = 2 rate srtt.
//!
//! ```text
//!            u falls: back to r/2             a decision
//!  STARTING ---------------------> PROBING -------------> MOVING --.
//!  r <- 2 r                          ^  ^ no decision |     |  ^   | as predicted:
//!                                    |  '-------------'     |  '---' r <- r + step
//!                                    '----------------------'
//!                                          otherwise: back
//! ```
//!
//! **Source**: Meng et al., "PCC Proteus: Scavenger transport and beyond", SIGCOMM 2020, §4 (utilities), §5 (tolerance of
//! noise, majority). Constants, and what the paper leaves open, follow the authors' user-space code.
//!
//! **Deviations**: after the trials the sender waits at r for their feedback. du/dx is computed from the rates at which
//! packets left; without a sufficient difference there is no decision. An interval lasts 1.5 RTT (theirs: one minimum RTT,
//! doubled if many RTT samples were filtered), for the reason given in `pcc_vivace`. The residual is divided by the length of
//! the interval (§5), in the code by the mean RTT. The code's minimum step of 500 kbps is left out, and it returns from
//! MOVING by a step of the last gradient, here to the rate before.

mod noise;

use crate::algorithm::{Algorithm, BuildError, Row, Start};
use crate::limits::MAX_CWND;
use crate::monitor_interval::Report;
use crate::pcc_sender::{Sender, gradient};
use crate::pcc_step::{Momentum, StepRules};
use crate::range::Checks;
use crate::{Ack, Context, Controller, Interests, Loss, LostPacket, Sent, math};
use fairweir_units::{Bytes, Rate};
use noise::{AckFilter, History, Signal};
use rand::Rng;
use serde::{Deserialize, Serialize};

/// Name in scenarios.
const NAME: &str = "pcc_proteus";

/// Steps: those of PCC Vivace.
const STEPS: StepRules =
    StepRules { theta: 1.0, amplifier_exponent: 1.2, omega_base: 0.05, omega_step: 0.05, min_step: Rate::ZERO };

/// No rate is larger, bytes/s: 8 Tbit/s.
const MAX_RATE: f64 = 1e12;

/// Which utility applies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Proteus-P.
    #[default]
    Primary,
    /// Proteus-S: yields to primary flows.
    Scavenger,
    /// Proteus-H: primary below a threshold, scavenger above.
    Hybrid,
}

/// Parameters of PCC Proteus.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Which utility applies.
    pub mode: Mode,
    /// Rate from which on a hybrid flow is a scavenger.
    #[serde(with = "crate::quantity")]
    pub threshold: Rate,
    /// Exponent of the rate in the utility.
    pub rate_exponent: f64,
    /// Weight of the RTT gradient.
    pub latency_coefficient: f64,
    /// Weight of the loss rate.
    pub loss_coefficient: f64,
    /// Weight of the RTT's standard deviation, per s.
    pub deviation_coefficient: f64,
    /// Whether to ignore noise.
    pub tolerates_noise: bool,
    /// Step of a trial, as a fraction of the rate.
    pub eps: f64,
    /// Length of an interval, RTTs.
    pub interval_rtts: f64,
    /// Minimum packets in an interval.
    pub interval_min_pkts: u64,
    /// Initial rate.
    #[serde(with = "crate::quantity")]
    pub initial_rate: Rate,
    /// Minimum rate.
    #[serde(with = "crate::quantity")]
    pub min_rate: Rate,
    /// Minimum rate in packets per RTT; the larger minimum applies.
    pub min_pkts_per_rtt: f64,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            mode: Mode::Primary,
            threshold: Rate::from_mbps(10),
            rate_exponent: 0.9,
            latency_coefficient: 900.0,
            loss_coefficient: 11.35,
            deviation_coefficient: 1500.0,
            tolerates_noise: true,
            eps: 0.05,
            interval_rtts: 1.5,
            interval_min_pkts: 20,
            initial_rate: Rate::from_bytes_per_sec(150_000),
            min_rate: Rate::from_bytes_per_sec(62_500),
            min_pkts_per_rtt: 2.0,
        }
    }
}

impl Params {
    fn check(&self) -> Result<(), BuildError> {
        Checks { algorithm: NAME }
            .some_rate("threshold", self.threshold)?
            .within("rate_exponent", self.rate_exponent, 0.0..=1.0)?
            .within("latency_coefficient", self.latency_coefficient, 0.0..=1e9)?
            .within("loss_coefficient", self.loss_coefficient, 0.0..=1e9)?
            .within("deviation_coefficient", self.deviation_coefficient, 0.0..=1e9)?
            .fraction("eps", self.eps)?
            .positive("interval_rtts", self.interval_rtts, 1e3)?
            .within("interval_min_pkts", self.interval_min_pkts, 2..=1_000_000)?
            .some_rate("initial_rate", self.initial_rate)?
            .some_rate("min_rate", self.min_rate)?
            .within("min_pkts_per_rtt", self.min_pkts_per_rtt, 0.0..=1e6)?;
        Ok(())
    }
}

impl Row for PccProteus {
    const NAME: &'static str = NAME;
    const SUMMARY: &'static str = "Vivace with tolerance of noise; can be a scavenger, which yields (SIGCOMM 2020)";
    type Params = Params;

    fn build(start: &Start, params: Params) -> Result<PccProteus, BuildError> {
        params.check()?;
        Ok(PccProteus::new(params, start))
    }
}

/// PCC Proteus, as a row of the list of controllers.
pub const ALGORITHM: Algorithm = Algorithm::of::<PccProteus>();

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// Doubling; rate and utility of the last interval, if there was one.
    Starting { last: Option<(Rate, f64)> },
    /// Trials on both sides of the rate.
    Probing,
    /// Steps in one direction; the last interval and its utility.
    Moving { is_up: bool, last: (Report, f64) },
}

/// PCC Proteus.
#[derive(Clone, Debug)]
pub struct PccProteus {
    params: Params,
    sender: Sender,
    filter: AckFilter,
    history: History,
    phase: Phase,
    momentum: Momentum,
    signal: Signal,
    utility: f64,
    /// Utility of the better trials of the last decision.
    decided: f64,
    /// Rounds of trials since then.
    undecided: u32,
}

impl PccProteus {
    /// Creates the state of a new connection.
    pub fn new(params: Params, start: &Start) -> PccProteus {
        PccProteus {
            sender: Sender::new(start, params.initial_rate, params.interval_min_pkts),
            params,
            filter: AckFilter::default(),
            history: History::default(),
            phase: Phase::Starting { last: None },
            momentum: Momentum::default(),
            signal: Signal::default(),
            utility: 0.0,
            decided: 0.0,
            undecided: 0,
        }
    }

    /// Whether the scavenger's utility applies at `mbps`.
    fn yields_at(&self, mbps: f64) -> bool {
        match self.params.mode {
            Mode::Primary => false,
            Mode::Scavenger => true,
            Mode::Hybrid => mbps >= self.params.threshold.as_mbps_f64(),
        }
    }

    /// Whether the trials that follow are a scavenger's.
    fn probes_as_scavenger(&self) -> bool {
        self.yields_at(self.sender.rate.as_mbps_f64() * (1.0 + self.params.eps))
    }

    /// Utility of the next interval of the history.
    fn utility_of(&mut self, report: &Report) -> f64 {
        let is_starting = matches!(self.phase, Phase::Starting { .. });
        self.signal = self.history.judge(report.rtt_gradient, &report.rtts, is_starting);
        if !self.params.tolerates_noise {
            self.signal = Signal { gradient: report.rtt_gradient.max(0.0), deviation: report.rtts.deviation };
        }
        let (p, x) = (&self.params, report.rate_mbps);
        let penalty = p.latency_coefficient * self.signal.gradient + p.loss_coefficient * report.loss_rate;
        let yielding = if self.yields_at(x) { p.deviation_coefficient * self.signal.deviation } else { 0.0 };
        self.utility = math::pow(x, p.rate_exponent) - x * (penalty + yielding);
        self.utility
    }

    fn set_rate(&mut self, bytes_per_sec: f64) {
        self.sender.rate = Rate::from_bytes_per_sec(bytes_per_sec.max(self.floor()).min(MAX_RATE) as u64);
    }

    /// The minimum rate, bytes/s.
    fn floor(&self) -> f64 {
        self.sender.per_rtt(self.params.min_pkts_per_rtt).max(self.params.min_rate.bytes_per_sec() as f64)
    }

    /// At the minimum rate, an interval has few packets, so that trials rarely agree: starts again, if the utility is then
    /// above that of the last decision.
    fn restarts_at_floor(&mut self) -> bool {
        if self.bytes_per_sec() > self.floor() {
            return false;
        }
        self.undecided = 0;
        self.phase = Phase::Starting { last: Some((self.sender.rate, self.decided)) };
        self.sender.plan([self.sender.rate]);
        true
    }

    fn remain_undecided(&mut self, cx: &mut Context<'_>) {
        self.undecided += 1;
        if self.undecided < 2 || !self.restarts_at_floor() {
            self.begin_probing(cx);
        }
    }

    fn bytes_per_sec(&self) -> f64 {
        self.sender.rate.bytes_per_sec() as f64
    }

    fn decide_starting(&mut self, report: &Report, last: Option<(Rate, f64)>, cx: &mut Context<'_>) {
        let utility = self.utility_of(report);
        match last {
            Some((rate, before)) if utility <= before => {
                self.sender.rate = rate;
                self.begin_probing(cx);
            }
            _ => {
                self.phase = Phase::Starting { last: Some((self.sender.rate, utility)) };
                self.set_rate(2.0 * self.bytes_per_sec());
                self.sender.plan([self.sender.rate]);
            }
        }
    }

    fn begin_probing(&mut self, cx: &mut Context<'_>) {
        self.phase = Phase::Probing;
        self.momentum = Momentum::default();
        let at = |by: f64| Rate::from_bytes_per_sec((self.bytes_per_sec() * by) as u64);
        let (up, down) = (at(1.0 + self.params.eps), at(1.0 - self.params.eps));
        let pairs = if self.probes_as_scavenger() { 2 } else { 3 };
        let coins = cx.rng.next_u32();
        self.sender.plan((0..pairs).flat_map(|i| if coins >> i & 1 == 0 { [up, down] } else { [down, up] }));
    }

    fn decide_probing(&mut self, reports: &[Report], cx: &mut Context<'_>) {
        let judged: Vec<(Report, f64)> = reports.iter().map(|r| (*r, self.utility_of(r))).collect();
        let gradients: Option<Vec<f64>> =
            judged.chunks_exact(2).map(|pair| gradient([(&pair[0].0, pair[0].1), (&pair[1].0, pair[1].1)])).collect();
        let Some(gradients) = gradients else {
            return self.remain_undecided(cx);
        };
        let (n, ups) = (gradients.len(), gradients.iter().filter(|g| **g > 0.0).count());
        // two of three suffice for an increase, all are needed for a decrease; the scavenger's two must agree
        let is_up = 2 * ups > n;
        if !(ups == 0 || is_up && (n == 3 || ups == n)) {
            return self.remain_undecided(cx);
        }
        self.undecided = 0;
        let agreeing = gradients.iter().zip(judged.chunks_exact(2)).filter(|(g, _)| (**g > 0.0) == is_up);
        let (mut sum, mut last) = (0.0, judged[0]);
        for (g, pair) in agreeing {
            sum += g;
            last = if pair[0].1 > pair[1].1 { pair[0] } else { pair[1] };
        }
        let side = if is_up { 1.0 + self.params.eps } else { 1.0 - self.params.eps };
        self.set_rate(self.bytes_per_sec() * side);
        self.decided = last.1;
        self.step(is_up, sum / n as f64, last);
        self.restarts_at_floor();
    }

    fn step(&mut self, is_up: bool, gradient: f64, last: (Report, f64)) {
        let size = gradient.abs().max(f64::MIN_POSITIVE);
        let rate = self.momentum.step(&STEPS, if is_up { size } else { -size }, self.bytes_per_sec());
        self.set_rate(rate);
        self.phase = Phase::Moving { is_up, last };
        self.sender.plan([self.sender.rate]);
    }

    fn decide_moving(&mut self, report: &Report, is_up: bool, last: (Report, f64), cx: &mut Context<'_>) {
        let utility = self.utility_of(report);
        match gradient([(&last.0, last.1), (report, utility)]) {
            Some(gradient) if (gradient > 0.0) == is_up => self.step(is_up, gradient, (*report, utility)),
            _ => {
                self.set_rate(last.0.target.bytes_per_sec() as f64);
                self.begin_probing(cx);
            }
        }
    }
}

impl Controller for PccProteus {
    fn on_ack(&mut self, ack: &Ack<'_>, cx: &mut Context<'_>) {
        let ack = if self.params.tolerates_noise { self.filter.filter(cx.now, ack) } else { *ack };
        if let Some(reports) = self.sender.on_ack(&ack, cx) {
            match self.phase {
                Phase::Starting { last } => self.decide_starting(&reports[0], last, cx),
                Phase::Probing => self.decide_probing(&reports, cx),
                Phase::Moving { is_up, last } => self.decide_moving(&reports[0], is_up, last, cx),
            }
        }
    }

    fn on_send(&mut self, _sent: &Sent<'_>, cx: &mut Context<'_>) {
        let rtts = self.params.interval_rtts;
        self.sender.on_send(cx, |_| rtts);
    }

    fn on_packet_lost(&mut self, lost: &LostPacket, _cx: &mut Context<'_>) {
        self.sender.on_packet_lost(lost);
    }

    fn on_loss(&mut self, _loss: &Loss<'_>, _cx: &mut Context<'_>) {
        // Loss enters through the utility, packet by packet, not as an event.
    }

    fn cwnd(&self) -> Bytes {
        self.sender.cwnd().min(MAX_CWND)
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(self.sender.pacing_rate())
    }

    fn interests(&self) -> Interests {
        Sender::INTERESTS
    }

    fn telemetry(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("base_rate_mbps", self.sender.rate.as_mbps_f64());
        emit("utility", self.utility);
        emit("rtt_gradient", self.signal.gradient);
        emit("rtt_deviation_ms", self.signal.deviation * 1e3);
    }
}

#[cfg(test)]
mod tests;
