//! Reno with NewReno recovery.
//!
//! Model, cwnd in packets:
//!
//! - slow start (cwnd < ssthresh): cwnd += 1 per packet acknowledged;
//! - congestion avoidance: cwnd += 1/cwnd per packet acknowledged, counted in whole packets as `tcp_cong_avoid_ai` does;
//! - loss episode: ssthresh = cwnd = max(cwnd/2, 2); timeout: ssthresh likewise, cwnd = 1.
//!
//! **Source**: RFC 5681 §3.1 and §3.2, RFC 6582; specs of the kernel's `tcp_cong.c`.
//!
//! **Deviations**: ssthresh comes from cwnd (Linux) rather than FlightSize (RFC 5681 equation 4). The window inflates
//! in recovery by the transport's proportional rate reduction, not by duplicate ACKs.

use crate::registry::{Algorithm, BuildError, Start, defaults, typed};
use crate::{Ack, Cause, Context, Controller, Loss};
use fairweir_units::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Smallest window after a reduction, packets (RFC 5681 §3.1 equation 4).
const MIN_SSTHRESH_PKTS: u64 = 2;

/// Reno has no parameters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Params {}

/// Reno, as a row of the list of controllers.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "reno",
    summary: "additive increase, multiplicative decrease on loss (RFC 5681)",
    defaults: defaults::<Params>,
    build: |params: &Value, start: &Start| -> Result<Box<dyn Controller>, BuildError> {
        let Params {} = typed("reno", params)?;
        Ok(Box::new(Reno::new(start)))
    },
};

/// Reno with NewReno recovery.
#[derive(Clone, Debug)]
pub struct Reno {
    mss: u64,
    cwnd_pkts: u64,
    ssthresh_pkts: u64,
    /// Packets acknowledged towards the next whole packet of cwnd.
    cwnd_cnt: u64,
}

impl Reno {
    /// A connection that starts.
    pub fn new(start: &Start) -> Reno {
        Reno {
            mss: start.mss.0,
            cwnd_pkts: start.initial_cwnd.packets(start.mss).max(1),
            ssthresh_pkts: u64::MAX,
            cwnd_cnt: 0,
        }
    }
}

impl Controller for Reno {
    fn on_ack(&mut self, ack: &Ack<'_>, _cx: &mut Context<'_>) {
        if !ack.sender.is_cwnd_limited || ack.sender.is_reducing() {
            return; // RFC 7661: a window that is not used does not grow
        }
        let mut acked = ack.acked;
        if self.cwnd_pkts < self.ssthresh_pkts {
            let grown = self.cwnd_pkts.saturating_add(acked).min(self.ssthresh_pkts);
            acked -= grown - self.cwnd_pkts;
            self.cwnd_pkts = grown;
        }
        self.cwnd_cnt += acked;
        if self.cwnd_cnt >= self.cwnd_pkts {
            self.cwnd_cnt -= self.cwnd_pkts;
            self.cwnd_pkts += 1;
        }
    }

    fn on_loss(&mut self, loss: &Loss<'_>, _cx: &mut Context<'_>) {
        self.ssthresh_pkts = (self.cwnd_pkts / 2).max(MIN_SSTHRESH_PKTS);
        self.cwnd_cnt = 0;
        self.cwnd_pkts = if loss.cause == Cause::Timeout { 1 } else { self.ssthresh_pkts };
    }

    fn cwnd(&self) -> Bytes {
        Bytes(self.cwnd_pkts * self.mss)
    }

    fn ssthresh(&self) -> Option<Bytes> {
        Some(Bytes(self.ssthresh_pkts.saturating_mul(self.mss)))
    }

    fn telemetry(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("ssthresh_pkts", self.ssthresh_pkts as f64);
    }
}
