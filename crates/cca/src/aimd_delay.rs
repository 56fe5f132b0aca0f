//! AIMD on delay: Reno that treats a queueing delay above a threshold as a loss.
//!
//! Model, cwnd in packets, q = RTT - rtprop of the newest packet acknowledged:
//!
//! - q <= threshold: Reno's growth, a packet per RTT after slow start;
//! - q > threshold: cwnd = ssthresh = max(beta cwnd, 2), at most once per round, and no growth until that round is
//!   acknowledged;
//! - loss: the same; timeout: cwnd = 1 + inflight.
//!
//! A single flow has Reno's contract with s, the number of high-delay events per packet, in place of the loss rate:
//! cwnd = sqrt(3/2) / sqrt(s) at beta = 1/2. On a dumbbell flows share equally; on a parking lot a flow that crosses
//! two queues observes the sum of their delays, always exceeds the threshold at which the others settle, and starves.
//!
//! ```text
//!          q > threshold: cwnd *= beta
//!   grow -----------------------------> reduced
//!     ^                                    |
//!     +------------------------------------+
//!            the round is acknowledged
//! ```
//!
//! **Source**: thesis section 6.3, which identifies it in 1RMA, SMaRTT, STrack, and the starvation paper's remedy.
//!
//! **Deviations**: the sources specify neither threshold nor beta; the defaults are 20 ms and Reno's 1/2. Slow start is
//! Reno's and ends with the first event. rtprop is the minimum RTT so far, or the oracle's.

use crate::algorithm::{Algorithm, BuildError, Row, Start};
use crate::delay::qdelay;
use crate::range::Checks;
use crate::reno::Window;
use crate::{Ack, Cause, Context, Controller, Loss, Restart, Sender, Undo};
use fairweir_units::{Bytes, Dur};
use serde::{Deserialize, Serialize};

/// Name in scenarios.
const NAME: &str = "aimd_delay";

/// Parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Queueing delay above which the window is reduced; positive, at most an hour.
    #[serde(with = "crate::quantity")]
    pub threshold: Dur,
    /// Fraction of the window that remains after a reduction; between 0 and 1.
    pub beta: f64,
}

impl Default for Params {
    fn default() -> Params {
        Params { threshold: Dur::from_millis(20), beta: 0.5 }
    }
}

impl Params {
    fn check(&self) -> Result<(), BuildError> {
        Checks { algorithm: NAME }.some_time("threshold", self.threshold)?.fraction("beta", self.beta)?;
        Ok(())
    }
}

impl Row for AimdDelay {
    const NAME: &'static str = NAME;
    const SUMMARY: &'static str = "Reno with queueing delay above a threshold as its loss (thesis section 6.3)";
    type Params = Params;

    fn build(start: &Start, params: Params) -> Result<AimdDelay, BuildError> {
        params.check()?;
        Ok(AimdDelay::new(start, &params))
    }
}

/// AIMD on delay, as a row of the list of controllers.
pub const ALGORITHM: Algorithm = Algorithm::of::<AimdDelay>();

/// AIMD on delay.
#[derive(Clone, Debug)]
pub struct AimdDelay {
    window: Window,
    threshold: Dur,
    beta: f64,
    /// Until a packet after this one is acknowledged, cwnd neither grows nor is reduced again.
    reduced_until: Option<u64>,
    high_delay_events: u64,
}

impl AimdDelay {
    /// Creates the state of a new connection.
    pub fn new(start: &Start, params: &Params) -> AimdDelay {
        AimdDelay {
            window: Window::new(start),
            threshold: params.threshold,
            beta: params.beta,
            reduced_until: None,
            high_delay_events: 0,
        }
    }

    #[cold]
    fn cut(&mut self, loss: Option<&Loss<'_>>, sender: &Sender) {
        let ssthresh = (self.window.cwnd_pkts as f64 * self.beta) as u64;
        match loss {
            Some(loss) => self.window.cut(ssthresh, loss),
            None => self.window.reduce(ssthresh),
        }
        self.reduced_until = Some(sender.snd_nxt);
    }
}

