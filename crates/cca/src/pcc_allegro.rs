//! PCC Allegro: tries rates in short experiments and keeps the better one; its utility tolerates 5 % loss.
//!
//! Model, for an interval sent at rate x, of which a fraction L was lost:
//!
//! - u = x (1 - L) sigmoid(L - 0.05) - x L, where sigmoid(y) = 1 / (1 + exp(100 y));
//! - an interval lasts between 1.7 and 2.2 RTTs (uniformly random), and at least 10 packets;
//! - cwnd = 2 rate srtt: pacing controls the rate, cwnd limits the data sent into a path without ACKs.
//!
//! ```text
//!            u/x < 3/4 of before         both pairs prefer the same side
//!  STARTING ---------------------> DECIDING ---------------------------> ADJUSTING
//!  r <- 2 r     (back to r/2)      4 trials at r (1 +/- eps)             r <- r (1 +/- n eps_min), n = 1, 2, ...
//!  each interval                   random order in each pair             each interval while u rises
//!                                  pairs differ: eps += eps_min <-----------------------------------'
//!                                                              u does not rise: back to the rate before
//! ```
//!
//! **Source**: Dong et al., "PCC: Re-architecting congestion control for consistent high performance", NSDI 2015, §2
//! and §3; the starting phase's 3/4, the floor of two packets an RTT and the cwnd follow the authors' kernel modules;
//! the initial rate of 512 kbps too.
//!
//! **Deviations**: after an interval of STARTING or ADJUSTING the sender waits at the same rate for feedback (as the
//! kernel modules do) instead of starting the next one without feedback. In STARTING, x (1 - L) is replaced by the
//! throughput shown by the spacing of ACKs, so that doubling also ends with an infinite buffer, and L is reduced by two
//! standard errors: one random loss in 10 packets is 10 %, and would end the doubling at a hundredth of the link rate.
//! eps_min, not the eps of the decision, scales the steps of ADJUSTING.

use crate::algorithm::{Algorithm, BuildError, Row, Start};
use crate::monitor_interval::Report;
use crate::pcc_sender::Sender;
use crate::range::Checks;
use crate::{Ack, Context, Controller, Interests, LostPacket, Sent, math};
use fairweir_units::{Bytes, Rate};
use rand::Rng;
use serde::{Deserialize, Serialize};

/// Parameters of PCC Allegro.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Loss rate at which the sigmoid is one half.
    pub loss_threshold: f64,
    /// Slope of the sigmoid, per unit of loss rate.
    pub sigmoid_slope: f64,
    /// Minimum step of a trial, and its increment, as a fraction of the rate.
    pub eps_min: f64,
    /// Maximum step of a trial.
    pub eps_max: f64,
    /// Minimum interval, RTTs.
    pub interval_rtts_min: f64,
    /// Maximum interval, RTTs.
    pub interval_rtts_max: f64,
    /// Minimum packets in an interval.
    pub interval_min_pkts: u64,
    /// STARTING continues while utility divided by rate is at least this fraction of its previous value.
    pub starting_threshold: f64,
    /// Initial rate.
    #[serde(with = "crate::quantity")]
    pub initial_rate: Rate,
    /// Minimum rate, packets per RTT.
    pub min_pkts_per_rtt: f64,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            loss_threshold: 0.05,
            sigmoid_slope: 100.0,
            eps_min: 0.01,
            eps_max: 0.05,
            interval_rtts_min: 1.7,
            interval_rtts_max: 2.2,
            interval_min_pkts: 10,
            starting_threshold: 0.75,
            initial_rate: Rate::from_bytes_per_sec(512_000 / 8),
            min_pkts_per_rtt: 2.0,
        }
    }
}

