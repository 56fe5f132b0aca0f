//! PCC Vivace: gradient ascent on a utility of rate, RTT gradient and loss.
//!
//! Model, for an interval sent at rate x (Mbps), of which a fraction L was lost, with RTT gradient g = dRTT/dt:
//!
//! - u = x^0.9 - 900 x max(0, g) - 11.35 x L; |g| < 0.01 counts as 0;
//! - an interval lasts 1.5 RTT, and at least 20 packets; g is the slope of a linear regression of the RTT on the send
//!   time;
//! - STARTING: the rate doubles each interval until u falls, then returns to the second to last;
//! - PROBING: intervals at r (1 + eps) and r (1 - eps) in random order, then r += theta m(n) du/dx, at most omega r,
//!   where m(n) = ((n + 1) / 2)^1.2 for the n-th step in the same direction, and omega = 0.05 + 0.05 k after k
//!   consecutive steps that were limited;
//! - cwnd = 2 rate srtt: pacing controls the rate, cwnd limits the data sent into a path without ACKs.
//!
//! ```text
//!            u falls: back to r/2
//!  STARTING ---------------------> PROBING --.
//!  r <- 2 r                          ^       | r <- r + step
//!                                    '-------'
//! ```
//!
//! **Source**: Dong et al., "PCC Vivace: Online-learning congestion control", NSDI 2018, §4 and §5; m(n), the length of
//! an interval and the initial rate (10 packets in 100 ms) follow the authors' user-space code, the floor of two packets an
//! RTT and the cwnd their kernel module.
//!
//! **Deviations**: after the trials the sender waits at r for their feedback. du/dx is computed from the rates at which
//! packets left, not the planned rates; if these are less than half as far apart as planned (limited by the application
//! or cwnd), the trials are repeated. A falling RTT is not rewarded (max(0, g)), unlike in the paper's formula:
//! `rewards_falling_rtt`. The paper's interval is one RTT; if ACKs come in batches exactly an RTT apart, such an
//! interval sees only falling RTTs, and the sender does not detect congestion. The released code makes two pairs of
//! trials, which must agree: `pairs = 2`. Its minimum step (500 kbps) is `min_step`, off here.

use crate::algorithm::{Algorithm, BuildError, Row, Start};
use crate::monitor_interval::Report;
use crate::pcc_sender::{Sender, gradient};
use crate::pcc_step::{Momentum, StepRules};
use crate::range::Checks;
use crate::{Ack, Context, Controller, Interests, LostPacket, Sent, math};
use fairweir_units::{Bytes, Rate};
use rand::Rng;
use serde::{Deserialize, Serialize};

/// Parameters of PCC Vivace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Exponent of the rate in the utility.
    pub rate_exponent: f64,
    /// Weight of the RTT gradient.
    pub latency_coefficient: f64,
    /// Weight of the loss rate.
    pub loss_coefficient: f64,
    /// RTT gradients below this magnitude are ignored.
    pub latency_tolerance: f64,
    /// Whether a falling RTT is rewarded as a rising one is penalised.
    pub rewards_falling_rtt: bool,
    /// Step of a trial, as a fraction of the rate.
    pub eps: f64,
    /// Number of pairs of trials; with 2, both must agree.
    pub pairs: u32,
    /// Length of an interval, RTTs.
    pub interval_rtts: f64,
    /// Minimum packets in an interval.
    pub interval_min_pkts: u64,
    /// Step divided by gradient, Mbps per (unit of utility per Mbps).
    pub theta: f64,
    /// Exponent of the confidence amplifier m(n).
    pub amplifier_exponent: f64,
    /// Maximum step, as a fraction of the rate.
    pub omega_base: f64,
    /// Growth of omega for each consecutive limited step.
    pub omega_step: f64,
    /// Minimum step.
    #[serde(with = "crate::quantity")]
    pub min_step: Rate,
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
            rate_exponent: 0.9,
            latency_coefficient: 900.0,
            loss_coefficient: 11.35,
            latency_tolerance: 0.01,
            rewards_falling_rtt: false,
            eps: 0.05,
            pairs: 1,
            interval_rtts: 1.5,
            interval_min_pkts: 20,
            theta: 1.0,
            amplifier_exponent: 1.2,
            omega_base: 0.05,
            omega_step: 0.05,
            min_step: Rate::ZERO,
            initial_rate: Rate::from_bytes_per_sec(150_000),
            min_rate: Rate::from_bytes_per_sec(62_500),
            min_pkts_per_rtt: 2.0,
        }
    }
}

