//! TFRC: the rate that Reno would have at the measured loss-event rate and RTT, without Reno's sawtooth.
//!
//! Model, X the sending rate, R a moving average of RTTs (one sample per round, weight 0.1), s the packet size:
//!
//! - p = 1 / average loss interval, the number of packets from the first loss of one event to the first of the next;
//!   losses within R of an event's first belong to the same event; the last 8 intervals have the weights 1, 1, 1, 1,
//!   0.8, 0.6, 0.4, 0.2; the open interval counts if that lowers p;
//! - X_eq = s / (R sqrt(2p/3) + 4 R 3 sqrt(3p/8) p (1 + 32 p^2));
//! - after each round, and immediately on a new event: X = min(X_eq, 2 X_recv), X_recv the larger delivery rate of the
//!   last two rounds; at least one packet per 64 s;
//! - before the first loss: X doubles per RTT, at most to 2 X_recv, the rate of one round ago, so in every second
//!   round; the first interval is set such that X_eq = X_recv;
//! - timeout: the limit 2 X_recv (or X_eq if lower) halves.
//!
//! Contract: Reno's with p the rate of loss events, rate = sqrt(3/2) s / (R sqrt(p)) for small p.
//!
//! ```text
//!               first loss or mark
//!   slow start --------------------> by the equation
//! ```
//!
//! **Source**: RFC 5348 sections 3.1, 4.3, 4.4, 5.1 to 5.4, 6.3.1.
//!
//! **Deviations**: the sender does the receiver's calculations, from the losses that it detects; feedback is the end of
//! a round. Intervals count packets delivered or lost, retransmissions too. A mark counts as a loss. The initial window
//! is the transport's. History discounting (section 5.5) and the damping of oscillations (section 4.5), both optional,
//! are left out. cwnd is 2 X R: pacing controls the rate, cwnd limits the data sent into a path without ACKs.

mod equation;
mod loss_history;

use crate::algorithm::{Algorithm, BuildError, Row, Start};
use crate::delay::Rounds;
use crate::range::Checks;
use crate::{Ack, Cause, Context, Controller, Interests, Loss, LostPacket};
use equation::{loss_rate, packets_per_rtt};
use fairweir_units::{Bytes, Dur, Rate, Time};
use loss_history::LossHistory;
use serde::{Deserialize, Serialize};

/// Name in scenarios.
const NAME: &str = "tfrc";

/// Maximum time between two packets, s (RFC 5348 §4.3, t_mbi).
const MAX_INTERVAL: f64 = 64.0;

/// Weight of an RTT sample (RFC 5348 §4.3: q = 0.9).
const RTT_WEIGHT: f64 = 0.1;

/// cwnd in units of X R.
const CWND_GAIN: f64 = 2.0;

/// Minimum window, packets.
const MIN_CWND_PKTS: u64 = 4;

/// No rate is larger, bytes/s: 8 Pbit/s, far from overflow.
const MAX_RATE: f64 = 1e15;

/// Parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Number of loss intervals in the average, the older half with decreasing weights; 2 to 64, even.
    pub intervals: u32,
}

impl Default for Params {
    fn default() -> Params {
        Params { intervals: 8 }
    }
}

impl Params {
    fn check(&self) -> Result<(), BuildError> {
        let checks = Checks { algorithm: NAME }.within("intervals", self.intervals, 2..=64)?;
        if self.intervals % 2 == 1 {
            return checks.refuse("intervals", "be even", &self.intervals);
        }
        Ok(())
    }
}

impl Row for Tfrc {
    const NAME: &'static str = NAME;
    const SUMMARY: &'static str = "paces at Reno's rate for the loss events and RTT it sees (RFC 5348)";
    type Params = Params;

    fn build(start: &Start, params: Params) -> Result<Tfrc, BuildError> {
        params.check()?;
        Ok(Tfrc::new(start, &params))
    }
}

/// TFRC, as a row of the list of controllers.
pub const ALGORITHM: Algorithm = Algorithm::of::<Tfrc>();

/// The current round, as its feedback will report it.
#[derive(Clone, Copy, Debug)]
struct Feedback {
    start: Time,
    delivered_pkts: u64,
    was_app_limited: bool,
}

/// TFRC.
#[derive(Clone, Debug)]
pub struct Tfrc {
    mss: f64,
    initial_cwnd: Bytes,
    /// X, bytes/s; 0 before the first RTT sample.
    rate: f64,
    /// R, s.
    rtt: f64,
    history: LossHistory,
    /// Delivery rate of the last round and of the one before, bytes/s.
    received: [f64; 2],
    doubled_at: Time,
    rounds: Rounds,
    feedback: Feedback,
}

