//! Data-center TCP: cut the window in proportion to the fraction of marked packets.
//!
//! Model, cwnd in packets, once per window of data:
//!
//! - F = marked / delivered in the window that ends;
//! - a = (1 - g) a + g F, with g = 1/16, a = 1 at the start;
//! - the first mark in a window: cwnd = ssthresh = max(cwnd (1 - a/2), 2), and no growth until that window is acknowledged;
//!   the transport lets the packets in flight decrease in proportion (RFC 9937);
//! - otherwise Reno.
//!
//! With a step threshold of K packets one flow settles at a = sqrt(2 / W), W = BDP + K; its contract is cwnd = 2 / F^2.
//!
//! ```text
//!          mark: cwnd *= 1 - a/2
//!   grow ------------------------> reduced
//!     ^                               |
//!     +-------------------------------+
//!       the window's end is acknowledged
//! ```
//!
//! **Source**: RFC 8257 §3.3; facts of the kernel's `tcp_dctcp.c`; Alizadeh et al., SIGCOMM 2010, §3.3.
//!
//! **Deviations**: the receiver echoes each packet's mark (accurate ECN), so the two-state machine for delayed ACKs (RFC
//! 8257 §3.2) is not needed. a has 20 fraction bits instead of 10.

use crate::algorithm::{Algorithm, BuildError, Row, Start};
use crate::reno::Window;
use crate::{Ack, Cause, Context, Controller, Interests, Loss, Restart, Sender, Undo};
use fairweir_units::Bytes;
use serde::{Deserialize, Serialize};

/// Fraction bits of a.
const ALPHA_BITS: u32 = 20;

/// Parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// g = 2^-shift_g, the weight of a new F; 0 to 10 (`dctcp_shift_g`).
    pub shift_g: u32,
    /// a at the start, 0 to 1 (`dctcp_alpha_on_init`).
    pub initial_alpha: f64,
}

impl Default for Params {
    fn default() -> Params {
        Params { shift_g: 4, initial_alpha: 1.0 }
    }
}

impl Params {
    fn check(&self) -> Result<(), BuildError> {
        let bad = |reason: String| Err(BuildError::BadParams { name: "dctcp".into(), reason });
        if self.shift_g > 10 {
            return bad(format!("shift_g must be at most 10: `{}`", self.shift_g));
        }
        if !(0.0..=1.0).contains(&self.initial_alpha) {
            return bad(format!("initial_alpha must be between 0 and 1: `{}`", self.initial_alpha));
        }
        Ok(())
    }
}

impl Row for Dctcp {
    const NAME: &'static str = "dctcp";
    const SUMMARY: &'static str = "cuts the window in proportion to the fraction of marked packets (RFC 8257)";
    type Params = Params;

    fn build(start: &Start, params: Params) -> Result<Dctcp, BuildError> {
        params.check()?;
        Ok(Dctcp::new(start, &params))
    }
}

/// DCTCP, as a row of the list of controllers.
pub const ALGORITHM: Algorithm = Algorithm::of::<Dctcp>();

/// Data-center TCP.
#[derive(Clone, Debug)]
pub struct Dctcp {
    window: Window,
    shift_g: u32,
    /// Smoothed fraction of marked packets, [`ALPHA_BITS`] fraction bits.
    alpha_fp: u64,
    /// The observation window ends when all packets below this number are acknowledged.
    window_end: u64,
    /// Packets delivered, and marked, before the observation window.
    delivered: u64,
    delivered_ce: u64,
}

impl Dctcp {
    /// Creates the state of a new connection.
    pub fn new(start: &Start, params: &Params) -> Dctcp {
        Dctcp {
            window: Window::new(start),
            shift_g: params.shift_g,
            alpha_fp: (params.initial_alpha * (1u64 << ALPHA_BITS) as f64) as u64,
            window_end: 0,
            delivered: 0,
            delivered_ce: 0,
        }
    }

    /// Ends the observation window if it is acknowledged. Linux does so before it reacts to the ACK's marks and losses.
    #[inline]
    fn observe(&mut self, sender: &Sender) {
        if sender.snd_una >= self.window_end {
            self.update_alpha(sender);
        }
    }

    /// Ends the observation window: a = (1 - g) a + g F.
    #[cold]
    fn update_alpha(&mut self, sender: &Sender) {
        let (delivered, marked) = (sender.delivered - self.delivered, sender.delivered_ce - self.delivered_ce);
        // reduce a by at least one unit, so that it reaches zero without marks
        let decay = (self.alpha_fp >> self.shift_g).max(self.alpha_fp.min(1));
        let fresh = (marked << (ALPHA_BITS - self.shift_g)) / delivered.max(1);
        self.alpha_fp = (self.alpha_fp - decay + fresh).min(1 << ALPHA_BITS);
        self.window_end = sender.snd_nxt;
        (self.delivered, self.delivered_ce) = (sender.delivered, sender.delivered_ce);
    }
}

