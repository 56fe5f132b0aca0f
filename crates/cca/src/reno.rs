//! Reno with NewReno recovery.
//!
//! Model, cwnd in packets:
//!
//! - slow start (cwnd < ssthresh): cwnd += 1 per packet acknowledged;
//! - congestion avoidance: cwnd += 1/cwnd per packet acknowledged, counted in whole packets as `tcp_cong_avoid_ai` does;
//! - loss episode: ssthresh = cwnd = max(cwnd/2, 2); timeout: ssthresh as for a loss, cwnd = 1.
//!
//! ```text
//!                cwnd = ssthresh
//!   slow start ------------------> congestion avoidance <--+
//!        ^                              |    |             | cwnd /= 2
//!        |          timeout, cwnd = 1   |    +-------------+ loss or mark
//!        +------------------------------+
//! ```
//!
//! **Source**: RFC 5681 §3.1 and §3.2, RFC 6582; facts of the kernel's `tcp_cong.c`.
//!
//! **Deviations**: ssthresh is computed from cwnd (Linux), not from FlightSize (RFC 5681 equation 4). In recovery the
//! window follows the transport's proportional rate reduction; duplicate ACKs do not inflate it.

use crate::algorithm::{Algorithm, BuildError, Row, Start};
use crate::{Ack, Cause, Context, Controller, Loss, Restart, Undo};
use fairweir_units::Bytes;
use serde::{Deserialize, Serialize};

/// Smallest window after a reduction, packets (RFC 5681 §3.1 equation 4).
pub(crate) const MIN_SSTHRESH_PKTS: u64 = 2;

/// Parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Grow by the packets acknowledged (RFC 3465, Linux) rather than by the number of ACKs (RFC 5681 §3.1, ns-3),
    /// which is slower with delayed ACKs.
    pub byte_counting: bool,
}

impl Default for Params {
    fn default() -> Params {
        Params { byte_counting: true }
    }
}

impl Row for Reno {
    const NAME: &'static str = "reno";
    const SUMMARY: &'static str = "additive increase, multiplicative decrease on loss (RFC 5681)";
    type Params = Params;

    fn build(start: &Start, params: Params) -> Result<Reno, BuildError> {
        Ok(Reno::new(start, &params))
    }
}

/// Reno, as a row of the list of controllers.
pub const ALGORITHM: Algorithm = Algorithm::of::<Reno>();

/// A window that grows as Reno's does; the algorithms differ in how they cut it.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    pub(crate) mss: u64,
    pub(crate) cwnd_pkts: u64,
    pub(crate) ssthresh_pkts: u64,
    /// Packets acknowledged towards the next whole packet of cwnd.
    cwnd_cnt: u64,
}

impl Window {
    pub(crate) fn new(start: &Start) -> Window {
        Window {
            mss: start.mss.0,
            cwnd_pkts: start.initial_cwnd.packets(start.mss).max(1),
            ssthresh_pkts: u64::MAX,
            cwnd_cnt: 0,
        }
    }

    /// Slow start, then congestion avoidance, for `acked` packets.
    #[inline]
    pub(crate) fn grow(&mut self, acked: u64) {
        let mut acked = acked;
        if self.cwnd_pkts < self.ssthresh_pkts {
            let grown = self.cwnd_pkts.saturating_add(acked).min(self.ssthresh_pkts);
            acked -= grown - self.cwnd_pkts;
            self.cwnd_pkts = grown;
        }
        self.cwnd_cnt += acked;
        if self.cwnd_cnt >= self.cwnd_pkts {
            let grown = self.cwnd_cnt / self.cwnd_pkts;
            self.cwnd_cnt %= self.cwnd_pkts;
            self.cwnd_pkts += grown;
        }
    }

    /// Halves the window, or after a timeout sets it to inflight + 1.
    pub(crate) fn halve(&mut self, loss: &Loss<'_>) {
        self.cut(self.cwnd_pkts / 2, loss);
    }

    /// Reduces the window to `ssthresh` packets, or after a timeout to inflight + 1 (as in Linux; equal to RFC 5681's
    /// loss window if nothing is in flight).
    pub(crate) fn cut(&mut self, ssthresh: u64, loss: &Loss<'_>) {
        if !loss.is_repeated {
            self.reduce(ssthresh);
        }
        if loss.cause == Cause::Timeout {
            self.cwnd_cnt = 0;
            self.cwnd_pkts = loss.sender.inflight() + 1;
        }
    }

    /// Reduces the window and ssthresh to `ssthresh` packets, at least two.
    pub(crate) fn reduce(&mut self, ssthresh: u64) {
        self.ssthresh_pkts = ssthresh.max(MIN_SSTHRESH_PKTS);
        self.cwnd_cnt = 0;
        self.cwnd_pkts = self.ssthresh_pkts;
    }

    /// Continues with a smaller window after an idle period.
    pub(crate) fn restart(&mut self, restart: &Restart<'_>) {
        self.ssthresh_pkts = self.ssthresh_pkts.max(Restart::min_ssthresh(self.cwnd_pkts));
        self.cwnd_pkts = (restart.cwnd.0 / self.mss).max(1);
    }

    /// Continues with the window of before a spurious timeout.
    pub(crate) fn undo(&mut self, undo: &Undo<'_>) {
        self.cwnd_pkts = self.cwnd_pkts.max(undo.cwnd.0 / self.mss);
        self.ssthresh_pkts = self.ssthresh_pkts.max(undo.ssthresh.0 / self.mss);
    }