impl Tfrc {
    /// Creates the state of a new connection.
    pub fn new(start: &Start, params: &Params) -> Tfrc {
        Tfrc {
            mss: start.mss.0 as f64,
            initial_cwnd: start.initial_cwnd,
            rate: 0.0,
            rtt: 0.0,
            history: LossHistory::new(params.intervals as usize),
            received: [MAX_RATE; 2],
            doubled_at: Time::ZERO,
            rounds: Rounds::default(),
            feedback: Feedback { start: Time::ZERO, delivered_pkts: 0, was_app_limited: false },
        }
    }

    fn start(&mut self, rtt: Dur, now: Time) {
        self.rtt = rtt.as_secs_f64();
        self.set_rate(self.initial_cwnd.0 as f64 / self.rtt);
        self.doubled_at = now;
        self.feedback.start = now;
    }

    fn set_rate(&mut self, rate: f64) {
        self.rate = rate.clamp(self.mss / MAX_INTERVAL, MAX_RATE);
    }

    fn received(&self) -> f64 {
        self.received[0].max(self.received[1])
    }

    /// X_eq, bytes/s, if there was a loss.
    fn equation(&self) -> Option<f64> {
        self.history.loss_event_rate().map(|p| packets_per_rtt(p) * self.mss / self.rtt)
    }

    /// Processes the end of a round.
    #[cold]
    fn on_feedback(&mut self, rtt: Option<Dur>, now: Time) {
        let elapsed = now.since(self.feedback.start).as_secs_f64();
        let Feedback { delivered_pkts, was_app_limited, .. } = self.feedback;
        self.feedback = Feedback { start: now, delivered_pkts: 0, was_app_limited: false };
        if let Some(rtt) = rtt {
            self.rtt += RTT_WEIGHT * (rtt.as_secs_f64() - self.rtt);
        }
        if elapsed > 0.0 && delivered_pkts > 0 {
            let mut received = delivered_pkts as f64 * self.mss / elapsed;
            if was_app_limited {
                // data that was not offered could not be received (RFC 5348 §4.3: Maximize X_recv_set)
                received = received.max(self.received());
            }
            self.received = [received.min(MAX_RATE), self.received[0]];
        }
        self.adapt(now);
    }

    /// RFC 5348 §4.3, step 4.
    fn adapt(&mut self, now: Time) {
        let limit = 2.0 * self.received();
        match self.equation() {
            Some(rate) => self.set_rate(rate.min(limit)),
            None if now.since(self.doubled_at).as_secs_f64() >= self.rtt => {
                let initial = self.initial_cwnd.0 as f64 / self.rtt;
                self.set_rate((2.0 * self.rate).min(limit).max(initial));
                self.doubled_at = now;
            }
            None => (),
        }
    }

    /// A packet sent at `sent` was lost or marked.
    fn on_congestion(&mut self, sent: Time, now: Time) {
        if self.rate == 0.0 || !self.history.begins_event(sent, Dur::from_secs_f64(self.rtt)) {
            return;
        }
        // RFC 5348 §6.3.1: packets sent while the rate doubled do not prove the rate that the path sustains
        let reached = if self.received() < MAX_RATE { self.received() } else { self.rate / 2.0 };
        let first = 1.0 / loss_rate(reached * self.rtt / self.mss);
        self.history.begin_event(sent, first);
        self.adapt(now);
    }
}

impl Controller for Tfrc {
    #[inline]
    fn on_ack(&mut self, ack: &Ack<'_>, cx: &mut Context<'_>) {
        if self.rate == 0.0
            && let Some(rtt) = ack.rtt
        {
            self.start(rtt, cx.now);
        }
        self.history.count(ack.acked);
        if self.rounds.on_ack(ack).is_over() && self.rate > 0.0 {
            self.on_feedback(ack.rtt, cx.now);
        }
        self.feedback.delivered_pkts += ack.acked;
        self.feedback.was_app_limited |= ack.rate.is_app_limited;
        if ack.marked > 0 {
            self.on_congestion(ack.newest_sent, cx.now);
        }
    }

    fn on_loss(&mut self, loss: &Loss<'_>, _cx: &mut Context<'_>) {
        if loss.cause != Cause::Timeout || self.rate == 0.0 {
            return;
        }
        // RFC 5348 §4.4, Update_Limits: the received rate is from before the idle period
        let limit = self.equation().unwrap_or(self.rate).min(2.0 * self.received()).min(self.rate) / 2.0;
        self.received = [limit / 2.0; 2];
        self.set_rate(limit);
    }

    fn on_packet_lost(&mut self, lost: &LostPacket, cx: &mut Context<'_>) {
        self.history.count(1);
        self.on_congestion(lost.sent, cx.now);
    }

