//! CUBIC.
//!
//! Model, cwnd W in packets, t the time in seconds since congestion avoidance began in which the flow used its window:
//!
//! - W_cubic(t) = C (t - K)^3 + W_max, K = cbrt((W_max - W_epoch) / C);
//! - target = clamp(W_cubic(t + RTT), W, 1.5 W); W += (target - W)/W per packet acknowledged;
//! - W_est += alpha/W per packet acknowledged, alpha = 3 (1 - beta)/(1 + beta) until W_est reaches the window before the
//!   cut, then 1; where W_cubic(t) < W_est, W = max(W, W_est);
//! - loss or mark: W_max = W, or W (1 + beta)/2 if the last W_max was not reached (fast convergence); W_epoch = beta W;
//! - timeout: ssthresh as for a loss, W = 1; after the following slow start K = 0 and W_max = W_epoch = W;
//! - with Linux's HyStart, W += max(0.05, (target - W)/W) while no loss since the start or the last timeout has set W_max.
//!
//! ```text
//!                 W = ssthresh, or HyStart++         t = 0
//!   slow start ----------------------------------> avoidance <---+
//!        ^          K = 0, W_max = W                 |    |      | W *= beta, new epoch
//!        |                timeout, W = 1             |    +------+ loss or mark
//!        +-------------------------------------------+
//! ```
//!
//! **Source**: RFC 9438 §4; `hystart` has HyStart++ (RFC 9406) and Linux's HyStart (off by default); the kernel's
//! `tcp_cubic.c` where the RFC permits a choice.
//!
//! **Deviations**: the slope (target - W)/W is recomputed when W has grown by a packet or an eighth of a round trip has
//! passed (at most 31 ms, as Linux), not at every ACK: between two such points W is a straight line. ssthresh is
//! computed from cwnd, as in Linux, not from the data in flight.

mod linux;

use crate::algorithm::{Algorithm, BuildError, Row, Start};
use crate::hystart::{HyStart, Kind};
use crate::{Ack, Cause, Context, Controller, Loss, Restart, Undo};
use fairweir_units::{Bytes, Dur, Time};
use serde::{Deserialize, Serialize};

/// Smallest ssthresh, packets (RFC 9438 §4.6).
const MIN_SSTHRESH: f64 = 2.0;

/// Maximum ratio of target to W (RFC 9438 §4.2).
const MAX_TARGET: f64 = 1.5;

/// The slope is recomputed after this fraction of a round trip, but at the latest after [`MAX_UPDATE_INTERVAL`].
const UPDATE_ROUND_FRACTION: u64 = 8;

/// Maximum time between two computations of the slope: 1/32 s (`tcp_cubic.c`).
const MAX_UPDATE_INTERVAL: Dur = Dur::from_micros(31_250);

/// Growth per packet acknowledged, with Linux's HyStart, while no loss has set W_max: at least 5 % in a round trip
/// (`tcp_cubic.c`, `bictcp_update`).
const SEARCH_SLOPE: f64 = 0.05;

/// Maximum window in packets; prevents overflow of products.
const MAX_CWND: f64 = (1u64 << 40) as f64;

/// Parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// C, the aggressiveness, packets/s^3.
    pub c: f64,
    /// beta, the fraction of the window that remains after a loss.
    pub beta: f64,
    /// Whether to release bandwidth to new flows (RFC 9438 §4.7).
    pub fast_convergence: bool,
    /// Whether the window is at least that of AIMD(alpha, beta) (RFC 9438 §4.3).
    pub friendliness: bool,
    /// How windows are counted, which matters below about twenty packets.
    pub counting: Counting,
    /// Method that ends slow start before a loss.
    pub hystart: Kind,
}

/// How windows are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Counting {
    /// With fractions of packets (RFC 9438).
    Exact,
    /// In whole packets, with the arithmetic of Linux ([`linux`]).
    Linux,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            c: 0.4,
            beta: 0.7,
            fast_convergence: true,
            friendliness: true,
            counting: Counting::Exact,
            hystart: Kind::Off,
        }
    }
}

impl Params {
    fn check(&self) -> Result<(), BuildError> {
        let bad = |reason: String| Err(BuildError::BadParams { name: "cubic".into(), reason });
        if !(self.c > 0.0 && self.c <= 1000.0) {
            return bad(format!("c must be positive and at most 1000: `{}`", self.c));
        }
        if !(self.beta > 0.0 && self.beta < 1.0) {
            return bad(format!("beta must be above 0 and below 1: `{}`", self.beta));
        }
        Ok(())
    }
}

impl Row for Cubic {
    const NAME: &'static str = "cubic";
    const SUMMARY: &'static str = "the window is a cubic function of the time since the last loss (RFC 9438)";
    type Params = Params;

