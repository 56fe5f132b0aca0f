//! Swift: AIMD on delay, with a target delay that decreases with the window.
//!
//! Model, cwnd in packets, per ACK, with delay = RTT of the newest packet acknowledged:
//!
//! - target = rtprop + base_target + clamp(a / sqrt(cwnd) + b, 0, fs_range), where
//!   a = fs_range / (1/sqrt(fs_min) - 1/sqrt(fs_max)) and b = -a / sqrt(fs_max);
//! - delay < target: cwnd += ai acked / max(cwnd, 1);
//! - otherwise, at most once per RTT: cwnd *= max(1 - beta (delay - target) / delay, 1 - max_mdf);
//! - loss or timeout, at most once per RTT: cwnd *= 1 - max_mdf; the fifth timeout in a row: cwnd = min_cwnd;
//! - cwnd < 1: one packet in flight, paced at cwnd / RTT.
//!
//! Contract, with base_target 0 and no clamps: q = a / sqrt(cwnd), so rate = a^2 / (q^2 (rtprop + q)): proportional
//! to 1/q^2, with a bias against long RTTs. The queue of n equal flows grows as sqrt(n).
//!
//! ```text
//!               the minimum delay of a round's first ACKs reaches the target
//!   slow start ------------------------------------------------------------> AIMD about the target
//! ```
//!
//! **Source**: Kumar et al., "Swift", SIGCOMM 2020, section 3; the published htsim model, in which the delay is the
//! whole RTT; thesis sections 6.3 and 6.5.
//!
//! **Deviations**: the paper's base target covers propagation and hops of one data center; here propagation is the
//! minimum RTT (or the oracle's value), and base_target is the queueing delay tolerated in addition, zero by default
//! because it changes the contract. Flow scaling is set for wide-area delays (100 ms at a tenth of a packet, 1.3 ms at 500
//! packets; htsim: 100 us, ends at 100 packets). There is no hop scaling and no separate target for the end host. Slow
//! start (the paper has none) doubles per RTT; from 10 packets, additive increase alone would take 26 s to fill 200 Mbps
//! at 40 ms.

use crate::algorithm::{Algorithm, BuildError, Row, Start};
use crate::delay::{Rounds, rtprop};
use crate::fluid_window::FluidWindow;
use crate::range::Checks;
use crate::{Ack, Cause, Context, Controller, Loss, Sender};
use fairweir_units::{Bytes, Dur, Rate, Time};
use serde::{Deserialize, Serialize};

/// Name in scenarios.
const NAME: &str = "swift";

/// Consecutive timeouts after which the window is reset (htsim; the paper's RETX_RESET_THRESHOLD).
const TIMEOUTS_TO_RESET: u32 = 5;

/// Parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Queueing delay tolerated at any window; at most an hour.
    #[serde(with = "crate::quantity")]
    pub base_target: Dur,
    /// Queueing delay tolerated in addition at a window of `fs_min_pkts`; positive, at most an hour.
    #[serde(with = "crate::quantity")]
    pub fs_range: Dur,
    /// Window below which the target does not rise further, packets; positive.
    pub fs_min_pkts: f64,
    /// Window above which flow scaling adds nothing to the target, packets; above `fs_min_pkts`.
    pub fs_max_pkts: f64,
    /// Additive increase, packets per RTT; positive, at most 1000.
    pub ai_pkts: f64,
    /// Weight of the excess delay in a decrease; positive, at most 1.
    pub beta: f64,
    /// Maximum fraction by which one decrease reduces the window; between 0 and 1.
    pub max_mdf: f64,
    /// Minimum window, packets; positive, at most 1.
    pub min_cwnd_pkts: f64,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            base_target: Dur::ZERO,
            fs_range: Dur::from_millis(100),
            fs_min_pkts: 0.1,
            fs_max_pkts: 100_000.0,
            ai_pkts: 1.0,
            beta: 0.8,
            max_mdf: 0.5,
            min_cwnd_pkts: 0.01,
        }
    }
}

impl Params {
    fn check(&self) -> Result<(), BuildError> {
        let checks = Checks { algorithm: NAME }
            .at_most_an_hour("base_target", self.base_target)?
            .some_time("fs_range", self.fs_range)?
            .within("fs_min_pkts", self.fs_min_pkts, 1e-6..=1e9)?
            .within("fs_max_pkts", self.fs_max_pkts, 1e-6..=1e12)?
            .positive("ai_pkts", self.ai_pkts, 1e3)?
            .positive("beta", self.beta, 1.0)?
            .fraction("max_mdf", self.max_mdf)?
            .within("min_cwnd_pkts", self.min_cwnd_pkts, 1e-6..=1.0)?;
        if self.fs_max_pkts <= self.fs_min_pkts {
            return checks.refuse("fs_max_pkts", "be larger than fs_min_pkts", &self.fs_max_pkts);
        }
        Ok(())
    }
}

