//! A contract with canonical updates: any decreasing function between delay and rate, one update every few rounds.
//!
//! Model, cwnd in packets, R the propagation delay, s the statistic of the queueing delays since the last update,
//! rate = cwnd / (R + s):
//!
//! | function | rate(s) | delay(rate) |
//! | --- | --- | --- |
//! | power | c0 (s0 / s)^p | s0 (c0 / rate)^(1/p) |
//! | exponential | c0 e^(-s/s0) | s0 ln(c0 / rate) |
//! | logarithmic (ICC) | c0 ln(s0 / s) | s0 e^(-rate/c0) |
//! | linear (Astraea) | c0 (1 - s/s0) | s0 (1 - rate/c0) |
//!
//! | dynamics | cwnd becomes |
//! | --- | --- |
//! | rtt_ratio | cwnd (R + delay(rate)) / (R + s) |
//! | rate_ratio | cwnd rate(s) / rate |
//! | delay_ratio | cwnd delay(rate) / s |
//!
//! The step is damped, cwnd + gain (target - cwnd), and bounded by a factor. The fixed point of n flows is rate(s) =
//! C/n, with C (R + s) / n packets in flight each. With the function power and gain g, rtt_ratio is stable at the fixed
//! point only if g s / (p (R + s)) < 2 (docs/contracts.md): always for p >= 1, but for p = 1/3 and g = 1 only if s < 2 R;
//! for p = 1/2 the left side tends to 2 as s grows, and many flows oscillate. rate_ratio and delay_ratio are stable only
//! on some links.
//!
//! ```text
//!               the delay at a round's start exceeds delay(rate)
//!   slow start --------------------------------------------------> the contract
//! ```
//!
//! **Source**: thesis sections 6.4 (dynamics), 6.5 (an update every two RTTs, the minimum delay since the last one) and
//! Table 6.2 (functions).
//!
//! **Deviations**: ICC and Astraea here are only their contracts, not their mechanisms. Slow start, the response to
//! loss (cwnd / 2; timeout: 1 + inflight) and pacing at up to 2 cwnd / srtt are ours: contracts on delay do not define
//! them. R is the minimum RTT so far, or the oracle's. An unused window does not grow.

mod curve;
#[cfg(test)]
mod tests;

use crate::algorithm::{Algorithm, BuildError, Row, Start};
use crate::delay::{Rounds, qdelay, rtprop};
use crate::fluid_window::FluidWindow;
use crate::range::Checks;
use crate::{Ack, Context, Controller, Loss, Sender};
use curve::Curve;
pub use curve::Function;
use fairweir_units::{Bytes, Dur, Rate};
use serde::{Deserialize, Serialize};

/// Name in scenarios.
const NAME: &str = "contract";

/// Fraction of the window that remains after a loss.
const BETA: f64 = 0.5;

/// Statistic of the samples since the last update that is used as the delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Statistic {
    /// The minimum; it ignores bursts, but detects a growing queue late.
    Min,
    /// The mean.
    Mean,
    /// The maximum.
    Max,
    /// The latest sample.
    Latest,
}

/// How the window approaches the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dynamics {
    /// Multiply the window by target RTT / RTT (FAST).
    RttRatio,
    /// Multiply the window by target rate / rate (Poseidon).
    RateRatio,
    /// Multiply the window by target delay / delay.
    DelayRatio,
}

/// Parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// The family of functions.
    pub function: Function,
    /// The function's rate constant; positive.
    #[serde(with = "crate::quantity")]
    pub c0: Rate,
    /// The function's delay constant; positive, at most an hour.
    #[serde(with = "crate::quantity")]
    pub s0: Dur,
    /// p of the power function; 0.05 to 20.
    pub exponent: f64,
    /// The statistic used as delay.
    pub statistic: Statistic,
    /// The update rule of the window.
    pub dynamics: Dynamics,
    /// Number of rounds between updates; 1 to 100.
    pub update_rounds: u32,
    /// Fraction of the distance to the target that an update covers; positive, at most 1.
    pub gain: f64,
    /// Maximum factor by which an update changes the window, in either direction; above 1, at most 1000.
    pub largest_step: f64,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            function: Function::Power,
            c0: Rate::from_mbps(100),
            s0: Dur::from_millis(1),
            exponent: 1.0,
            statistic: Statistic::Min,
            dynamics: Dynamics::RttRatio,
            update_rounds: 2,
            gain: 1.0,
            largest_step: 4.0,
        }
    }
}

impl Params {
    fn check(&self) -> Result<(), BuildError> {
        Checks { algorithm: NAME }
            .some_rate("c0", self.c0)?
            .some_time("s0", self.s0)?
            .within("exponent", self.exponent, 0.05..=20.0)?
            .within("update_rounds", self.update_rounds, 1..=100)?
            .positive("gain", self.gain, 1.0)?
            .within("largest_step", self.largest_step, 1.001..=1000.0)?;
        Ok(())
    }
}

impl Row for Contract {
    const NAME: &'static str = NAME;
    const SUMMARY: &'static str =
        "any contract between delay and rate, followed by the ratio of RTTs (thesis section 6.4)";
    type Params = Params;

    fn build(start: &Start, params: Params) -> Result<Contract, BuildError> {
        params.check()?;
        Ok(Contract::new(start, params))
    }
}