    fn build(start: &Start, params: Params) -> Result<Cubic, BuildError> {
        params.check()?;
        Ok(Cubic::new(start, &params))
    }
}

/// CUBIC, as a row of the list of controllers.
pub const ALGORITHM: Algorithm = Algorithm::of::<Cubic>();

/// The curve of one congestion-avoidance epoch.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    /// Start of the epoch (t = 0); it is moved forward by the time in which the flow does not use its window (RFC 9438
    /// §5.8).
    start: Time,
    /// Window at the plateau, packets.
    w_max: f64,
    /// Time to the plateau, s.
    k: f64,
    /// Window of AIMD(alpha, beta), packets.
    w_est: f64,
}

impl Epoch {
    /// Returns W_cubic, packets, `t` seconds after the start.
    fn w_cubic(&self, c: f64, t: f64) -> f64 {
        let d = t - self.k;
        self.w_max + c * d * d * d
    }
}

/// Phase of congestion control.
#[derive(Clone, Debug)]
enum Phase {
    SlowStart(Option<HyStart>),
    /// cwnd equals ssthresh; the epoch starts with the next ACK that may increase cwnd.
    Reduced,
    Avoidance(Epoch),
}

/// CUBIC.
#[derive(Clone, Debug)]
pub struct Cubic {
    // fields that every ACK reads are first
    /// Packets acknowledged since the last update.
    credit: u64,
    /// An update is due when `credit` reaches this value.
    credit_due: u64,
    /// Latest time of the next update.
    update_at: Time,
    /// Time since which the window has not been fully used, if it is not.
    unused_since: Option<Time>,
    /// cwnd in whole packets.
    cwnd_pkts: u64,
    mss: u64,
    phase: Phase,
    /// Phase that slow start after an idle period interrupts.
    interrupted: Option<Phase>,
    /// cwnd including its fraction, packets.
    cwnd: f64,
    /// Growth per packet acknowledged until the next update, packets.
    slope: f64,
    /// Upper bound of cwnd until the next update.
    target: f64,
    ssthresh: f64,
    /// Window before the last reduction, packets; 0 before the first reduction.
    cwnd_prior: f64,
    /// W_max of the last reduction; 0 after a timeout and before the first loss.
    w_max: f64,
    c: f64,
    beta: f64,
    /// Additive increase at which AIMD with this beta has the same average window as Reno.
    alpha: f64,
    fast_convergence: bool,
    friendliness: bool,
    counting: Counting,
    /// State of Linux's arithmetic, which is used if `counting` says so.
    linux: linux::Counter,
    hystart: Kind,
}

impl Cubic {
    /// Creates the state of a new connection.
    pub fn new(start: &Start, params: &Params) -> Cubic {
        let cwnd_pkts = start.initial_cwnd.packets(start.mss).max(1);
        Cubic {
            credit: 0,
            credit_due: 0,
            update_at: Time::ZERO,
            unused_since: None,
            cwnd_pkts,
            mss: start.mss.0,
            phase: Phase::SlowStart(HyStart::new(params.hystart)),
            interrupted: None,
            cwnd: cwnd_pkts as f64,
            slope: 0.0,
            target: 0.0,
            ssthresh: f64::INFINITY,
            cwnd_prior: 0.0,
            w_max: 0.0,
            c: params.c,
            beta: params.beta,
            alpha: 3.0 * (1.0 - params.beta) / (1.0 + params.beta),
            fast_convergence: params.fast_convergence,
            friendliness: params.friendliness,
            counting: params.counting,
            linux: linux::Counter::new(params.beta),
            hystart: params.hystart,
        }
    }

    fn set_cwnd(&mut self, cwnd: f64) {
        self.cwnd = cwnd.clamp(1.0, MAX_CWND);
        self.cwnd_pkts = self.cwnd as u64;
    }

    /// Accounts for packets acknowledged since the last update, then recomputes the slope.
    #[cold]
    #[inline(never)]
    fn update(&mut self, ack: &Ack<'_>, now: Time) {
        let acked = std::mem::take(&mut self.credit);
        let left = match &mut self.phase {
            Phase::SlowStart(_) => self.slow_start(acked, ack, now),
            _ => acked,
        };
        match &mut self.phase {
            Phase::SlowStart(_) => return, // still there: update at the next ACK
            Phase::Reduced if self.counting == Counting::Exact => self.start_epoch(now),
            Phase::Reduced | Phase::Avoidance(_) => {}
        }
        match self.counting {
            Counting::Exact => self.avoid(left as f64, ack.sender.srtt, now),
            Counting::Linux => self.avoid_in_packets(left, now),
        }
    }