impl Params {
    fn validate(&self) -> Result<(), BuildError> {
        let checks = Checks { algorithm: "pcc_allegro" }
            .fraction("eps_min", self.eps_min)?
            .fraction("eps_max", self.eps_max)?
            .positive("interval_rtts_min", self.interval_rtts_min, 1e3)?
            .positive("interval_rtts_max", self.interval_rtts_max, 1e3)?
            .within("interval_min_pkts", self.interval_min_pkts, 1..=1_000_000)?
            .within("loss_threshold", self.loss_threshold, 0.0..=1.0)?
            .within("sigmoid_slope", self.sigmoid_slope, 0.0..=1e6)?
            .within("starting_threshold", self.starting_threshold, 0.0..=1.0)?
            .positive("min_pkts_per_rtt", self.min_pkts_per_rtt, 1e6)?;
        if self.eps_min > self.eps_max {
            return checks.refuse("eps_min", "not exceed eps_max", &self.eps_min);
        }
        if self.interval_rtts_min > self.interval_rtts_max {
            return checks.refuse("interval_rtts_min", "not exceed interval_rtts_max", &self.interval_rtts_min);
        }
        if self.initial_rate == Rate::ZERO {
            return checks.refuse("initial_rate", "be positive", &self.initial_rate);
        }
        Ok(())
    }
}

impl Row for PccAllegro {
    const NAME: &'static str = "pcc_allegro";
    const SUMMARY: &'static str = "rate control by experiment, utility tolerates 5 % loss (NSDI 2015)";
    type Params = Params;

    fn build(start: &Start, params: Params) -> Result<PccAllegro, BuildError> {
        params.validate()?;
        Ok(PccAllegro::new(params, start))
    }
}

/// PCC Allegro, as a row of the list of controllers.
pub const ALGORITHM: Algorithm = Algorithm::of::<PccAllegro>();

/// Direction of the rate change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
}

/// A rate that was tried, and its utility.
#[derive(Clone, Copy, Debug)]
struct Tried {
    rate: Rate,
    utility: f64,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// Doubling; the last interval, if there was one.
    Starting { last: Option<Tried> },
    /// Trials on both sides of the rate, `eps` away.
    Deciding { eps: f64 },
    /// Step `n` of a move; the last rate that improved the utility.
    Adjusting { direction: Direction, n: u32, last: Tried },
}

/// PCC Allegro.
#[derive(Clone, Debug)]
pub struct PccAllegro {
    params: Params,
    sender: Sender,
    phase: Phase,
    utility: f64,
}

impl PccAllegro {
    /// Creates the state of a new connection.
    pub fn new(params: Params, start: &Start) -> PccAllegro {
        PccAllegro {
            sender: Sender::new(start, params.initial_rate, params.interval_min_pkts),
            params,
            phase: Phase::Starting { last: None },
            utility: 0.0,
        }
    }

    /// Utility of an interval sent at `rate`, Mbps, of which `throughput` arrived and the share `loss_rate` was lost.
    fn utility(&self, rate: f64, throughput: f64, loss_rate: f64) -> f64 {
        let excess = loss_rate - self.params.loss_threshold;
        let sigmoid = 1.0 / (1.0 + math::exp(self.params.sigmoid_slope * excess));
        throughput * sigmoid - rate * loss_rate
    }

    fn utility_of(&self, report: &Report) -> f64 {
        self.utility(report.rate_mbps, report.rate_mbps * (1.0 - report.loss_rate), report.loss_rate)
    }

    fn floor(&self) -> Rate {
        Rate::from_bytes_per_sec((self.sender.per_rtt(self.params.min_pkts_per_rtt) as u64).max(1))
    }

    fn scaled(&self, rate: Rate, by: f64) -> Rate {
        Rate::from_bytes_per_sec((rate.bytes_per_sec() as f64 * by) as u64).max(self.floor())
    }

    fn decide(&mut self, reports: &[Report], cx: &mut Context<'_>) {
        match self.phase {
            Phase::Starting { last } => self.decide_starting(&reports[0], last, cx),
            Phase::Deciding { eps } => self.decide_deciding(reports, eps, cx),
            Phase::Adjusting { direction, n, last } => self.decide_adjusting(&reports[0], direction, n, last, cx),
        }
    }

