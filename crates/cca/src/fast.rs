//! FAST TCP: keeps alpha packets per flow in the queue; the window is updated by the ratio of RTTs.
//!
//! Model, cwnd in packets, every second round, with base the propagation delay and rtt an average of RTT samples:
//!
//! - cwnd = min(2 cwnd, (1 - gamma) cwnd + gamma (cwnd base / rtt + alpha));
//! - rtt: a moving average in which each sample has the weight min(3 / cwnd, 1/4);
//! - loss: cwnd = ssthresh = cwnd / 2; timeout: cwnd = 1 + inflight, slow start to ssthresh.
//!
//! Contract: rate = alpha / qdelay. n flows are in equilibrium at RTT = base + n alpha / C. With gamma = 1 a single
//! flow reaches it in one update.
//!
//! ```text
//!               more than alpha packets in the queue at a round's start
//!   slow start ---------------------------------------------------------> by the ratio of RTTs
//! ```
//!
//! **Source**: Wei, Jin, Low, Hegde, "FAST TCP", IEEE/ACM ToN 14(6), 2006, sections III and IV; thesis section 6.4.
//!
//! **Deviations**: packets are paced at up to 2 cwnd / srtt; the paper has a burstiness control instead. Slow start is
//! Reno's and ends when the first ACKs of a round show more than alpha packets in the queue. alpha is constant; the
//! paper suggests a value that depends on the link rate (8, 20, 200 packets at 10, 100, 1000 Mbps), which changes the
//! contract.

use crate::algorithm::{Algorithm, BuildError, Row, Start};
use crate::delay::{Rounds, rtprop};
use crate::fluid_window::FluidWindow;
use crate::range::Checks;
use crate::{Ack, Context, Controller, Loss, Sender};
use fairweir_units::{Bytes, Dur, Rate};
use serde::{Deserialize, Serialize};

/// Name in scenarios.
const NAME: &str = "fast";

/// Fraction of the window that remains after a loss.
const BETA: f64 = 0.5;

/// Parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Packets held in the queue; positive, at most 1e6.
    pub alpha_pkts: f64,
    /// Fraction of the distance to the target per update; positive, at most 1.
    pub gamma: f64,
    /// Rounds between updates; 1 to 100.
    pub update_rounds: u32,
}

impl Default for Params {
    fn default() -> Params {
        Params { alpha_pkts: 20.0, gamma: 0.5, update_rounds: 2 }
    }
}

impl Params {
    fn check(&self) -> Result<(), BuildError> {
        Checks { algorithm: NAME }
            .positive("alpha_pkts", self.alpha_pkts, 1e6)?
            .positive("gamma", self.gamma, 1.0)?
            .within("update_rounds", self.update_rounds, 1..=100)?;
        Ok(())
    }
}

impl Row for Fast {
    const NAME: &'static str = NAME;
    const SUMMARY: &'static str = "alpha packets in the queue per flow, approached by the ratio of RTTs (ToN 2006)";
    type Params = Params;

    fn build(start: &Start, params: Params) -> Result<Fast, BuildError> {
        params.check()?;
        Ok(Fast::new(start, params))
    }
}

/// FAST, as a row of the list of controllers.
pub const ALGORITHM: Algorithm = Algorithm::of::<Fast>();

/// FAST TCP.
#[derive(Clone, Debug)]
pub struct Fast {
    params: Params,
    window: FluidWindow,
    rounds: Rounds,
    /// Number of rounds since the last update.
    rounds_waited: u32,
    /// Average RTT, s; 0 before the first sample.
    rtt: f64,
    srtt: Dur,
}

impl Fast {
    /// Creates the state of a new connection.
    pub fn new(start: &Start, params: Params) -> Fast {
        Fast {
            params,
            window: FluidWindow::new(start, 1.0),
            rounds: Rounds::default(),
            rounds_waited: 0,
            rtt: 0.0,
            srtt: Dur::ZERO,
        }
    }

    fn average(&mut self, rtt: Dur) {
        let sample = rtt.as_secs_f64();
        let weight = if self.rtt == 0.0 { 1.0 } else { (3.0 / self.window.pkts()).min(0.25) };
        self.rtt += weight * (sample - self.rtt);
    }

    /// Returns the window after an update, packets.
    fn next(&self, base: f64) -> f64 {
        let Params { alpha_pkts, gamma, .. } = self.params;
        let now = self.window.pkts();
        let target = now * base / self.rtt + alpha_pkts;
        ((1.0 - gamma) * now + gamma * target).min(2.0 * now)
    }