    /// Grows by `acked` up to ssthresh; returns the number of acknowledged packets that remain for congestion
    /// avoidance.
    fn slow_start(&mut self, acked: u64, ack: &Ack<'_>, now: Time) -> u64 {
        let Phase::SlowStart(hystart) = &mut self.phase else { return acked };
        let grown = match hystart {
            None => Some(acked),
            Some(search) => search.growth(ack, acked, self.cwnd_pkts, now),
        };
        match grown {
            Some(n) => self.set_cwnd((self.cwnd + n as f64).min(self.ssthresh.max(self.cwnd))),
            None => self.ssthresh = self.cwnd, // RFC 9406 §4.2
        }
        if self.cwnd < self.ssthresh {
            return 0;
        }
        if let Some(phase) = self.interrupted.take() {
            self.phase = phase;
            return 0;
        }
        self.phase = Phase::Reduced;
        // RFC 9438 §4.8, §4.10: if no reduction has set W_max, the curve starts at its plateau
        self.w_max = 0.0;
        self.cwnd_prior = self.cwnd;
        0
    }

    /// Starts the curve from the current window to W_max (RFC 9438 §4.2).
    fn start_epoch(&mut self, now: Time) {
        let w_max = self.w_max.max(self.cwnd);
        let k = cbrt((w_max - self.cwnd) / self.c);
        self.phase = Phase::Avoidance(Epoch { start: now, w_max, k, w_est: self.cwnd });
        self.slope = 0.0;
        self.target = self.cwnd;
    }

    /// Congestion avoidance (RFC 9438 §4.2 to §4.5).
    fn avoid(&mut self, acked: f64, srtt: Dur, now: Time) {
        let Phase::Avoidance(epoch) = &mut self.phase else { return };
        let per_packet = 1.0 / self.cwnd;
        let t = seconds(now.since(epoch.start));
        let rtt = seconds(srtt);
        let w_cubic = epoch.w_cubic(self.c, t);
        let w_target = epoch.w_cubic(self.c, t + rtt);
        // RFC 9438 §4.3: alpha compensates for the smaller reduction until cwnd_prior is reached again
        let alpha = if epoch.w_est < self.cwnd_prior { self.alpha } else { 1.0 };
        epoch.w_est = (epoch.w_est + alpha * acked * per_packet).min(MAX_CWND);
        let w_est = epoch.w_est;

        let mut cwnd = (self.cwnd + acked * self.slope).min(self.target).max(self.cwnd);
        let is_friendly = self.friendliness && w_cubic < w_est;
        if is_friendly {
            cwnd = cwnd.max(w_est);
        }
        self.set_cwnd(cwnd);
        let per_packet = 1.0 / self.cwnd;
        self.target = w_target.clamp(self.cwnd, MAX_TARGET * self.cwnd);
        self.slope = (self.target - self.cwnd) * per_packet;
        if self.hystart == Kind::Linux && self.w_max == 0.0 && self.slope < SEARCH_SLOPE {
            self.slope = SEARCH_SLOPE;
            self.target = MAX_TARGET * self.cwnd;
        }
        let mut speed = self.slope;
        let mut missing = (self.cwnd_pkts + 1) as f64 - self.cwnd;
        if is_friendly {
            // W_est reaches the next whole packet first
            speed = speed.max(alpha * per_packet);
            missing = missing.min((self.cwnd_pkts + 1) as f64 - w_est);
        }
        // with a slope of 0 the quotient is infinite and the cast saturates: only the time triggers the update
        self.credit_due = ((missing / speed) as u64).saturating_add(1);
        self.update_at = now + (srtt / UPDATE_ROUND_FRACTION).min(MAX_UPDATE_INTERVAL);
    }

    /// Processes an ACK that may increase cwnd.
    #[inline]
    fn grow(&mut self, ack: &Ack<'_>, now: Time) {
        if self.counting == Counting::Linux && !matches!(self.phase, Phase::SlowStart(_)) {
            self.avoid_in_packets(ack.acked, now);
            return;
        }
        self.credit += ack.acked;
        if self.credit >= self.credit_due || now >= self.update_at {
            self.update(ack, now);
        }
    }

    /// Resumes after a pause in the use of the window: the pause does not count in t.
    #[cold]
    #[inline(never)]
    fn resume(&mut self, since: Time, until: Time) {
        self.unused_since = None;
        if let Phase::Avoidance(epoch) = &mut self.phase {
            epoch.start += until.since(since);
        }
        self.update_at = Time::ZERO;
    }
}

/// Returns `d` in seconds.
fn seconds(d: Dur) -> f64 {
    d.as_nanos() as f64 * 1e-9
}

/// Cube root of `x` >= 0 by Newton's iteration; unlike in C libraries, the result is identical on every machine.
fn cbrt(x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    // dividing the exponent by three is accurate to 6 %; each step squares the error
    let mut r = f64::from_bits(x.to_bits() / 3 + (0x3ff_u64 << 52) / 3 * 2);
    for _ in 0..5 {
        r -= (r * r * r - x) / (3.0 * r * r);
    }
    r
}