impl Params {
    fn validate(&self) -> Result<(), BuildError> {
        let checks = Checks { algorithm: "pcc_vivace" }
            .fraction("eps", self.eps)?
            .within("pairs", self.pairs, 1..=2)?
            .positive("interval_rtts", self.interval_rtts, 1e3)?
            .within("interval_min_pkts", self.interval_min_pkts, 2..=1_000_000)?
            .fraction("omega_base", self.omega_base)?
            .within("rate_exponent", self.rate_exponent, 0.0..=1e9)?
            .within("latency_coefficient", self.latency_coefficient, 0.0..=1e9)?
            .within("loss_coefficient", self.loss_coefficient, 0.0..=1e9)?
            .within("latency_tolerance", self.latency_tolerance, 0.0..=1e9)?
            .within("theta", self.theta, 0.0..=1e9)?
            .within("amplifier_exponent", self.amplifier_exponent, 0.0..=1e9)?
            .within("min_pkts_per_rtt", self.min_pkts_per_rtt, 0.0..=1e6)?;
        if !(0.0..1.0).contains(&self.omega_step) {
            return checks.refuse("omega_step", "be at least 0 and below 1", &self.omega_step);
        }
        for (key, rate) in [("initial_rate", self.initial_rate), ("min_rate", self.min_rate)] {
            if rate == Rate::ZERO {
                return checks.refuse(key, "be positive", &rate);
            }
        }
        Ok(())
    }
}

impl Row for PccVivace {
    const NAME: &'static str = "pcc_vivace";
    const SUMMARY: &'static str = "gradient ascent on a utility of rate, RTT gradient and loss (NSDI 2018)";
    type Params = Params;

    fn build(start: &Start, params: Params) -> Result<PccVivace, BuildError> {
        params.validate()?;
        Ok(PccVivace::new(params, start))
    }
}

/// PCC Vivace, as a row of the list of controllers.
pub const ALGORITHM: Algorithm = Algorithm::of::<PccVivace>();

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// Doubling; rate and utility of the last interval, if there was one.
    Starting { last: Option<(Rate, f64)> },
    /// Trials on both sides of the rate.
    Probing,
}

/// PCC Vivace.
#[derive(Clone, Debug)]
pub struct PccVivace {
    params: Params,
    sender: Sender,
    phase: Phase,
    momentum: Momentum,
    utility: f64,
    gradient: f64,
}

impl PccVivace {
    /// Creates the state of a new connection.
    pub fn new(params: Params, start: &Start) -> PccVivace {
        PccVivace {
            sender: Sender::new(start, params.initial_rate, params.interval_min_pkts),
            params,
            phase: Phase::Starting { last: None },
            momentum: Momentum::default(),
            utility: 0.0,
            gradient: 0.0,
        }
    }

    fn utility_of(&self, report: &Report) -> f64 {
        let p = &self.params;
        let x = report.rate_mbps;
        let is_noise = report.rtt_gradient.abs() < p.latency_tolerance;
        let earns_nothing = report.rtt_gradient < 0.0 && !p.rewards_falling_rtt;
        let g = if is_noise || earns_nothing { 0.0 } else { report.rtt_gradient };
        math::pow(x, p.rate_exponent) - p.latency_coefficient * x * g - p.loss_coefficient * x * report.loss_rate
    }

    fn set_rate(&mut self, bytes_per_sec: f64) {
        let floor = self.sender.per_rtt(self.params.min_pkts_per_rtt).max(self.params.min_rate.bytes_per_sec() as f64);
        self.sender.rate = Rate::from_bytes_per_sec(bytes_per_sec.max(floor) as u64);
    }