impl Controller for AimdDelay {
    #[inline]
    fn on_ack(&mut self, ack: &Ack<'_>, _cx: &mut Context<'_>) {
        if self.reduced_until.is_some_and(|until| ack.sender.snd_una > until) {
            self.reduced_until = None;
        }
        if self.reduced_until.is_some() || ack.sender.is_reducing() {
            return;
        }
        if ack.rtt.is_some_and(|rtt| qdelay(ack.sender, rtt) > self.threshold) {
            self.high_delay_events += 1;
            self.cut(None, ack.sender);
        } else if ack.sender.is_cwnd_limited {
            self.window.grow(ack.acked);
        }
    }

    fn on_loss(&mut self, loss: &Loss<'_>, _cx: &mut Context<'_>) {
        self.cut(Some(loss), loss.sender);
        if loss.cause == Cause::Timeout {
            self.reduced_until = None;
        }
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

    fn telemetry(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("ssthresh_pkts", self.window.ssthresh_pkts as f64);
        emit("high_delay_events", self.high_delay_events as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Path, refusal};
    use fairweir_units::Time;
    use serde_json::Value;
    use serde_json::json;

    fn settled(params: &Value) -> Bench {
        // 96 Mbps, 40 ms: 320 packets of BDP, 160 more in 20 ms
        let mut bench = Bench::of(NAME, params, Path::droptail(96, 40, 20));
        bench.run_until(Time::from_nanos(30_000_000_000), |_| ());
        bench
    }

    #[test]
    fn the_delay_stays_at_the_threshold_and_nothing_is_lost() {
        let mut bench = settled(&Value::Null);
        let (mut longest, mut smallest, mut largest) = (Dur::ZERO, u64::MAX, 0);
        bench.run_until(bench.now + Dur::from_secs(60), |b| {
            longest = longest.max(b.rtt);
            smallest = smallest.min(b.cwnd());
            largest = largest.max(b.cwnd());
        });
        // the delay exceeds the threshold by one packet per RTT until the sender observes it
        assert!(longest < Dur::from_millis(60) + Dur::from_micros(125) * 4, "{longest}");
        assert!((480..=484).contains(&largest), "{largest}");
        assert_eq!(smallest, (largest / 2).max(240));
        assert_eq!(bench.episodes, (0, 0, 0));
    }

    #[test]
    fn the_contract_is_renos_in_high_delay_events() {
        let mut bench = settled(&Value::Null);
        let (events, delivered) = (bench.telemetry("high_delay_events"), bench.sender.delivered);
        let (mut sum, mut samples) = (0, 0);
        bench.run_until(bench.now + Dur::from_secs(200), |b| {
            sum += b.cwnd();
            samples += 1;
        });
        let s = (bench.telemetry("high_delay_events") - events) / (bench.sender.delivered - delivered) as f64;
        let (mean, law) = (sum as f64 / f64::from(samples), (1.5 / s).sqrt());
        // The mean is weighted by ACKs, not by time: it is 7/9 of the peak instead of 3/4 of the peak.
        assert!((mean / law / (7.0 / 9.0 / 0.75) - 1.0).abs() < 0.05, "mean {mean}, law {law}");
    }

    #[test]
    fn beta_is_the_fraction_left_by_a_reduction() {
        let mut bench = settled(&json!({"beta": 0.9, "threshold": "5ms"}));
        let (mut smallest, mut largest) = (u64::MAX, 0);
        bench.run_until(bench.now + Dur::from_secs(30), |b| {
            smallest = smallest.min(b.cwnd());
            largest = largest.max(b.cwnd());
        });
        assert!((360..=364).contains(&largest), "{largest}");
        assert!((smallest as f64 / largest as f64 - 0.9).abs() < 0.01, "{smallest} of {largest}");
    }

    #[test]
    fn bad_parameters_are_named() {
        for (params, word) in
            [(json!({"threshold": "0s"}), "threshold"), (json!({"beta": 1.0}), "beta"), (json!({"gamma": 1}), "gamma")]
        {
            assert!(refusal(&ALGORITHM, &params).contains(word));
        }
    }
}
