//! GCC: Google congestion control, WebRTC's, for media: the rate follows the trend of the delay, and losses above 10 %.
//!
//! Model, A the rate, R the received rate of the last 0.5 s:
//!
//! - packets sent within 5 ms form a group; d is the sum of (arrival time - send time) differences between groups, smoothed
//!   with weight 0.1; the trend is the slope of d over the last 20 groups ([`detector`]);
//! - the signal min(groups, 60) 4 trend is compared with an adaptive threshold of 6 to 600 ms: above it for 10 ms is
//!   over-use, below its negative under-use;
//! - over-use: A = 0.85 R, at most once per RTT; under-use: hold; else A *= 1.08 per second, or, if over-use has
//!   shown a capacity, A += packet size / (RTT + 100 ms) per second; at most 1.5 R + 10 kbps ([`rate`]);
//! - loss rate p per report of at least 300 ms: above 10 %: A_loss = A (1 - p / 2); below 2 %: A_loss = 1.08 A once
//!   per second;
//! - the pacing rate is the minimum of both; cwnd = 2 rate srtt.
//!
//! ```text
//!             over-use                 normal
//!   increase ----------> decrease -> hold ---> increase;   under-use: hold
//! ```
//!
//! **Source**: draft-ietf-rmcat-gcc-02 §5 (delay-based), §6 (loss-based); the trendline filter, which replaced the draft's
//! Kalman filter, its constants and the times of the loss-based controller are those of WebRTC (goog_cc).
//!
//! **Deviations**: media, bandwidth probes, the pacer's factor of 2.5 and WebRTC's later loss-based estimator are left out:
//! the flow always has data, and its pacing rate is the target. Arrival times are those of ACKs, so that queues on the way
//! back count. A timeout, which RTP does not have, halves the rates. A mark has no effect.

mod detector;
mod rate;

use crate::algorithm::{Algorithm, BuildError, Row, Start};
use crate::range::Checks;
use crate::{Ack, Cause, Context, Controller, Interests, Loss};
use detector::{Detector, Usage};
use fairweir_units::{Bytes, Dur, Rate, Time};
use rate::{DelayBased, LossBased, Received};
use serde::{Deserialize, Serialize};

/// Name in scenarios.
const NAME: &str = "gcc";

/// cwnd in units of rate times srtt: limits the data sent into a path without ACKs.
const CWND_GAIN: f64 = 2.0;
/// Minimum window, packets.
const MIN_CWND_PKTS: u64 = 4;
/// Time between two updates without over-use.
const UPDATE: Dur = Dur::from_millis(25);

/// Parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Initial rate.
    #[serde(with = "crate::quantity")]
    pub start_rate: Rate,
    /// Minimum rate.
    #[serde(with = "crate::quantity")]
    pub min_rate: Rate,
    /// Maximum rate; at least the minimum.
    #[serde(with = "crate::quantity")]
    pub max_rate: Rate,
    /// Whether delays count; without, only losses do.
    pub uses_delay: bool,
    /// Whether losses count.
    pub uses_loss: bool,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            start_rate: Rate::from_bytes_per_sec(37_500),
            min_rate: Rate::from_bytes_per_sec(3_750),
            max_rate: Rate::from_mbps(1_000),
            uses_delay: true,
            uses_loss: true,
        }
    }
}

impl Params {
    fn check(&self) -> Result<(), BuildError> {
        let checks = Checks { algorithm: NAME }
            .some_rate("start_rate", self.start_rate)?
            .some_rate("min_rate", self.min_rate)?
            .some_rate("max_rate", self.max_rate)?;
        if self.max_rate < self.min_rate {
            return checks.refuse("max_rate", "be at least min_rate", &self.max_rate);
        }
        if !self.uses_delay && !self.uses_loss {
            return checks.refuse("uses_loss", "be true if uses_delay is false", &self.uses_loss);
        }
        Ok(())
    }
}

impl Row for Gcc {
    const NAME: &'static str = NAME;
    const SUMMARY: &'static str =
        "WebRTC's: follows the trend of the delay, without the media part (draft-ietf-rmcat-gcc)";
    type Params = Params;

    fn build(start: &Start, params: Params) -> Result<Gcc, BuildError> {
        params.check()?;
        Ok(Gcc::new(start, params))
    }
}

/// GCC, as a row of the list of controllers.
pub const ALGORITHM: Algorithm = Algorithm::of::<Gcc>();

/// Google congestion control.
#[derive(Clone, Debug)]
pub struct Gcc {
    params: Params,
    mss: Bytes,
    initial_cwnd: Bytes,
    srtt: Dur,
    received: Received,
    detector: Detector,
    delay: DelayBased,
    loss: LossBased,
    updated: Time,
}