impl Controller for Cubic {
    #[inline]
    fn on_ack(&mut self, ack: &Ack<'_>, cx: &mut Context<'_>) {
        if let (Counting::Linux, Some(rtt)) = (self.counting, ack.rtt) {
            self.measure_delay(rtt, cx.now);
        }
        let is_used = ack.sender.is_cwnd_limited && ack.may_raise_cwnd();
        if !is_used && self.counting == Counting::Exact {
            self.unused_since.get_or_insert(cx.now);
            return;
        }
        if let Some(since) = self.unused_since {
            self.resume(since, ack.newest_sent);
        }
        if is_used {
            self.grow(ack, cx.now);
        }
        if ack.sender.packets_out() == 0 {
            // the time from now on is idle
            self.unused_since = Some(if self.counting == Counting::Exact { cx.now } else { ack.newest_sent });
        }
    }

    fn on_loss(&mut self, loss: &Loss<'_>, _cx: &mut Context<'_>) {
        let is_timeout = loss.cause == Cause::Timeout;
        if self.counting == Counting::Linux {
            self.set_cwnd(self.cwnd_pkts as f64);
        }
        if !loss.is_repeated {
            self.cwnd_prior = self.cwnd;
            // RFC 9438 §4.7
            let is_below_plateau = self.fast_convergence && self.cwnd < self.w_max;
            self.w_max = if is_below_plateau { self.cwnd * (1.0 + self.beta) * 0.5 } else { self.cwnd };
            self.ssthresh = (self.cwnd * self.beta).max(MIN_SSTHRESH);
            if self.counting == Counting::Linux {
                (self.w_max, self.ssthresh) = (self.w_max.floor(), self.ssthresh.floor());
            }
        }
        self.interrupted = None;
        if is_timeout {
            self.set_cwnd((loss.sender.inflight() + 1) as f64);
            self.phase = Phase::SlowStart(HyStart::after_timeout(self.hystart));
        } else {
            self.set_cwnd(self.ssthresh);
            self.phase = Phase::Reduced;
        }
        self.credit = 0;
        self.credit_due = 0;
        self.unused_since = None;
        self.linux.on_loss(is_timeout);
    }

    /// A new curve starts at its plateau: Linux forgets W_max at a timeout, and finds cwnd at ssthresh or above
    /// (`cubictcp_state` and `bictcp_update` of tcp_cubic.c).
    fn on_undo(&mut self, undo: &Undo<'_>, _cx: &mut Context<'_>) {
        self.set_cwnd(self.cwnd.max((undo.cwnd.0 / self.mss) as f64));
        self.ssthresh = self.ssthresh.max((undo.ssthresh.0 / self.mss) as f64);
        self.w_max = 0.0;
        self.cwnd_prior = self.cwnd;
        if self.cwnd >= self.ssthresh {
            self.phase = Phase::Reduced;
        }
        self.credit = 0;
        self.credit_due = 0;
    }

    /// Slow start leads back to the curve, whose time does not include the idle period.
    fn on_restart(&mut self, restart: &Restart<'_>, cx: &mut Context<'_>) {
        if let Some(since) = self.unused_since {
            self.resume(since, cx.now);
        }
        self.ssthresh = self.ssthresh.max(Restart::min_ssthresh(self.cwnd_pkts) as f64);
        let cwnd = restart.cwnd.0 / self.mss;
        if cwnd < self.cwnd_pkts {
            self.set_cwnd(cwnd as f64);
        }
        if self.cwnd < self.ssthresh && !matches!(self.phase, Phase::SlowStart(_)) {
            // Linux's HyStart searches again unless it has already ended a slow start.
            let search = if self.w_max > 0.0 { HyStart::after_timeout(self.hystart) } else { None };
            self.interrupted = Some(std::mem::replace(&mut self.phase, Phase::SlowStart(search)));
        }
        self.credit = 0;
        self.credit_due = 0;
    }

    #[inline]
    fn cwnd(&self) -> Bytes {
        Bytes(self.cwnd_pkts.saturating_mul(self.mss))
    }

    fn ssthresh(&self) -> Option<Bytes> {
        Some(Bytes((self.ssthresh as u64).saturating_mul(self.mss)))
    }

    fn telemetry(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        let (w_max, k, w_est) = match &self.phase {
            Phase::Avoidance(e) => (e.w_max, e.k, e.w_est),
            _ => (self.w_max, 0.0, 0.0),
        };
        emit("ssthresh_pkts", self.ssthresh);
        emit("w_max_pkts", w_max);
        emit("k_s", k);
        emit("w_est_pkts", w_est);
    }
}

#[cfg(test)]
mod tests;
