//! The congestion controller of a stack: additive increase, multiplicative decrease, and slow start that ends when the
//! queue grows.

use fairweir_plugin::{Ack, BuildError, Bytes, Context, Controller, Dur, Loss, Row, Start};
use serde::{Deserialize, Serialize};

/// Parameters, as in `libmystack.so{beta=0.5}`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// The fraction of cwnd that remains after a loss.
    pub beta: f64,
}

impl Default for Params {
    fn default() -> Params {
        Params { beta: 0.7 }
    }
}

/// The state of one connection.
#[derive(Debug)]
pub struct MyCc {
    beta: f64,
    mss: f64,
    cwnd: f64,
    ssthresh: f64,
}

impl Row for MyCc {
    const NAME: &'static str = "mycc";
    const SUMMARY: &'static str = "AIMD, with slow start that ends when the queue grows";
    type Params = Params;

    fn build(start: &Start, params: Params) -> Result<MyCc, BuildError> {
        if !(0.1..1.0).contains(&params.beta) {
            let reason = format!("beta must lie from 0.1 to 1: `{}`", params.beta);
            return Err(BuildError::BadParams { name: MyCc::NAME.to_owned(), reason });
        }
        let (mss, cwnd) = (start.mss.0 as f64, start.initial_cwnd.0 as f64);
        Ok(MyCc { beta: params.beta, mss, cwnd, ssthresh: f64::INFINITY })
    }
}

impl Controller for MyCc {
    fn on_ack(&mut self, ack: &Ack<'_>, _: &mut Context<'_>) {
        let sender = ack.sender;
        if sender.is_reducing() || !sender.is_cwnd_limited {
            return;
        }
        let acked = ack.acked as f64 * self.mss;
        if self.cwnd >= self.ssthresh {
            // The increase that makes the mean throughput that of Reno (RFC 8312 §4.2).
            self.cwnd += 3.0 * (1.0 - self.beta) / (1.0 + self.beta) * acked * self.mss / self.cwnd;
            return;
        }
        self.cwnd += acked;
        // An eighth of the RTT, at least 4 ms, as in HyStart.
        let margin = (sender.min_rtt / 8).max(Dur::from_millis(4));
        if ack.rtt.is_some_and(|rtt| rtt > sender.min_rtt + margin) {
            self.ssthresh = self.cwnd;
        }
    }

    fn on_loss(&mut self, _: &Loss<'_>, _: &mut Context<'_>) {
        self.cwnd = (self.beta * self.cwnd).max(2.0 * self.mss);
        self.ssthresh = self.cwnd;
    }

    fn cwnd(&self) -> Bytes {
        Bytes(self.cwnd as u64)
    }

    fn ssthresh(&self) -> Option<Bytes> {
        self.ssthresh.is_finite().then_some(Bytes(self.ssthresh as u64))
    }
}

fairweir_plugin::export!(MyCc);
