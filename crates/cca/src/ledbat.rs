//! LEDBAT: background transport that targets a fixed queueing delay and yields to traffic that causes more.
//!
//! Model, cwnd in packets, per ACK, with base the minimum delay of the last 10 minutes and current the minimum of the
//! last few samples:
//!
//! - off = (target - (current - base)) / target;
//! - cwnd += gain off acked / cwnd, at most to the previous inflight + 1, and never below 2;
//! - loss: cwnd /= 2, at most once per RTT; timeout: cwnd = 1 + inflight.
//!
//! Contract: off = 0, so the delay equals the target at every rate; it does not determine how flows divide the link. A
//! flow that starts late measures the queue of an earlier flow as propagation delay, adds its target to that delay, and
//! takes all of the link.
//!
//! ```text
//!               3/4 target of delay: cwnd /= 2
//!   slow start -------------------------------> towards target, a packet per RTT at most
//! ```
//!
//! **Source**: RFC 6817 section 2.4.2 and its parameters (section 2.5).
//!
//! **Deviations**: RTTs are used as one-way delays: differences are the same unless ACKs queue too. The initial window
//! is the transport's. Slow start, which the RFC does not specify, is paced and ends at 3/4 of the target (as in
//! LEDBAT++) with the window of a round ago, which caused that delay: from a larger window, convergence takes minutes.
//! With `slow_start = false`, filling 200 Mbps at 40 ms takes 26 s. If the scenario grants an oracle, its value replaces
//! base.

mod base_delay;

use crate::algorithm::{Algorithm, BuildError, Row, Start};
use crate::fluid_window::FluidWindow;
use crate::range::Checks;
use crate::{Ack, Cause, Context, Controller, Loss, Sender};
use base_delay::{BaseDelay, Latest};
use fairweir_units::{Bytes, Dur, Rate};
use serde::{Deserialize, Serialize};

/// Name in scenarios.
const NAME: &str = "ledbat";

/// Smallest window, packets (RFC 6817 MIN_CWND).
const MIN_CWND_PKTS: f64 = 2.0;

/// Fraction of the window that remains after a loss.
const BETA: f64 = 0.5;

/// Fraction of the target at which slow start ends.
const SLOW_START_EXIT: f64 = 0.75;

/// Parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Target queueing delay (TARGET); positive, at most an hour.
    #[serde(with = "crate::quantity")]
    pub target: Dur,
    /// Packets per RTT by which the window changes when the queue is empty (GAIN); positive, at most 1.
    pub gain: f64,
    /// Maximum number of packets by which the window may exceed inflight (ALLOWED_INCREASE); positive, at most 1000.
    pub allowed_increase_pkts: f64,
    /// Length of the window of the base delay's minimum, minutes (BASE_HISTORY); 1 to 60.
    pub base_history_min: u32,
    /// Number of samples of which the current delay is the minimum (CURRENT_FILTER); 1 to 1000.
    pub current_filter: u32,
    /// Whether to double the window each RTT until the delay is near the target.
    pub slow_start: bool,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            target: Dur::from_millis(100),
            gain: 1.0,
            allowed_increase_pkts: 1.0,
            base_history_min: 10,
            current_filter: 4,
            slow_start: true,
        }
    }
}

impl Params {
    fn check(&self) -> Result<(), BuildError> {
        Checks { algorithm: NAME }
            .some_time("target", self.target)?
            .positive("gain", self.gain, 1.0)?
            .positive("allowed_increase_pkts", self.allowed_increase_pkts, 1e3)?
            .within("base_history_min", self.base_history_min, 1..=60)?
            .within("current_filter", self.current_filter, 1..=1000)?;
        Ok(())
    }
}

impl Row for Ledbat {
    const NAME: &'static str = NAME;
    const SUMMARY: &'static str = "background transport: keeps 100 ms in the queue, yields to more (RFC 6817)";
    type Params = Params;

    fn build(start: &Start, params: Params) -> Result<Ledbat, BuildError> {
        params.check()?;
        Ok(Ledbat::new(start, params))
    }
}

/// LEDBAT, as a row of the list of controllers.
pub const ALGORITHM: Algorithm = Algorithm::of::<Ledbat>();

/// LEDBAT.
#[derive(Clone, Debug)]
pub struct Ledbat {
    window: FluidWindow,
    base: BaseDelay,
    current: Latest,
    params: Params,
    srtt: Dur,
    /// current - base, s.
    qdelay: f64,
}

impl Ledbat {
    /// Creates the state of a new connection.
    pub fn new(start: &Start, params: Params) -> Ledbat {
        let mut window = FluidWindow::new(start, 1.0);
        if !params.slow_start {
            window.leave_slow_start();
        }
        Ledbat {
            window,
            base: BaseDelay::new(params.base_history_min),
            current: Latest::new(params.current_filter),
            params,
            srtt: Dur::ZERO,
            qdelay: 0.0,
        }
    }

    /// Returns the distance of the delay from the target, in units of the target; 1 if the queue is empty.
    fn off_target(&self, qdelay: f64) -> f64 {
        1.0 - qdelay / self.params.target.as_secs_f64()
    }