impl Gcc {
    /// Creates the state of a new connection.
    pub fn new(start: &Start, params: Params) -> Gcc {
        let rate = params.start_rate.clamp(params.min_rate, params.max_rate).bytes_per_sec() as f64;
        Gcc {
            params,
            mss: start.mss,
            initial_cwnd: start.initial_cwnd,
            srtt: Dur::ZERO,
            received: Received::default(),
            detector: Detector::default(),
            delay: DelayBased::new(rate, start.mss.0 as f64),
            loss: LossBased::new(rate),
            updated: Time::ZERO,
        }
    }

    /// The target, bytes/s.
    fn target(&self) -> f64 {
        match (self.params.uses_delay, self.params.uses_loss) {
            (true, true) => self.delay.rate.min(self.loss.rate),
            (true, false) => self.delay.rate,
            _ => self.loss.rate,
        }
    }

    fn clamp(&mut self) {
        let (low, high) = (self.params.min_rate.bytes_per_sec() as f64, self.params.max_rate.bytes_per_sec() as f64);
        self.delay.rate = self.delay.rate.clamp(low, high);
        self.loss.rate = self.loss.rate.clamp(low, high);
    }

    fn update(&mut self, usage: Usage, now: Time) {
        self.updated = now;
        if self.delay.update(usage, self.received.rate(now), self.srtt, now) {
            self.detector.clear();
        }
    }
}

impl Controller for Gcc {
    fn on_ack(&mut self, ack: &Ack<'_>, cx: &mut Context<'_>) {
        self.srtt = ack.sender.srtt;
        self.received.add(cx.now, ack.acked as f64 * self.mss.0 as f64);
        let target = self.target();
        self.loss.update(ack.acked, ack.lost, target, self.srtt, cx.now);
        if ack.rtt.is_some() {
            let usage = self.detector.add(ack.newest_sent, cx.now);
            if usage == Usage::Over || cx.now.since(self.updated) >= UPDATE {
                self.update(usage, cx.now);
            }
        }
        self.clamp();
    }

    fn on_loss(&mut self, loss: &Loss<'_>, _cx: &mut Context<'_>) {
        // other losses count by their rate
        if matches!(loss.cause, Cause::Timeout | Cause::PersistentCongestion) {
            self.delay.rate /= 2.0;
            self.loss.rate /= 2.0;
            self.detector.clear();
            self.clamp();
        }
    }

    fn cwnd(&self) -> Bytes {
        if self.srtt == Dur::ZERO {
            return self.initial_cwnd.max(self.mss);
        }
        Bytes((CWND_GAIN * self.target() * self.srtt.as_secs_f64()) as u64).max(self.mss * MIN_CWND_PKTS)
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(Rate::from_bytes_per_sec(self.target() as u64))
    }

    fn interests(&self) -> Interests {
        Interests { own_recovery: true, own_ecn: true, ..Interests::default() }
    }

    fn telemetry(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        let (signal, threshold) = self.detector.state();
        emit("delay_based_rate_mbps", self.delay.rate * 8e-6);
        emit("loss_based_rate_mbps", self.loss.rate * 8e-6);
        emit("modified_trend_ms", signal);
        emit("threshold_ms", threshold);
        emit("loss_rate", self.loss.loss_rate);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Path, refusal};
    use serde_json::json;

    #[test]
    fn a_link_is_filled_with_a_short_queue() {
        let mut bench = Bench::of(NAME, &json!({"start_rate": "2Mbps"}), Path::droptail(4, 40, 10));
        bench.run_until(Time::from_nanos(60_000_000_000), |_| ());
        let (mut rtts, mut n) = (Dur::ZERO, 0);
        let delivered = bench.sender.delivered;
        bench.run_until(bench.now + Dur::from_secs(60), |b| (rtts, n) = (rtts + b.rtt, n + 1));
        let used = (bench.sender.delivered - delivered) as f64 * 12e3 / 60.0 / 4e6;
        assert!(used > 0.8, "{used}");
        assert!(rtts / n < Dur::from_millis(80), "{}", rtts / n);
    }

    #[test]
    fn losses_of_1_percent_are_tolerated_of_5_hold_the_rate_and_of_20_reduce_it() {
        for (every, least, most) in [(100, 0.8, 1.0), (20, 0.45, 0.5), (5, 0.0, 0.1)] {
            let mut path = Path::droptail(4, 40, 10);
            path.lose_every = Some(every);
            let mut bench = Bench::of(NAME, &json!({"start_rate": "2Mbps"}), path);
            bench.run_until(Time::from_nanos(60_000_000_000), |_| ());
            let used = bench.utilization_for(Dur::from_secs(30));
            assert!((least..=most).contains(&used), "1 of {every}: {used}");
        }
    }

    #[test]
    fn bad_parameters_are_named() {
        for (params, word) in [
            (json!({"start_rate": "0bps"}), "start_rate"),
            (json!({"min_rate": "2Gbps"}), "max_rate"),
            (json!({"uses_delay": false, "uses_loss": false}), "uses_loss"),
            (json!({"rate": 1}), "rate"),
        ] {
            assert!(refusal(&ALGORITHM, &params).contains(word), "{params}");
        }
    }
}