    #[inline]
    pub(crate) fn cwnd(&self) -> Bytes {
        Bytes(self.cwnd_pkts.saturating_mul(self.mss))
    }

    pub(crate) fn ssthresh(&self) -> Bytes {
        Bytes(self.ssthresh_pkts.saturating_mul(self.mss))
    }
}

/// Reno with NewReno recovery.
#[derive(Clone, Debug)]
pub struct Reno {
    window: Window,
    byte_counting: bool,
}

impl Reno {
    /// Creates the state of a new connection.
    pub fn new(start: &Start, params: &Params) -> Reno {
        Reno { window: Window::new(start), byte_counting: params.byte_counting }
    }
}

impl Controller for Reno {
    #[inline]
    fn on_ack(&mut self, ack: &Ack<'_>, _cx: &mut Context<'_>) {
        // RFC 7661: a window that is not used does not grow
        if ack.sender.is_cwnd_limited && ack.may_raise_cwnd() {
            let acked = if self.byte_counting { ack.acked } else { ack.acked.min(1) };
            self.window.grow(acked);
        }
    }

    fn on_loss(&mut self, loss: &Loss<'_>, _cx: &mut Context<'_>) {
        self.window.halve(loss);
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
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sender;
    use crate::testing::{Bench, MSS, Path};
    use fairweir_units::{Dur, Time};
    use serde_json::Value;

    fn window(cwnd_pkts: u64) -> Window {
        Window::new(&Start { mss: MSS, initial_cwnd: MSS * cwnd_pkts, oracle_rtprop: None, first_packet: 0, seed: 0 })
    }

    #[test]
    fn slow_start_doubles_and_stops_at_ssthresh_to_the_packet() {
        let mut w = window(10);
        w.grow(10);
        assert_eq!(w.cwnd_pkts, 20);
        w.ssthresh_pkts = 25;
        w.grow(10);
        assert_eq!((w.cwnd_pkts, w.cwnd_cnt), (25, 5));
    }

    #[test]
    fn avoidance_adds_a_packet_a_window_also_under_stretched_acks() {
        let (mut one_by_one, mut stretched) = (window(10), window(10));
        for w in [&mut one_by_one, &mut stretched] {
            w.ssthresh_pkts = 10;
        }
        (0..10).for_each(|_| one_by_one.grow(1));
        stretched.grow(10);
        assert_eq!(one_by_one.cwnd_pkts, 11);
        assert_eq!(stretched.cwnd_pkts, 11);
    }

    #[test]
    fn a_window_does_not_grow_at_an_ack_that_only_has_sacks() {
        let start = Start { mss: MSS, initial_cwnd: MSS * 10, oracle_rtprop: None, first_packet: 0, seed: 0 };
        let sender = Sender { snd_nxt: 10, is_cwnd_limited: true, ..Sender::new(MSS) };
        let mut rng = rand::SeedableRng::seed_from_u64(0);
        for (cum_acked, cwnd_pkts) in [(0, 10), (1, 11)] {
            let mut reno = Reno::new(&start, &Params::default());
            let ack = Ack { cum_acked, ..crate::testing::ack(&sender, Dur::from_millis(10)) };
            reno.on_ack(&ack, &mut Context { now: Time::ZERO, rng: &mut rng });
            assert_eq!(reno.window.cwnd_pkts, cwnd_pkts);
        }
    }

    #[test]
    fn a_repeated_timeout_leaves_ssthresh() {
        let mut w = window(40);
        let sender = Sender::new(MSS);
        let mut time_out = |is_repeated| {
            w.halve(&Loss { cause: Cause::Timeout, prior_inflight: 0, is_repeated, sender: &sender });
            (w.cwnd_pkts, w.ssthresh_pkts)
        };
        assert_eq!([false, true].map(&mut time_out), [(1, 20), (1, 20)]);
        assert_eq!(time_out(false), (1, MIN_SSTHRESH_PKTS));
    }

    #[test]
    fn after_an_idle_period_slow_start_leads_to_three_quarters_of_the_window() {
        let mut w = window(40);
        w.ssthresh_pkts = 20;
        w.restart(&Restart { cwnd: MSS * 10, sender: &Sender::new(MSS) });
        assert_eq!((w.cwnd_pkts, w.ssthresh_pkts), (10, 30));
    }

    #[test]
    fn periodic_loss_gives_the_sawtooth_of_the_square_root_law() {
        // one loss every 1/p packets: W peaks at sqrt(8/(3p)), mean 3/4 of it (specs: sqrt(3/2)/sqrt(p))
        let mut path = Path::droptail(1000, 20, 10);
        path.lose_every = Some(2400);
        let mut bench = Bench::of("reno", &Value::Null, path);
        bench.run_until(Time::from_nanos(60_000_000_000), |_| ());
        let (mut sum, mut samples) = (0, 0);
        bench.run_until(Time::from_nanos(60_000_000_000) + Dur::from_secs(60), |b| {
            sum += b.cwnd();
            samples += 1;
        });
        let (mean, law) = (sum as f64 / samples as f64, (1.5f64 * 2400.0).sqrt());
        // ACK-weighted, not time-weighted: 7/9 of the peak instead of 3/4 of it
        assert!((mean / law / (7.0 / 9.0 / 0.75) - 1.0).abs() < 0.05, "mean {mean}, law {law}");
    }
}