    fn base(&self, sender: &Sender) -> Dur {
        sender.oracle_rtprop.unwrap_or_else(|| self.base.least())
    }

    /// Updates the window for an ACK (RFC 6817 §2.4.2).
    fn move_window(&mut self, ack: &Ack<'_>) {
        let pkts = self.window.pkts();
        let moved = pkts + self.params.gain * self.off_target(self.qdelay) * ack.acked as f64 / pkts;
        let most = ack.prior_inflight as f64 + self.params.allowed_increase_pkts;
        self.window.set(moved.min(most).max(MIN_CWND_PKTS));
    }
}

impl Controller for Ledbat {
    fn on_ack(&mut self, ack: &Ack<'_>, cx: &mut Context<'_>) {
        self.srtt = ack.sender.srtt;
        let Some(rtt) = ack.rtt else { return };
        self.base.add(cx.now, rtt);
        self.current.add(rtt);
        let base = self.base(ack.sender);
        self.qdelay = self.current.least().saturating_sub(base).as_secs_f64();
        if ack.sender.is_reducing() {
            return;
        }
        if !self.window.is_in_slow_start() {
            self.move_window(ack);
            return;
        }
        if self.off_target(self.qdelay) < 1.0 - SLOW_START_EXIT {
            self.window.leave_slow_start();
            self.window.set((self.window.pkts() / 2.0).max(MIN_CWND_PKTS));
        } else if ack.sender.is_cwnd_limited {
            self.window.double(ack.acked);
        }
    }

    fn on_loss(&mut self, loss: &Loss<'_>, _cx: &mut Context<'_>) {
        self.window.cut(BETA, loss);
        if loss.cause != Cause::Timeout {
            self.window.set(self.window.pkts().max(MIN_CWND_PKTS));
        }
    }

    #[inline]
    fn cwnd(&self) -> Bytes {
        self.window.cwnd()
    }

    #[inline]
    fn pacing_rate(&self) -> Option<Rate> {
        // only in slow start: later, pacing would reduce inflight, which bounds the window
        if self.window.is_in_slow_start() { self.window.paced_within(self.srtt) } else { None }
    }

    fn ssthresh(&self) -> Option<Bytes> {
        Some(self.window.ssthresh())
    }

    fn telemetry(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("cwnd_pkts", self.window.pkts());
        emit("qdelay_ms", self.qdelay * 1e3);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, MSS, Path, refusal};
    use fairweir_units::Time;
    use serde_json::json;

    #[test]
    fn one_flow_keeps_the_target_in_the_queue() {
        for (mbps, target_ms) in [(12, 100), (24, 100), (96, 25)] {
            let params = json!({"target": format!("{target_ms}ms")});
            let mut bench = Bench::of(NAME, &params, Path::droptail(mbps, 40, 20));
            // The distance falls by a factor of e in C target RTTs (C target is in packets): 28 s at 24 Mbps.
            bench.run_until(Time::from_nanos(200_000_000_000), |_| ());
            let packet = MSS / bench.path.rate;
            let goal = bench.path.rtprop + packet + Dur::from_millis(target_ms);
            bench.run_until(bench.now + Dur::from_secs(10), |b| {
                assert!(b.rtt + packet * 2 > goal && b.rtt < goal + packet * 2, "{mbps} Mbps: {}, not {goal}", b.rtt);
            });
            assert_eq!(bench.episodes, (0, 0, 0));
        }
    }

    #[test]
    fn without_slow_start_an_empty_queue_gives_a_packet_per_rtt() {
        let mut bench = Bench::of(NAME, &json!({"slow_start": false}), Path::droptail(1000, 100, 20));
        bench.run_until(Time::from_nanos(10_000_000_000), |_| ());
        assert!((104..=110).contains(&bench.cwnd()), "{}", bench.cwnd());
    }

    #[test]
    fn the_window_is_what_was_in_flight_and_one_at_most() {
        let mut cc = Ledbat::new(
            &Start { mss: MSS, initial_cwnd: MSS * 50, oracle_rtprop: None, first_packet: 0, seed: 0 },
            Params { slow_start: false, ..Params::default() },
        );
        let sender = Sender { snd_una: 100, snd_nxt: 119, ..Sender::new(MSS) };
        cc.move_window(&crate::testing::ack(&sender, Dur::from_millis(40)));
        assert_eq!(cc.window.pkts(), 21.0);
    }

    #[test]
    fn bad_parameters_are_named() {
        for (params, word) in [
            (json!({"target": "0ms"}), "target"),
            (json!({"gain": 2.0}), "gain"),
            (json!({"allowed_increase_pkts": 0.0}), "allowed_increase_pkts"),
            (json!({"base_history_min": 0}), "base_history_min"),
            (json!({"current_filter": 0}), "current_filter"),
            (json!({"beta": 1}), "beta"),
        ] {
            assert!(refusal(&ALGORITHM, &params).contains(word), "{params}");
        }
    }
}
