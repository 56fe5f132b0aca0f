//! Poseidon: multiplicative steps towards a target delay that falls with the logarithm of the rate.
//!
//! Model, cwnd in packets, rate = cwnd / RTT, per ACK, with delay = the queueing delay, L = ln(rate_max / rate_min):
//!
//! - target(rate) = k + p ln(rate_max / rate) / L;
//! - U = exp(m L (target - delay) / p);
//! - delay <= target: cwnd += (U - 1) acked, which is a factor of U per RTT, at most largest_step;
//! - otherwise, at most once per RTT: cwnd *= U, at least 1 / largest_step;
//! - loss: cwnd / 2; timeout: cwnd = 1 + inflight, slow start to half.
//!
//! Contract: rate = rate_max e^(-L (delay - k) / p), exponential: n flows need L^-1 p ln n more delay than one. U is
//! (rate of the contract / rate)^m.
//!
//! ```text
//!   delay <= target(rate): grow <----> delay > target(rate): cwnd *= U, once per RTT
//! ```
//!
//! **Source**: Wang et al., "Poseidon", NSDI 2023; its contract in thesis Table 6.2 and its dynamics in section 6.4.
//!
//! **Deviations**: the paper's signal is the maximum delay of any hop, reported by switches; here hops do not report,
//! so it is the total queueing delay, and the paper's max-min fairness on several bottlenecks is lost. The mechanism
//! follows the thesis. The paper's constants are for a data center (m about 1/4); ours are for wide-area paths, where
//! the effect of a step is seen after an RTT much longer than the controlled delays: m (rtprop + delay) must be below p
//! / L or the flow oscillates.

use crate::algorithm::{Algorithm, BuildError, Row, Start};
use crate::delay::qdelay;
use crate::fluid_window::FluidWindow;
use crate::math::{exp, ln};
use crate::range::Checks;
use crate::{Ack, Context, Controller, Loss};
use fairweir_units::{Bytes, Dur, Rate, Time};
use serde::{Deserialize, Serialize};

/// Name in scenarios.
const NAME: &str = "poseidon";

/// Fraction of the window that remains after a loss.
const BETA: f64 = 0.5;

/// Parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Rate at which the target is `k`; positive.
    #[serde(with = "crate::quantity")]
    pub rate_max: Rate,
    /// Rate at which the target is `k` + `p`; positive, below `rate_max`.
    #[serde(with = "crate::quantity")]
    pub rate_min: Rate,
    /// Range of the target; positive, at most an hour.
    #[serde(with = "crate::quantity")]
    pub p: Dur,
    /// Minimum target; at most an hour.
    #[serde(with = "crate::quantity")]
    pub k: Dur,
    /// Weight of an update; positive, at most 1.
    pub m: f64,
    /// Maximum factor of the window per RTT, in either direction; above 1, at most 1000.
    pub largest_step: f64,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            rate_max: Rate::from_mbps(1000),
            rate_min: Rate::from_mbps(1),
            p: Dur::from_millis(50),
            k: Dur::ZERO,
            m: 0.1,
            largest_step: 2.0,
        }
    }
}

impl Params {
    fn check(&self) -> Result<(), BuildError> {
        let checks = Checks { algorithm: NAME }
            .some_rate("rate_max", self.rate_max)?
            .some_rate("rate_min", self.rate_min)?
            .some_time("p", self.p)?
            .at_most_an_hour("k", self.k)?
            .positive("m", self.m, 1.0)?
            .within("largest_step", self.largest_step, 1.001..=1000.0)?;
        if self.rate_max <= self.rate_min {
            return checks.refuse("rate_max", "be larger than rate_min", &self.rate_max);
        }
        Ok(())
    }
}

impl Row for Poseidon {
    const NAME: &'static str = NAME;
    const SUMMARY: &'static str = "multiplicative steps to a delay target that is logarithmic in the rate (NSDI 2023)";
    type Params = Params;

    fn build(start: &Start, params: Params) -> Result<Poseidon, BuildError> {
        params.check()?;
        Ok(Poseidon::new(start, &params))
    }
}

/// Poseidon, as a row of the list of controllers.
pub const ALGORITHM: Algorithm = Algorithm::of::<Poseidon>();

/// The contract and the weight of a step.
#[derive(Clone, Copy, Debug)]
struct Law {
    /// bytes/s
    rate_max: f64,
    /// p / L, s: delay that a factor of e in rate costs.
    s0: f64,
    /// s
    k: f64,
    m: f64,
    largest_step: f64,
}

impl Law {
    fn new(params: &Params) -> Law {
        let (rate_max, rate_min) = (params.rate_max.bytes_per_sec() as f64, params.rate_min.bytes_per_sec() as f64);
        Law {
            rate_max,
            s0: params.p.as_secs_f64() / ln(rate_max / rate_min),
            k: params.k.as_secs_f64(),
            m: params.m,
            largest_step: params.largest_step,
        }
    }

    /// Delay that belongs to `rate` in bytes/s, s; negative above rate_max without k.
    fn target(&self, rate: f64) -> f64 {
        self.k + self.s0 * ln(self.rate_max / rate)
    }

    /// U.
    fn step(&self, target: f64, delay: f64) -> f64 {
        exp(self.m * (target - delay) / self.s0).clamp(1.0 / self.largest_step, self.largest_step)
    }
}