impl Row for Swift {
    const NAME: &'static str = NAME;
    const SUMMARY: &'static str = "AIMD on delay against a target that falls with the window (SIGCOMM 2020)";
    type Params = Params;

    fn build(start: &Start, params: Params) -> Result<Swift, BuildError> {
        params.check()?;
        Ok(Swift::new(start, &params))
    }
}

/// Swift, as a row of the list of controllers.
pub const ALGORITHM: Algorithm = Algorithm::of::<Swift>();

/// The target queueing delay (seconds) as a function of the window.
#[derive(Clone, Copy, Debug)]
struct TargetScaling {
    base: f64,
    range: f64,
    a: f64,
    b: f64,
}

impl TargetScaling {
    fn new(params: &Params) -> TargetScaling {
        let range = params.fs_range.as_secs_f64();
        let (at_min, at_max) = (1.0 / params.fs_min_pkts.sqrt(), 1.0 / params.fs_max_pkts.sqrt());
        let a = range / (at_min - at_max);
        TargetScaling { base: params.base_target.as_secs_f64(), range, a, b: -a * at_max }
    }

    fn at(&self, cwnd_pkts: f64) -> f64 {
        self.base + (self.a / cwnd_pkts.sqrt() + self.b).clamp(0.0, self.range)
    }
}

/// Swift.
#[derive(Clone, Debug)]
pub struct Swift {
    window: FluidWindow,
    scaling: TargetScaling,
    mss: u64,
    ai_pkts: f64,
    beta: f64,
    max_mdf: f64,
    min_cwnd_pkts: f64,
    rounds: Rounds,
    /// The last RTT sample.
    rtt: Dur,
    last_decrease: Option<Time>,
    timeouts: u32,
}

impl Swift {
    /// Creates the state of a new connection.
    pub fn new(start: &Start, params: &Params) -> Swift {
        Swift {
            window: FluidWindow::new(start, params.min_cwnd_pkts),
            scaling: TargetScaling::new(params),
            mss: start.mss.0,
            ai_pkts: params.ai_pkts,
            beta: params.beta,
            max_mdf: params.max_mdf,
            min_cwnd_pkts: params.min_cwnd_pkts,
            rounds: Rounds::default(),
            rtt: Dur::ZERO,
            last_decrease: None,
            timeouts: 0,
        }
    }

    /// The target RTT, s.
    fn target(&self, sender: &Sender) -> f64 {
        rtprop(sender).as_secs_f64() + self.scaling.at(self.window.pkts())
    }

    fn can_decrease(&self, now: Time) -> bool {
        self.last_decrease.is_none_or(|last| now.since(last) >= self.rtt)
    }

    fn decrease(&mut self, factor: f64, now: Time) {
        self.window.set(self.window.pkts() * factor.max(1.0 - self.max_mdf));
        self.window.leave_slow_start();
        self.last_decrease = Some(now);
    }

    fn increase(&mut self, acked: u64) {
        let pkts = self.window.pkts();
        self.window.set(pkts + self.ai_pkts * acked as f64 / pkts.max(1.0));
    }
}

impl Controller for Swift {
    #[inline]
    fn on_ack(&mut self, ack: &Ack<'_>, cx: &mut Context<'_>) {
        self.timeouts = if ack.acked > 0 { 0 } else { self.timeouts };
        let progress = self.rounds.on_ack(ack);
        let Some(rtt) = ack.rtt else { return };
        self.rtt = rtt;
        if ack.sender.is_reducing() {
            return;
        }
        let (delay, target) = (rtt.as_secs_f64(), self.target(ack.sender));
        if self.window.is_in_slow_start() {
            if progress.first_look().is_some_and(|min_delay| min_delay.as_secs_f64() >= target) {
                self.window.leave_slow_start();
            } else if ack.sender.is_cwnd_limited {
                self.window.double(ack.acked);
            }
        } else if delay < target {
            if ack.sender.is_cwnd_limited {
                self.increase(ack.acked);
            }
        } else if self.can_decrease(cx.now) {
            self.decrease(1.0 - self.beta * (delay - target) / delay, cx.now);
        }
    }

    fn on_loss(&mut self, loss: &Loss<'_>, cx: &mut Context<'_>) {
        self.timeouts += u32::from(loss.cause == Cause::Timeout);
        if self.timeouts >= TIMEOUTS_TO_RESET {
            self.window.set(self.min_cwnd_pkts);
            self.last_decrease = Some(cx.now);
        } else if self.can_decrease(cx.now) {
            self.decrease(1.0 - self.max_mdf, cx.now);
        }
        self.window.leave_slow_start();
    }

    #[inline]
    fn cwnd(&self) -> Bytes {
        self.window.cwnd()
    }

    #[inline]
    fn pacing_rate(&self) -> Option<Rate> {
        if self.window.pkts() >= 1.0 || self.rtt == Dur::ZERO {
            return None;
        }
        let rate = self.window.pkts() * self.mss as f64 / self.rtt.as_secs_f64();
        Some(Rate::from_bytes_per_sec((rate as u64).max(1)))
    }