    /// Processes `min_rtt` at the start of a round in slow start.
    fn look(&mut self, min_rtt: Dur, sender: &Sender) {
        let queued = self.window.pkts() * (1.0 - rtprop(sender).as_secs_f64() / min_rtt.as_secs_f64());
        if queued > self.params.alpha_pkts {
            self.window.leave_slow_start();
        }
    }

    /// Processes the end of a round outside slow start.
    fn on_round(&mut self, sender: &Sender) {
        self.rounds_waited += 1;
        if self.rounds_waited < self.params.update_rounds || self.rtt == 0.0 {
            return;
        }
        self.rounds_waited = 0;
        let next = self.next(rtprop(sender).as_secs_f64());
        if next < self.window.pkts() || sender.is_cwnd_limited {
            self.window.set(next);
        }
    }
}

impl Controller for Fast {
    #[inline]
    fn on_ack(&mut self, ack: &Ack<'_>, _cx: &mut Context<'_>) {
        if let Some(rtt) = ack.rtt {
            self.average(rtt);
        }
        self.srtt = ack.sender.srtt;
        let progress = self.rounds.on_ack(ack);
        if ack.sender.is_reducing() {
            return;
        }
        if !self.window.is_in_slow_start() {
            if progress.is_over() {
                self.on_round(ack.sender);
            }
            return;
        }
        if let Some(min_rtt) = progress.first_look() {
            self.look(min_rtt, ack.sender);
        }
        if ack.sender.is_cwnd_limited {
            self.window.double(ack.acked);
        }
    }

    fn on_loss(&mut self, loss: &Loss<'_>, _cx: &mut Context<'_>) {
        self.window.cut(BETA, loss);
        self.rounds_waited = 0;
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
        emit("average_rtt_ms", self.rtt * 1e3);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::typed;
    use crate::testing::{Bench, MSS, Path, refusal};
    use fairweir_units::Time;
    use serde_json::Value;
    use serde_json::json;

    fn fast(pkts: u64, params: &Value) -> Fast {
        let start = Start { mss: MSS, initial_cwnd: MSS * pkts, oracle_rtprop: None, first_packet: 0, seed: 0 };
        Fast::new(&start, typed(NAME, params).expect("parameters"))
    }

    #[test]
    fn with_gamma_one_an_update_leaves_alpha_packets_in_the_queue() {
        // 1000 packets on a BDP of 600 packets: RTT = base 1000/600, so cwnd base / RTT is the BDP.
        let mut cc = fast(1000, &json!({"gamma": 1.0}));
        cc.rtt = 0.040 * 1000.0 / 600.0;
        assert!((cc.next(0.040) - 620.0).abs() < 1e-9, "{}", cc.next(0.040));
        let mut cc = fast(1000, &Value::Null);
        cc.rtt = 0.040 * 1000.0 / 600.0;
        assert!((cc.next(0.040) - 810.0).abs() < 1e-9, "{}", cc.next(0.040));
    }

    #[test]
    fn an_update_doubles_at_most() {
        let mut cc = fast(2, &json!({"alpha_pkts": 200.0}));
        cc.rtt = 0.040;
        assert_eq!(cc.next(0.040), 4.0);
    }

    #[test]
    fn a_flow_rests_with_alpha_packets_in_the_queue() {
        for (mbps, alpha) in [(12, 8.0), (96, 20.0), (200, 20.0), (200, 200.0)] {
            let mut bench = Bench::of(NAME, &json!({"alpha_pkts": alpha}), Path::droptail(mbps, 40, 20));
            bench.run_until(Time::from_nanos(20_000_000_000), |_| ());
            let packet = (MSS / bench.path.rate).as_secs_f64();
            let base = bench.path.rtprop.as_secs_f64() + packet;
            let (mut least, mut most) = (f64::INFINITY, 0.0f64);
            bench.run_until(bench.now + Dur::from_secs(10), |b| {
                let queued = (b.rtt.as_secs_f64() - base) / packet;
                (least, most) = (least.min(queued), most.max(queued));
            });
            assert!(least > alpha - 2.0 && most < alpha + 2.0, "{mbps} Mbps, {alpha}: {least} to {most}");
            assert_eq!(bench.episodes, (0, 0, 0));
        }
    }

    #[test]
    fn bad_parameters_are_named() {
        for (params, word) in [
            (json!({"alpha_pkts": 0.0}), "alpha_pkts"),
            (json!({"gamma": 1.1}), "gamma"),
            (json!({"update_rounds": 0}), "update_rounds"),
            (json!({"alpha": 20}), "alpha"),
        ] {
            assert!(refusal(&ALGORITHM, &params).contains(word), "{params}");
        }
    }
}