/// Poseidon.
#[derive(Clone, Debug)]
pub struct Poseidon {
    window: FluidWindow,
    law: Law,
    mss: f64,
    srtt: Dur,
    last_decrease: Option<Time>,
    /// Target at the last ACK, s.
    target: f64,
    delay: f64,
}

impl Poseidon {
    /// Creates the state of a new connection.
    pub fn new(start: &Start, params: &Params) -> Poseidon {
        let mut window = FluidWindow::new(start, 1.0);
        // growth is multiplicative, so slow start is not needed
        window.leave_slow_start();
        Poseidon {
            window,
            law: Law::new(params),
            mss: start.mss.0 as f64,
            srtt: Dur::ZERO,
            last_decrease: None,
            target: 0.0,
            delay: 0.0,
        }
    }

    fn steer(&mut self, rtt: Dur, ack: &Ack<'_>, now: Time) {
        let rate = self.window.pkts() * self.mss / rtt.as_secs_f64();
        self.target = self.law.target(rate);
        let step = self.law.step(self.target, self.delay);
        if self.delay <= self.target {
            if self.window.is_in_slow_start() {
                self.window.double(ack.acked);
            } else if ack.sender.is_cwnd_limited {
                self.window.set(self.window.pkts() + (step - 1.0) * ack.acked as f64);
            }
        } else if self.last_decrease.is_none_or(|last| now.since(last) >= rtt) {
            self.window.set(self.window.pkts() * step);
            self.window.leave_slow_start();
            self.last_decrease = Some(now);
        }
    }
}

impl Controller for Poseidon {
    #[inline]
    fn on_ack(&mut self, ack: &Ack<'_>, cx: &mut Context<'_>) {
        self.srtt = ack.sender.srtt;
        let Some(rtt) = ack.rtt else { return };
        self.delay = qdelay(ack.sender, rtt).as_secs_f64();
        if !ack.sender.is_reducing() {
            self.steer(rtt, ack, cx.now);
        }
    }

    fn on_loss(&mut self, loss: &Loss<'_>, _cx: &mut Context<'_>) {
        self.window.cut(BETA, loss);
    }

    #[inline]
    fn cwnd(&self) -> Bytes {
        self.window.cwnd()
    }

    #[inline]
    fn pacing_rate(&self) -> Option<Rate> {
        self.window.paced_within(self.srtt)
    }

    fn ssthresh(&self) -> Option<Bytes> {
        Some(self.window.ssthresh())
    }

    fn telemetry(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("cwnd_pkts", self.window.pkts());
        emit("target_delay_ms", self.target * 1e3);
        emit("delay_ms", self.delay * 1e3);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::typed;
    use crate::testing::{Bench, MSS, Path, refusal};
    use serde_json::Value;
    use serde_json::json;

    fn law(params: &Value) -> Law {
        Law::new(&typed(NAME, params).expect("parameters"))
    }

    #[test]
    fn the_target_runs_from_k_to_k_and_p() {
        let law = law(&json!({"k": "5ms"}));
        for (mbps, ms) in [(1000.0, 5.0), (1.0, 55.0), (31.622_776_601_683_8, 30.0)] {
            assert!((law.target(mbps * 125e3) * 1e3 - ms).abs() < 1e-6, "{mbps}");
        }
    }

    #[test]
    fn a_step_is_a_power_of_the_ratio_of_rates() {
        // at the delay of 31.6 Mbps a flow of 1 Mbps has ratio 31.6^0.25
        let law = law(&json!({"largest_step": 1000.0, "m": 0.25}));
        let step = law.step(law.target(125e3), 0.025);
        assert!((step - 31.622_776_6f64.powf(0.25)).abs() < 1e-6, "{step}");
        assert!((law.step(0.025, law.target(125e3)) * step - 1.0).abs() < 1e-9);
    }

    #[test]
    fn one_flow_rests_on_the_curve() {
        for mbps in [12, 96, 200] {
            let mut bench = Bench::of(NAME, &Value::Null, Path::droptail(mbps, 40, 20));
            bench.run_until(Time::from_nanos(20_000_000_000), |_| ());
            let base = (bench.path.rtprop + MSS / bench.path.rate).as_secs_f64();
            let wanted = 0.05 / 1000f64.ln() * (1000.0 / mbps as f64).ln();
            let (mut q, mut n) = (0.0, 0.0);
            bench.run_until(bench.now + Dur::from_secs(20), |b| {
                q += b.rtt.as_secs_f64() - base;
                n += 1.0;
            });
            assert!((q / n / wanted - 1.0).abs() < 0.05, "{mbps} Mbps: {} ms, not {}", q / n * 1e3, wanted * 1e3);
        }
    }

    #[test]
    fn bad_parameters_are_named() {
        for (params, word) in [
            (json!({"rate_max": "1Mbps"}), "rate_max"),
            (json!({"rate_min": "0Mbps"}), "rate_min"),
            (json!({"p": "0ms"}), "p must"),
            (json!({"k": "2h"}), "k must"),
            (json!({"m": 0.0}), "m must"),
            (json!({"largest_step": 0.5}), "largest_step"),
            (json!({"alpha": 1}), "alpha"),
        ] {
            assert!(refusal(&ALGORITHM, &params).contains(word), "{params}");
        }
    }
}