    #[inline]
    fn cwnd(&self) -> Bytes {
        if self.rate == 0.0 {
            return self.initial_cwnd.max(Bytes(self.mss as u64));
        }
        Bytes((CWND_GAIN * self.rate * self.rtt).min(MAX_RATE / 100.0) as u64)
            .max(Bytes(self.mss as u64) * MIN_CWND_PKTS)
    }

    #[inline]
    fn pacing_rate(&self) -> Option<Rate> {
        (self.rate > 0.0).then(|| Rate::from_bytes_per_sec((self.rate as u64).max(1)))
    }

    fn interests(&self) -> Interests {
        Interests { lost: true, rate_sample: true, own_recovery: true, own_ecn: true, ..Interests::default() }
    }

    fn telemetry(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("loss_event_rate", self.history.loss_event_rate().unwrap_or(0.0));
        emit("equation_rate_mbps", self.equation().unwrap_or(f64::NAN) * 8e-6);
        emit("average_rtt_ms", self.rtt * 1e3);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, MSS, Path, refusal};
    use serde_json::Value;
    use serde_json::json;

    #[test]
    fn under_periodic_loss_the_rate_is_the_equations() {
        for every in [100u64, 400, 2000] {
            let mut path = Path::droptail(1000, 20, 20);
            path.lose_every = Some(every);
            let mut bench = Bench::of(NAME, &Value::Null, path);
            bench.run_until(Time::from_nanos(20_000_000_000), |_| ());
            let rate = bench.utilization_for(Dur::from_secs(20)) * 1e9 / 8.0;
            let rtt = (bench.path.rtprop + MSS / bench.path.rate).as_secs_f64();
            let law = packets_per_rtt(1.0 / every as f64) * 1500.0 / rtt;
            assert!((rate / law - 1.0).abs() < 0.03, "1 of {every}: {} Mbps, law {}", rate * 8e-6, law * 8e-6);
        }
    }

    #[test]
    fn the_rate_is_smooth() {
        let mut path = Path::droptail(1000, 20, 20);
        path.lose_every = Some(400);
        let mut bench = Bench::of(NAME, &Value::Null, path);
        bench.run_until(Time::from_nanos(20_000_000_000), |_| ());
        let (mut least, mut most) = (f64::INFINITY, 0.0f64);
        bench.run_until(bench.now + Dur::from_secs(10), |b| {
            let rate = b.controller.pacing_rate().expect("paced").as_mbps_f64();
            (least, most) = (least.min(rate), most.max(rate));
        });
        // Reno's halves
        assert!(most / least < 1.1, "{least} to {most} Mbps");
    }

    #[test]
    fn slow_start_doubles_every_other_round() {
        let mut bench = Bench::of(NAME, &Value::Null, Path::droptail(1000, 100, 20));
        let mut rates = vec![];
        for round in 1..10 {
            bench.run_until(Time::from_nanos(round * 101_000_000 + 50_000_000), |_| ());
            rates.push(bench.controller.pacing_rate().expect("paced").as_mbps_f64());
        }
        assert!((rates[0] - 1.2).abs() < 0.01, "{rates:?}");
        assert!(rates.windows(2).all(|r| r[1] / r[0] < 2.01), "{rates:?}");
        assert!(rates.windows(3).all(|r| r[2] / r[0] > 1.9), "{rates:?}");
    }

    #[test]
    fn a_link_with_a_finite_buffer_is_used() {
        let mut bench = Bench::of(NAME, &Value::Null, Path::droptail(24, 40, 1));
        bench.run_until(Time::from_nanos(20_000_000_000), |_| ());
        let utilization = bench.utilization_for(Dur::from_secs(20));
        assert!(utilization > 0.9, "{utilization}");
    }

    #[test]
    fn silence_halves_the_rate_each_time() {
        let mut bench = Bench::of(NAME, &Value::Null, Path::droptail(24, 40, 1));
        bench.run_until(Time::from_nanos(5_000_000_000), |_| ());
        let before = bench.controller.pacing_rate().expect("paced").bytes_per_sec() as f64;
        bench.path.lose_every = Some(1);
        let timeouts = bench.episodes.2;
        bench.run_until(bench.now + Dur::from_secs(2), |_| ());
        let after = bench.controller.pacing_rate().expect("paced").bytes_per_sec() as f64;
        let halvings = (bench.episodes.2 - timeouts) as i32;
        assert!(halvings > 2 && after <= before * 0.5f64.powi(halvings - 1), "{before} to {after} in {halvings}");
    }

    #[test]
    fn bad_parameters_are_named() {
        for (params, word) in [
            (json!({"intervals": 0}), "intervals"),
            (json!({"intervals": 7}), "even"),
            (json!({"intervals": 66}), "intervals"),
            (json!({"p": 1}), "p"),
        ] {
            assert!(refusal(&ALGORITHM, &params).contains(word), "{params}");
        }
    }
}