    fn decide_starting(&mut self, report: &Report, last: Option<Tried>, cx: &mut Context<'_>) {
        let loss_rate = report.loss_rate_at_least();
        self.utility = self.utility(report.rate_mbps, report.throughput_mbps, loss_rate);
        // By the planned rate, so that a sender that cannot use it (application, cwnd) stops doubling as well.
        let per_rate = self.utility / report.target.as_mbps_f64();
        match last {
            // The comparison is per rate, so the stored utility is too.
            Some(tried) if per_rate < tried.utility * self.params.starting_threshold => {
                self.sender.rate = tried.rate;
                self.begin_deciding(self.params.eps_min, cx);
            }
            _ => {
                self.phase = Phase::Starting { last: Some(Tried { rate: self.sender.rate, utility: per_rate }) };
                self.sender.rate = self.scaled(self.sender.rate, 2.0);
                self.sender.plan([self.sender.rate]);
            }
        }
    }

    fn begin_deciding(&mut self, eps: f64, cx: &mut Context<'_>) {
        self.phase = Phase::Deciding { eps };
        let (up, down) = (self.scaled(self.sender.rate, 1.0 + eps), self.scaled(self.sender.rate, 1.0 - eps));
        let coins = cx.rng.next_u32();
        let pair = |is_up_first: bool| if is_up_first { [up, down] } else { [down, up] };
        self.sender.plan([pair(coins & 1 == 0), pair(coins & 2 == 0)].into_iter().flatten());
    }

    fn decide_deciding(&mut self, reports: &[Report], eps: f64, cx: &mut Context<'_>) {
        let mut votes = 0;
        let (mut up, mut down) =
            (Tried { rate: self.sender.rate, utility: 0.0 }, Tried { rate: self.sender.rate, utility: 0.0 });
        for pair in reports.chunks_exact(2) {
            let (high, low) =
                if pair[0].target >= pair[1].target { (&pair[0], &pair[1]) } else { (&pair[1], &pair[0]) };
            let (u_high, u_low) = (self.utility_of(high), self.utility_of(low));
            votes += i32::from(u_high > u_low) - i32::from(u_high < u_low);
            up = Tried { rate: high.target, utility: up.utility + u_high / 2.0 };
            down = Tried { rate: low.target, utility: down.utility + u_low / 2.0 };
        }
        let (direction, winner) = match votes {
            2 => (Direction::Up, up),
            -2 => (Direction::Down, down),
            _ => {
                let wider = (eps + self.params.eps_min).min(self.params.eps_max);
                return self.begin_deciding(wider, cx);
            }
        };
        self.utility = winner.utility;
        self.step(direction, 1, winner);
    }

    fn decide_adjusting(&mut self, report: &Report, direction: Direction, n: u32, last: Tried, cx: &mut Context<'_>) {
        self.utility = self.utility_of(report);
        if self.utility > last.utility {
            self.step(direction, n + 1, Tried { rate: self.sender.rate, utility: self.utility });
        } else {
            self.sender.rate = last.rate;
            self.begin_deciding(self.params.eps_min, cx);
        }
    }

    /// Step `n` of a move from `last`.
    fn step(&mut self, direction: Direction, n: u32, last: Tried) {
        let change = f64::from(n) * self.params.eps_min;
        let by = if direction == Direction::Up { 1.0 + change } else { (1.0 - change).max(0.5) };
        self.sender.rate = self.scaled(last.rate, by);
        self.phase = Phase::Adjusting { direction, n, last };
        self.sender.plan([self.sender.rate]);
    }
}

impl Controller for PccAllegro {
    fn on_ack(&mut self, ack: &Ack<'_>, cx: &mut Context<'_>) {
        if let Some(reports) = self.sender.on_ack(ack, cx) {
            self.decide(&reports, cx);
        }
    }

    fn on_send(&mut self, _sent: &Sent<'_>, cx: &mut Context<'_>) {
        let (min, max) = (self.params.interval_rtts_min, self.params.interval_rtts_max);
        self.sender.on_send(cx, |rng| {
            let uniform = f64::from(rng.next_u32()) / 4_294_967_296.0;
            min + uniform * (max - min)
        });
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
        let (phase, eps) = match self.phase {
            Phase::Starting { .. } => (0.0, 0.0),
            Phase::Deciding { eps } => (1.0, eps),
            Phase::Adjusting { n, .. } => (2.0, f64::from(n) * self.params.eps_min),
        };
        emit("phase", phase);
        emit("eps", eps);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Path};
    use fairweir_units::{Dur, Time};
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;
    use serde_json::Value;