/// The canonical contracts, as a row of the list of controllers.
pub const ALGORITHM: Algorithm = Algorithm::of::<Contract>();

/// Statistics of the delays since the last update, s.
#[derive(Clone, Copy, Debug)]
struct Samples {
    min: f64,
    max: f64,
    sum: f64,
    latest: f64,
    count: u64,
}

impl Samples {
    const NONE: Samples = Samples { min: f64::INFINITY, max: 0.0, sum: 0.0, latest: 0.0, count: 0 };

    #[inline]
    fn add(&mut self, delay: f64) {
        self.min = self.min.min(delay);
        self.max = self.max.max(delay);
        self.sum += delay;
        self.latest = delay;
        self.count += 1;
    }

    fn statistic(&self, which: Statistic) -> Option<f64> {
        (self.count > 0).then(|| match which {
            Statistic::Min => self.min,
            Statistic::Mean => self.sum / self.count as f64,
            Statistic::Max => self.max,
            Statistic::Latest => self.latest,
        })
    }
}

/// A flow that follows a contract.
#[derive(Clone, Debug)]
pub struct Contract {
    params: Params,
    curve: Curve,
    window: FluidWindow,
    mss: f64,
    rounds: Rounds,
    /// Rounds since the last update.
    rounds_waited: u32,
    samples: Samples,
    srtt: Dur,
    /// Delay at which the contract's rate equals the flow's rate at the last update, s.
    target: f64,
}

impl Contract {
    /// Creates the state of a new connection.
    pub fn new(start: &Start, params: Params) -> Contract {
        Contract {
            curve: Curve::new(params.function, params.exponent, params.c0, params.s0),
            window: FluidWindow::new(start, 1.0),
            mss: start.mss.0 as f64,
            rounds: Rounds::default(),
            rounds_waited: 0,
            samples: Samples::NONE,
            srtt: Dur::ZERO,
            target: 0.0,
            params,
        }
    }

    /// Returns the flow's rate, bytes/s, at a propagation delay of `rtprop` and a queueing delay of `s` seconds.
    fn rate(&self, rtprop: f64, s: f64) -> f64 {
        self.window.pkts() * self.mss / (rtprop + s)
    }

    /// Returns the window after an update with a queueing delay of `s` seconds, packets.
    fn next(&self, rtprop: f64, s: f64) -> f64 {
        let rate = self.rate(rtprop, s);
        let ratio = match self.params.dynamics {
            Dynamics::RttRatio => (rtprop + self.curve.delay(rate)) / (rtprop + s),
            Dynamics::RateRatio => self.curve.rate(s) / rate,
            Dynamics::DelayRatio => self.curve.delay(rate) / s,
        };
        let Params { gain, largest_step, .. } = self.params;
        // 0/0: the queue is empty and the contract's delay is zero
        let ratio = if ratio.is_nan() { 1.0 } else { ratio.clamp(1.0 / largest_step, largest_step) };
        self.window.pkts() * (1.0 + gain * (ratio - 1.0))
    }

    /// Processes `min_rtt` at the start of a round in slow start.
    fn look(&mut self, min_rtt: Dur, sender: &Sender) {
        let (rtprop, s) = (rtprop(sender).as_secs_f64(), qdelay(sender, min_rtt).as_secs_f64());
        if s > self.curve.delay(self.rate(rtprop, s)) {
            self.window.leave_slow_start();
            self.restart();
        }
    }

    /// Processes the end of a round outside slow start.
    fn on_round(&mut self, sender: &Sender) {
        self.rounds_waited += 1;
        if self.rounds_waited >= self.params.update_rounds
            && let Some(s) = self.samples.statistic(self.params.statistic)
        {
            self.update(rtprop(sender).as_secs_f64(), s, sender);
            self.restart();
        }
    }

    fn restart(&mut self) {
        self.rounds_waited = 0;
        self.samples = Samples::NONE;
    }

    fn update(&mut self, rtprop: f64, s: f64, sender: &Sender) {
        self.target = self.curve.delay(self.rate(rtprop, s));
        let next = self.next(rtprop, s);
        if next < self.window.pkts() || sender.is_cwnd_limited {
            self.window.set(next);
        }
    }
}

impl Controller for Contract {
    #[inline]
    fn on_ack(&mut self, ack: &Ack<'_>, _cx: &mut Context<'_>) {
        self.srtt = ack.sender.srtt;
        let progress = self.rounds.on_ack(ack);
        if ack.sender.is_reducing() {
            return;
        }
        if self.window.is_in_slow_start() {
            if let Some(min_rtt) = progress.first_look() {
                self.look(min_rtt, ack.sender);
            }
            if ack.sender.is_cwnd_limited {
                self.window.double(ack.acked);
            }
            return;
        }
        if progress.is_over() {
            self.on_round(ack.sender);
        }
        if let Some(rtt) = ack.rtt {
            self.samples.add(qdelay(ack.sender, rtt).as_secs_f64());
        }
    }

    fn on_loss(&mut self, loss: &Loss<'_>, _cx: &mut Context<'_>) {
        self.window.cut(BETA, loss);
        self.restart();
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
        emit("target_qdelay_ms", self.target * 1e3);
    }
}