impl Controller for Dctcp {
    #[inline]
    fn on_ack(&mut self, ack: &Ack<'_>, _cx: &mut Context<'_>) {
        self.observe(ack.sender);
        if ack.may_raise_cwnd() && ack.sender.is_cwnd_limited {
            self.window.grow(ack.acked);
        }
    }

    fn on_loss(&mut self, loss: &Loss<'_>, _cx: &mut Context<'_>) {
        self.observe(loss.sender);
        if loss.cause != Cause::Ecn {
            // RFC 8257 §3.4: packet loss halves the window, as in Reno
            return self.window.halve(loss);
        }
        let cwnd = self.window.cwnd_pkts;
        let cut = ((u128::from(cwnd) * u128::from(self.alpha_fp)) >> (ALPHA_BITS + 1)) as u64;
        self.window.reduce(cwnd - cut);
    }

    fn on_undo(&mut self, undo: &Undo<'_>, _cx: &mut Context<'_>) {
        self.window.undo(undo);
    }

    fn on_restart(&mut self, restart: &Restart<'_>, _cx: &mut Context<'_>) {
        self.window.restart(restart);
    }

    #[inline]
    fn cwnd(&self) -> Bytes {
        self.window.cwnd()
    }

    fn ssthresh(&self) -> Option<Bytes> {
        Some(self.window.ssthresh())
    }

    fn interests(&self) -> Interests {
        Interests { exact_marks: true, ..Interests::default() }
    }

    fn telemetry(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("ssthresh_pkts", self.window.ssthresh_pkts as f64);
        emit("alpha", self.alpha_fp as f64 / (1u64 << ALPHA_BITS) as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Path};
    use fairweir_units::{Dur, Time};
    use serde_json::Value;
    use serde_json::json;

    fn settled(mbps: u64, rtprop_ms: u64, threshold: u64) -> Bench {
        let mut path = Path::droptail(mbps, rtprop_ms, 20);
        path.mark_above = Some(threshold);
        let mut bench = Bench::of("dctcp", &Value::Null, path);
        bench.run_until(Time::from_nanos(20_000_000_000), |_| ());
        bench
    }

    #[test]
    fn alpha_settles_where_the_sawtooth_says_and_the_link_stays_busy() {
        // BDP 160 packets, K = 40 > BDP/7: a = sqrt(2/(BDP + K)), and the link is never idle
        let mut bench = settled(96, 20, 40);
        let (mut alphas, mut windows) = (0.0, 0);
        let utilization = bench.utilization_for(Dur::from_secs(1));
        for _ in 0..1000 {
            bench.run_until(bench.now + Dur::from_millis(10), |_| ());
            alphas += bench.telemetry("alpha");
            windows += 1;
        }
        let (mean, law) = (alphas / f64::from(windows), (2.0f64 / 200.0).sqrt());
        assert!((mean / law - 1.0).abs() < 0.15, "alpha {mean}, law {law}");
        assert!(utilization > 0.999, "{utilization}");
        let (losses, marks, timeouts) = bench.episodes;
        assert!(losses + timeouts == 0 && marks > 0);
    }

    #[test]
    fn the_queue_stays_near_the_threshold() {
        let mut bench = settled(96, 20, 40);
        let limit = bench.path.rtprop + Dur::from_micros(125) * 55;
        bench.run_until(bench.now + Dur::from_secs(5), |b| assert!(b.rtt < limit, "{}", b.rtt));
    }

    #[test]
    fn alpha_dies_out_without_marks() {
        let mut bench = Bench::of("dctcp", &Value::Null, Path::droptail(24, 10, 2));
        bench.run_until(Time::from_nanos(20_000_000_000), |_| ());
        assert_eq!(bench.telemetry("alpha"), 0.0);
        assert!(bench.episodes.0 > 0);
    }

    #[test]
    fn bad_parameters_are_named() {
        let start = Start {
            mss: crate::testing::MSS,
            initial_cwnd: crate::testing::MSS,
            oracle_rtprop: None,
            first_packet: 0,
            seed: 0,
        };
        for (params, word) in [
            (json!({"shift_g": 11}), "shift_g"),
            (json!({"initial_alpha": -0.1}), "initial_alpha"),
            (json!({"g": 1}), "g"),
        ] {
            let error = (ALGORITHM.build)(&params, &start).expect_err("refused").to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