    fn decide_starting(&mut self, report: &Report, last: Option<(Rate, f64)>, cx: &mut Context<'_>) {
        self.utility = self.utility_of(report);
        match last {
            Some((rate, utility)) if self.utility <= utility => {
                self.sender.rate = rate;
                self.begin_probing(cx);
            }
            _ => {
                self.phase = Phase::Starting { last: Some((self.sender.rate, self.utility)) };
                self.set_rate(self.sender.rate.bytes_per_sec() as f64 * 2.0);
                self.sender.plan([self.sender.rate]);
            }
        }
    }

    fn begin_probing(&mut self, cx: &mut Context<'_>) {
        self.phase = Phase::Probing;
        let at = |by: f64| Rate::from_bytes_per_sec((self.sender.rate.bytes_per_sec() as f64 * by) as u64);
        let (up, down) = (at(1.0 + self.params.eps), at(1.0 - self.params.eps));
        let coins = cx.rng.next_u32();
        let trials = (0..self.params.pairs).flat_map(|i| if coins >> i & 1 == 0 { [up, down] } else { [down, up] });
        self.sender.plan(trials);
    }

    /// du/dx over a pair of trials, or `None` if their rates were too close.
    fn gradient_of(&self, pair: &[Report]) -> Option<f64> {
        gradient([0, 1].map(|i| (&pair[i], self.utility_of(&pair[i]))))
    }

    fn decide_probing(&mut self, reports: &[Report], cx: &mut Context<'_>) {
        let gradients: Option<Vec<f64>> = reports.chunks_exact(2).map(|pair| self.gradient_of(pair)).collect();
        self.utility = reports.iter().map(|r| self.utility_of(r)).sum::<f64>() / reports.len() as f64;
        if let Some(gradients) = gradients
            && gradients.iter().all(|g| (*g > 0.0) == (gradients[0] > 0.0))
        {
            self.gradient = gradients.iter().sum::<f64>() / gradients.len() as f64;
            self.step();
        }
        self.begin_probing(cx);
    }

    fn step(&mut self) {
        let p = &self.params;
        let rules = StepRules {
            theta: p.theta,
            amplifier_exponent: p.amplifier_exponent,
            omega_base: p.omega_base,
            omega_step: p.omega_step,
            min_step: p.min_step,
        };
        let rate = self.momentum.step(&rules, self.gradient, self.sender.rate.bytes_per_sec() as f64);
        self.set_rate(rate);
    }
}

