//! SCReAM: window-based congestion control for conversational media, with a target for the queueing delay.
//!
//! Model, bytes, per ACK, with q the queueing delay, new the bytes newly acknowledged or lost, T the target (100 ms at
//! first):
//!
//! - fast increase: cwnd += new if inflight 1.5 + new > cwnd; it ends when the trend of q is at least 0.2, and resumes when
//!   the trend has been below 0.2 for 5 s;
//! - otherwise: cwnd += (T - q) / T new mss / cwnd, growth only if inflight 1.25 + new > cwnd; then cwnd is at most 1.1 times
//!   the maximum inflight of 5 s, and at least 3000 bytes;
//! - loss: cwnd *= 0.8; mark: cwnd *= 0.9; both end fast increase;
//! - every 50 ms the trend and T are updated from the history of q ([`history`]); T is at most 400 ms;
//! - inflight may exceed cwnd by a packet while q is at most T; pacing rate = cwnd / srtt, at least 50 kbps.
//!
//! ```text
//!                   trend >= 0.2, loss or mark
//!   fast increase ------------------------------> towards the target
//!        ^                                            |
//!        +---------- trend < 0.2 for 5 s -------------+
//! ```
//!
//! Contract: q = T at every rate, as with LEDBAT; it does not determine how flows divide the link.
//!
//! **Source**: RFC 8298 §4.1.
//!
//! **Deviations**: the media rate control (§4.1.3) and the queue of RTP packets are left out: the flow always has data
//! for its window. q is the RTT less the minimum RTT (or the oracle), where the RFC has one-way delays. The initial
//! window and the size of a packet (the RFC's MSS of 1000 bytes) are the transport's, which also detects losses, sends
//! again, and decides when a loss or a mark is a new event. After a timeout, which RTP does not have, cwnd is its
//! minimum. The RFC leaves open how the loss event rate is estimated and how often the histories of T are sampled; here
//! it is a moving average over RTTs with weight 0.01, and every 50 ms.

mod history;

use crate::algorithm::{Algorithm, BuildError, Row, Start};
use crate::delay::{Rounds, qdelay};
use crate::range::Checks;
use crate::{Ack, Cause, Context, Controller, Interests, Loss};
use fairweir_units::{Bytes, Dur, NANOS_PER_SEC, Rate, Time};
use history::{Inflight, Target, Trend};
use serde::{Deserialize, Serialize};

/// Name in scenarios.
const NAME: &str = "scream";

/// MIN_CWND, bytes.
const MIN_CWND: f64 = 3000.0;
/// MAX_BYTES_IN_FLIGHT_HEAD_ROOM.
const INFLIGHT_HEAD_ROOM: f64 = 1.1;
/// Fractions of the window above which inflight must be for it to grow.
const USED_IN_FAST_INCREASE: f64 = 1.5;
const USED: f64 = 1.25;
/// QDELAY_TREND_TH and QDELAY_TREND_LO.
const TREND_THRESHOLD: f64 = 0.2;
/// RATE_PACE_MIN, 50 kbps in bytes per second.
const MIN_PACING_RATE: u64 = 6250;
/// Time between updates of the trend and the target (RFC 8298 §4.1.2).
const SAMPLING: Dur = Dur::from_millis(50);
/// Largest window, bytes: above any path's BDP.
const MAX_CWND: f64 = 1e12;

/// Parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Smallest target for the queueing delay (QDELAY_TARGET_LO); positive, at most an hour.
    #[serde(with = "crate::quantity")]
    pub target_low: Dur,
    /// Largest target (QDELAY_TARGET_HI); at least `target_low`, at most an hour.
    #[serde(with = "crate::quantity")]
    pub target_high: Dur,
    /// Change of the window in packets per RTT when the queue is empty (GAIN); positive, at most 1000.
    pub gain: f64,
    /// Fraction of the window that remains after a loss (BETA_LOSS).
    pub beta_loss: f64,
    /// Fraction of the window that remains after a mark (BETA_ECN).
    pub beta_ecn: f64,
    /// Raise the target next to competing loss-based flows (§4.1.2.3).
    pub compensates: bool,
    /// Time with a low trend after which fast increase resumes (T_RESUME_FAST_INCREASE); positive, at most an hour.
    #[serde(with = "crate::quantity")]
    pub resume_after: Dur,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            target_low: Dur::from_millis(100),
            target_high: Dur::from_millis(400),
            gain: 1.0,
            beta_loss: 0.8,
            beta_ecn: 0.9,
            compensates: true,
            resume_after: Dur::from_secs(5),
        }
    }
}

impl Params {
    fn check(&self) -> Result<(), BuildError> {
        let checks = Checks { algorithm: NAME }
            .some_time("target_low", self.target_low)?
            .some_time("target_high", self.target_high)?
            .some_time("resume_after", self.resume_after)?
            .positive("gain", self.gain, 1000.0)?
            .fraction("beta_loss", self.beta_loss)?
            .fraction("beta_ecn", self.beta_ecn)?;
        if self.target_high < self.target_low {
            return checks.refuse("target_high", "be at least target_low", &self.target_high);
        }
        Ok(())
    }
}

impl Row for Scream {
    const NAME: &'static str = NAME;
    const SUMMARY: &'static str =
        "for media: a window with a target for the queueing delay, without the media part (RFC 8298)";
    type Params = Params;

    fn build(start: &Start, params: Params) -> Result<Scream, BuildError> {
        params.check()?;
        Ok(Scream::new(start, &params))
    }
}

/// SCReAM, as a row of the list of controllers.
pub const ALGORITHM: Algorithm = Algorithm::of::<Scream>();