    fn bench(path: Path) -> Bench {
        Bench::of("pcc_allegro", &Value::Null, path)
    }

    fn warmed_up(path: Path, secs: u64) -> Bench {
        let mut bench = bench(path);
        bench.run_until(Time::from_nanos(secs * 1_000_000_000), |_| ());
        bench
    }

    fn start() -> Start {
        Start { mss: Bytes(1500), initial_cwnd: Bytes(15_000), oracle_rtprop: None, first_packet: 0, seed: 1 }
    }

    #[test]
    fn utility_is_the_papers() {
        let allegro = PccAllegro::new(Params::default(), &start());
        // Without loss the sigmoid is 1 / (1 + e^-5).
        assert!((allegro.utility(10.0, 10.0, 0.0) - 9.933_071_490_757_153).abs() < 1e-9);
        // At the threshold it is one half: 10 * 0.95 / 2 - 10 * 0.05.
        assert!((allegro.utility(10.0, 9.5, 0.05) - 4.25).abs() < 1e-9);
        // Beyond it the loss term is all that is left.
        assert!((allegro.utility(10.0, 8.0, 0.2) + 2.0).abs() < 1e-3);
    }

    #[test]
    fn fills_the_link() {
        assert!(warmed_up(Path::droptail(48, 40, 1), 15).utilization_for(Dur::from_secs(30)) > 0.9);
    }

    #[test]
    fn tolerates_two_and_four_percent_of_loss_and_not_ten() {
        let utilization = |every: u64| {
            let path = Path { lose_every: Some(every), ..Path::droptail(48, 40, 1) };
            warmed_up(path, 30).utilization_for(Dur::from_secs(30))
        };
        assert!(utilization(50) > 0.9, "2 %: {}", utilization(50));
        assert!(utilization(25) > 0.9, "4 %: {}", utilization(25));
        assert!(utilization(10) < 0.1, "10 %: {}", utilization(10));
    }

    #[test]
    fn an_unlimited_buffer_ends_the_doubling() {
        let mut bench = bench(Path { buffer: 1 << 30, ..Path::droptail(24, 20, 1) });
        let mut peak = 0.0f64;
        bench.run_until(Time::from_nanos(2_000_000_000), |b| {
            peak = peak.max(b.telemetry("base_rate_mbps"));
        });
        assert!(peak < 60.0, "{peak} Mbps");
    }

    #[test]
    fn a_sender_that_cannot_use_its_rate_stops_doubling() {
        let mut allegro = PccAllegro::new(Params::default(), &start());
        allegro.sender.srtt = Dur::from_millis(40);
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut cx = Context { now: Time::ZERO, rng: &mut rng };
        // The application has half a Mbps to send, at any rate.
        let report = |allegro: &PccAllegro| Report {
            target: allegro.sender.rate,
            rate_mbps: 0.5,
            sent: 10,
            loss_rate: 0.0,
            throughput_mbps: 0.5,
            rtt_gradient: 0.0,
            rtts: crate::monitor_interval::RttStats::default(),
        };
        allegro.decide(&[report(&allegro)], &mut cx);
        allegro.decide(&[report(&allegro)], &mut cx);
        assert!(matches!(allegro.phase, Phase::Deciding { .. }));
        assert_eq!(allegro.sender.rate, Params::default().initial_rate);
    }

    #[test]
    fn bad_parameters_are_rejected() {
        for params in [
            serde_json::json!({"eps_min": 0.0}),
            serde_json::json!({"eps_min": 0.1}),
            serde_json::json!({"interval_rtts_min": 3.0}),
            serde_json::json!({"interval_min_pkts": 0}),
            serde_json::json!({"initial_rate": "0Mbps"}),
            serde_json::json!({"initial_rate": 64000}),
            serde_json::json!({"epsilon": 0.01}),
        ] {
            assert!((ALGORITHM.build)(&params, &start()).is_err(), "{params}");
        }
        assert!((ALGORITHM.build)(&(ALGORITHM.defaults)(), &start()).is_ok());
    }
}