impl Controller for PccVivace {
    fn on_ack(&mut self, ack: &Ack<'_>, cx: &mut Context<'_>) {
        if let Some(reports) = self.sender.on_ack(ack, cx) {
            match self.phase {
                Phase::Starting { last } => self.decide_starting(&reports[0], last, cx),
                Phase::Probing => self.decide_probing(&reports, cx),
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

    fn on_loss(&mut self, _loss: &crate::Loss<'_>, _cx: &mut Context<'_>) {
        // Loss enters through the utility, packet by packet, not as an event.
    }

    fn cwnd(&self) -> Bytes {
        self.sender.cwnd()
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
        emit("utility_gradient", self.gradient);
        emit("same_way", f64::from(self.momentum.same_way));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitor_interval::RttStats;
    use crate::testing::{Bench, Path};
    use fairweir_units::{Dur, Time};
    use serde_json::Value;
    use serde_json::json;

    /// Bytes/s in a Mbps.
    const MBPS: f64 = 125_000.0;

    fn start() -> Start {
        Start { mss: Bytes(1500), initial_cwnd: Bytes(15_000), oracle_rtprop: None, first_packet: 0, seed: 1 }
    }

    fn report(rate_mbps: f64, rtt_gradient: f64, loss_rate: f64) -> Report {
        let target = Rate::from_bytes_per_sec((rate_mbps * MBPS) as u64);
        Report {
            target,
            rate_mbps,
            sent: 1000,
            loss_rate,
            throughput_mbps: rate_mbps,
            rtt_gradient,
            rtts: RttStats::default(),
        }
    }

    fn vivace() -> PccVivace {
        let mut vivace = PccVivace::new(Params::default(), &start());
        vivace.sender.srtt = Dur::from_millis(50);
        vivace
    }

    #[test]
    fn utility_is_the_papers() {
        let vivace = vivace();
        let plain = vivace.utility_of(&report(96.0, 0.0, 0.0));
        assert!((plain - 96f64.powf(0.9)).abs() < 1e-9);
        assert!((vivace.utility_of(&report(96.0, 0.02, 0.0)) - (plain - 900.0 * 96.0 * 0.02)).abs() < 1e-9);
        assert!((vivace.utility_of(&report(96.0, 0.0, 0.01)) - (plain - 11.35 * 96.0 * 0.01)).abs() < 1e-9);
        assert_eq!(vivace.utility_of(&report(96.0, 0.009, 0.0)), plain);
        assert_eq!(vivace.utility_of(&report(96.0, -0.5, 0.0)), plain);
    }

    #[test]
    fn steps_grow_while_they_agree_and_are_bounded() {
        let mut vivace = vivace();
        vivace.sender.rate = Rate::from_mbps(100);
        vivace.gradient = 0.5;
        let mut steps = Vec::new();
        for _ in 0..3 {
            let before = vivace.sender.rate.as_mbps_f64();
            vivace.step();
            steps.push(vivace.sender.rate.as_mbps_f64() - before);
        }
        for (step, n) in steps.iter().zip([1.0f64, 2.0, 3.0]) {
            assert!((step - 0.5 * ((n + 1.0) / 2.0).powf(1.2)).abs() < 1e-4, "{steps:?}");
        }
        // The opposite direction: amplifier and bound are reset; 5 %, then 10 % of the remaining rate.
        let top = vivace.sender.rate.as_mbps_f64();
        vivace.gradient = -1000.0;
        vivace.step();
        assert!((vivace.sender.rate.as_mbps_f64() - 0.95 * top).abs() < 1e-4);
        vivace.step();
        assert!((vivace.sender.rate.as_mbps_f64() - 0.9 * 0.95 * top).abs() < 1e-4);
    }

    #[test]
    fn an_ideal_link_is_used_almost_fully_with_almost_no_queue() {
        for (mbps, rtprop_ms) in [(48, 40), (96, 20), (120, 60)] {
            let mut bench = Bench::of("pcc_vivace", &Value::Null, Path::droptail(mbps, rtprop_ms, 2));
            bench.run_until(Time::from_nanos(20_000_000_000), |_| ());
            let (mut within, mut acks) = (0u64, 0u64);
            let delivered = bench.sender.delivered;
            bench.run_until(Time::from_nanos(40_000_000_000), |b| {
                acks += 1;
                within += u64::from(b.rtt <= b.path.rtprop * 105 / 100 + crate::testing::MSS / b.path.rate);
            });
            let rate = (bench.sender.delivered - delivered) as f64 * 1500.0 / 20.0 / MBPS;
            assert!(rate > 0.9 * mbps as f64, "{rate} of {mbps} Mbps");
            assert!(within * 100 >= acks * 98, "{within} of {acks} within 5 %");
        }
    }

    #[test]
    fn an_application_that_cannot_keep_up_changes_nothing() {
        let mut vivace = vivace();
        vivace.sender.rate = Rate::from_mbps(100);
        let (mut high, mut low) = (report(105.0, 0.0, 0.0), report(95.0, 0.0, 0.0));
        (high.rate_mbps, low.rate_mbps) = (10.0, 9.9);
        assert_eq!(vivace.gradient_of(&[high, low]), None);
        (high.rate_mbps, low.rate_mbps) = (105.0, 95.0);
        assert!(vivace.gradient_of(&[low, high]).is_some_and(|g| (g - 0.57).abs() < 0.01));
    }

    #[test]
    fn bad_parameters_are_rejected() {
        for params in [
            json!({"eps": 1.0}),
            json!({"pairs": 0}),
            json!({"interval_rtts": -1.0}),
            json!({"theta": -1.0}),
            json!({"omega_base": 0.0}),
            json!({"min_rate": "0bps"}),
            json!({"min_rate": 62500}),
            json!({"latency": 900.0}),
        ] {
            assert!((ALGORITHM.build)(&params, &start()).is_err(), "{params}");
        }
        assert!((ALGORITHM.build)(&(ALGORITHM.defaults)(), &start()).is_ok());
    }
}