/// SCReAM's network congestion control.
#[derive(Clone, Debug)]
pub struct Scream {
    mss: f64,
    gain: f64,
    beta_loss: f64,
    beta_ecn: f64,
    resume_after: Dur,
    /// Bytes.
    cwnd: f64,
    target: Target,
    trend: Trend,
    inflight: Inflight,
    in_fast_increase: bool,
    /// Time from which on the trend has been below its threshold.
    calm_since: Time,
    sampled: Time,
    rounds: Rounds,
    /// Whether packets were lost in this round.
    has_lost: bool,
    /// The last queueing delay, s.
    qdelay: f64,
    pacing_rate: Option<Rate>,
}

impl Scream {
    /// Creates the state of a new connection.
    pub fn new(start: &Start, params: &Params) -> Scream {
        Scream {
            mss: start.mss.0 as f64,
            gain: params.gain,
            beta_loss: params.beta_loss,
            beta_ecn: params.beta_ecn,
            resume_after: params.resume_after,
            cwnd: (start.initial_cwnd.0 as f64).clamp(MIN_CWND, MAX_CWND),
            target: Target::new(params.target_low.as_secs_f64(), params.target_high.as_secs_f64(), params.compensates),
            trend: Trend::default(),
            inflight: Inflight::default(),
            in_fast_increase: true,
            calm_since: Time::ZERO,
            sampled: Time::ZERO,
            rounds: Rounds::default(),
            has_lost: false,
            qdelay: 0.0,
            pacing_rate: None,
        }
    }

    /// §4.1.2: samples the delay, and ends or resumes fast increase.
    #[cold]
    fn sample(&mut self, now: Time) {
        self.sampled = now;
        self.inflight.turn();
        let trend = self.trend.update(self.qdelay / self.target.value());
        self.target.update(self.qdelay);
        if trend >= TREND_THRESHOLD {
            self.leave_fast_increase(now);
        } else if now.since(self.calm_since) >= self.resume_after {
            self.in_fast_increase = true;
        }
    }

    fn leave_fast_increase(&mut self, now: Time) {
        self.in_fast_increase = false;
        self.calm_since = now;
    }

    /// §4.1.2.2: `new` bytes were acknowledged or lost; `inflight` bytes remain.
    fn update_cwnd(&mut self, new: f64, inflight: f64) {
        if self.in_fast_increase {
            if inflight * USED_IN_FAST_INCREASE + new > self.cwnd {
                self.cwnd += new;
            }
        } else {
            let off_target = (self.target.value() - self.qdelay) / self.target.value();
            if off_target <= 0.0 || inflight * USED + new > self.cwnd {
                self.cwnd += self.gain * off_target * new * self.mss / self.cwnd;
            }
            self.cwnd = self.cwnd.min(self.inflight.max() * INFLIGHT_HEAD_ROOM);
        }
        self.cwnd = self.cwnd.clamp(MIN_CWND, MAX_CWND);
    }

    /// §4.1.2.5: the bytes that may be in flight.
    fn allowed(&self) -> f64 {
        if self.qdelay <= self.target.value() { self.cwnd + self.mss } else { self.cwnd }
    }

    /// §4.1.2.6: paces a window per srtt.
    fn pace(&mut self, srtt: Dur) {
        if srtt > Dur::ZERO {
            let rate = self.cwnd * NANOS_PER_SEC as f64 / srtt.as_nanos() as f64;
            self.pacing_rate = Some(Rate::from_bytes_per_sec((rate as u64).max(MIN_PACING_RATE)));
        }
    }
}

impl Controller for Scream {
    #[inline]
    fn on_ack(&mut self, ack: &Ack<'_>, cx: &mut Context<'_>) {
        if let Some(rtt) = ack.rtt {
            self.qdelay = qdelay(ack.sender, rtt).as_secs_f64();
        }
        self.has_lost |= ack.lost > 0;
        if self.rounds.on_ack(ack).is_over() {
            self.target.end_round(std::mem::take(&mut self.has_lost));
        }
        self.inflight.add(ack.prior_inflight as f64 * self.mss);
        if cx.now.since(self.sampled) >= SAMPLING {
            self.sample(cx.now);
        }
        let new = (ack.acked + ack.lost) as f64 * self.mss;
        self.update_cwnd(new, ack.sender.inflight() as f64 * self.mss);
        self.pace(ack.sender.srtt);
    }

    fn on_loss(&mut self, loss: &Loss<'_>, cx: &mut Context<'_>) {
        self.leave_fast_increase(cx.now);
        let left = match loss.cause {
            Cause::Dupack => self.cwnd * self.beta_loss,
            Cause::Ecn => self.cwnd * self.beta_ecn,
            Cause::Timeout | Cause::PersistentCongestion => MIN_CWND,
        };
        self.cwnd = left.max(MIN_CWND);
        self.pace(loss.sender.srtt);
    }

    #[inline]
    fn cwnd(&self) -> Bytes {
        Bytes(self.allowed() as u64)
    }

    #[inline]
    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing_rate
    }

    fn interests(&self) -> Interests {
        Interests { own_recovery: true, ..Interests::default() }
    }

    fn telemetry(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("cwnd_pkts", self.cwnd / self.mss);
        emit("qdelay_ms", self.qdelay * 1e3);
        emit("target_qdelay_ms", self.target.value() * 1e3);
        emit("qdelay_trend", self.trend.value());
        emit("fast_increase", f64::from(u8::from(self.in_fast_increase)));
    }
}

#[cfg(test)]
mod tests;