    fn ssthresh(&self) -> Option<Bytes> {
        Some(self.window.ssthresh())
    }

    fn telemetry(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("cwnd_pkts", self.window.pkts());
        emit("target_qdelay_ms", self.scaling.at(self.window.pkts()) * 1e3);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::typed;
    use crate::testing::{Bench, MSS, Path, refusal};
    use serde_json::Value;
    use serde_json::json;

    fn scaling(params: &Value) -> TargetScaling {
        TargetScaling::new(&typed(NAME, params).expect("parameters"))
    }

    #[test]
    fn the_target_is_the_range_at_fs_min_and_nothing_at_fs_max() {
        // htsim's numbers: base 20 us, range 100 us, from 0.1 to 100 packets
        let s = scaling(&json!({"base_target": "20us", "fs_range": "100us", "fs_max_pkts": 100.0}));
        for (pkts, us) in [(0.01, 120.0), (0.1, 120.0), (100.0, 20.0), (1e4, 20.0)] {
            assert!((s.at(pkts) * 1e6 - us).abs() < 1e-9, "{pkts}: {}", s.at(pkts));
        }
        // a = 100 us / (sqrt(10) - 0.1) = 32.655 us, b = -3.2655 us
        assert!((s.at(25.0) * 1e6 - (20.0 + 32.6557 / 5.0 - 3.26557)).abs() < 1e-3, "{}", s.at(25.0));
    }

    #[test]
    fn the_queue_settles_at_the_target() {
        for mbps in [12, 96, 200] {
            let mut bench = Bench::of(NAME, &Value::Null, Path::droptail(mbps, 40, 20));
            bench.run_until(Time::from_nanos(60_000_000_000), |_| ());
            let base = (bench.path.rtprop + MSS / bench.path.rate).as_secs_f64();
            let (mut q, mut target, mut n) = (0.0, 0.0, 0.0);
            bench.run_until(bench.now + Dur::from_secs(20), |b| {
                q += b.rtt.as_secs_f64() - base;
                target += b.telemetry("target_qdelay_ms") / 1e3;
                n += 1.0;
            });
            // The queue exceeds the target by one increase, and falls below it by one reduction.
            let packet = (MSS / bench.path.rate).as_secs_f64();
            assert!(((q - target) / n).abs() < 1.5 * packet, "{mbps}: {} against {}", q / n, target / n);
            assert!(bench.utilization_for(Dur::from_secs(5)) > 0.999);
        }
    }

    #[test]
    fn below_one_packet_it_paces() {
        let mut swift = Swift::new(
            &Start { mss: MSS, initial_cwnd: MSS, oracle_rtprop: None, first_packet: 0, seed: 0 },
            &Params::default(),
        );
        assert_eq!(swift.pacing_rate(), None);
        swift.rtt = Dur::from_millis(10);
        swift.window.set(0.25);
        assert_eq!(swift.cwnd(), MSS);
        assert_eq!(swift.pacing_rate(), Some(Rate::from_bytes_per_sec(37_500)));
        swift.increase(1);
        assert_eq!(swift.window.pkts(), 1.25);
    }

    #[test]
    fn a_decrease_removes_at_most_half() {
        let mut swift = Swift::new(
            &Start { mss: MSS, initial_cwnd: MSS * 64, oracle_rtprop: None, first_packet: 0, seed: 0 },
            &Params::default(),
        );
        swift.decrease(0.9, Time::ZERO);
        assert!((swift.window.pkts() - 57.6).abs() < 1e-9);
        swift.decrease(0.1, Time::ZERO);
        assert!((swift.window.pkts() - 28.8).abs() < 1e-9);
    }

    #[test]
    fn five_timeouts_in_a_row_set_the_minimum_window() {
        let mut bench = Bench::of(NAME, &Value::Null, Path::droptail(24, 40, 1));
        bench.path.lose_every = Some(1);
        bench.run_until(Time::from_nanos(900_000_000), |_| panic!("nothing arrives"));
        assert_eq!(bench.episodes.2, 5);
        assert_eq!(bench.telemetry("cwnd_pkts"), 0.01);
    }

    #[test]
    fn bad_parameters_are_named() {
        for (params, word) in [
            (json!({"fs_range": "0s"}), "fs_range"),
            (json!({"fs_min_pkts": 0.0}), "fs_min_pkts"),
            (json!({"fs_max_pkts": 0.1}), "fs_max_pkts"),
            (json!({"ai_pkts": -1.0}), "ai_pkts"),
            (json!({"beta": 1.5}), "beta"),
            (json!({"max_mdf": 1.0}), "max_mdf"),
            (json!({"min_cwnd_pkts": 2.0}), "min_cwnd_pkts"),
            (json!({"base_target": "2h"}), "base_target"),
            (json!({"hops": 3}), "hops"),
        ] {
            assert!(refusal(&ALGORITHM, &params).contains(word), "{params}");
        }
    }
}
