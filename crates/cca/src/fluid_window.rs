//! A window that counts fractions of a packet, for algorithms whose steps are not whole packets.

use crate::{Cause, Loss, Start};
use fairweir_units::{Bytes, Dur, NANOS_PER_SEC, Rate};

/// Smallest slow-start threshold, packets (RFC 5681 §3.1 equation 4).
const MIN_SSTHRESH_PKTS: f64 = 2.0;

/// Maximum window, packets: far above any path's BDP, and without overflow in bytes.
const MAX_PKTS: f64 = 1e9;

/// Pacing rate, windows per srtt. It spreads bursts, but cwnd still limits the flow.
const PACING_GAIN: f64 = 2.0;

/// A window that counts fractions of a packet, with slow start below a threshold.
#[derive(Clone, Debug)]
pub(crate) struct FluidWindow {
    mss: u64,
    /// Minimum window, packets. If it is below one packet, the algorithm must pace.
    floor_pkts: f64,
    cwnd_pkts: f64,
    ssthresh_pkts: f64,
}

impl FluidWindow {
    /// Creates the initial window, in slow start, with a minimum of `floor_pkts`.
    pub fn new(start: &Start, floor_pkts: f64) -> FluidWindow {
        FluidWindow {
            mss: start.mss.0.max(1),
            floor_pkts,
            cwnd_pkts: (start.initial_cwnd.0 as f64 / start.mss.0.max(1) as f64).clamp(floor_pkts, MAX_PKTS),
            ssthresh_pkts: MAX_PKTS,
        }
    }

    /// Returns the window, packets.
    #[inline]
    pub fn pkts(&self) -> f64 {
        self.cwnd_pkts
    }

    /// Sets the window within its bounds; NaN does not change it. Outside slow start, a smaller window also reduces the
    /// threshold, so that slow start does not resume.
    #[inline]
    pub fn set(&mut self, pkts: f64) {
        let was_in_slow_start = self.is_in_slow_start();
        if !pkts.is_nan() {
            self.cwnd_pkts = pkts.clamp(self.floor_pkts, MAX_PKTS);
        }
        if !was_in_slow_start {
            self.ssthresh_pkts = self.ssthresh_pkts.min(self.cwnd_pkts);
        }
    }

    /// Returns whether the window is below ssthresh.
    #[inline]
    pub fn is_in_slow_start(&self) -> bool {
        self.cwnd_pkts < self.ssthresh_pkts
    }

    /// Slow start: adds one packet for each packet acknowledged, up to the threshold.
    #[inline]
    pub fn double(&mut self, acked: u64) {
        self.set((self.cwnd_pkts + acked as f64).min(self.ssthresh_pkts));
    }

    /// Ends slow start.
    pub fn leave_slow_start(&mut self) {
        self.ssthresh_pkts = self.cwnd_pkts;
    }

    /// Reduces the window and ssthresh to the fraction `to`, at least two packets. After a timeout the window is
    /// inflight + 1 (as in Linux; equal to RFC 5681's loss window if nothing is in flight).
    pub fn cut(&mut self, to: f64, loss: &Loss<'_>) {
        if !loss.is_repeated {
            self.ssthresh_pkts = (self.cwnd_pkts * to).max(MIN_SSTHRESH_PKTS);
        }
        let left = if loss.cause == Cause::Timeout { loss.sender.inflight() as f64 + 1.0 } else { self.ssthresh_pkts };
        self.cwnd_pkts = left.clamp(self.floor_pkts, MAX_PKTS);
    }

    /// Returns the window in bytes; at least one packet.
    #[inline]
    pub fn cwnd(&self) -> Bytes {
        Bytes((self.cwnd_pkts.max(1.0) * self.mss as f64) as u64)
    }

    /// Returns a pacing rate that spreads the window over half of `srtt` and does not limit it; `None` before the first
    /// sample.
    #[inline]
    pub fn paced_within(&self, srtt: Dur) -> Option<Rate> {
        if srtt == Dur::ZERO {
            return None;
        }
        let per_srtt = self.cwnd_pkts.max(1.0) * self.mss as f64 * PACING_GAIN;
        let rate = per_srtt * NANOS_PER_SEC as f64 / srtt.as_nanos() as f64;
        Some(Rate::from_bytes_per_sec((rate as u64).max(1)))
    }

    /// Returns the slow-start threshold.
    pub fn ssthresh(&self) -> Bytes {
        Bytes((self.ssthresh_pkts.max(1.0) * self.mss as f64) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sender;
    use crate::testing::MSS;

    fn window(pkts: u64) -> FluidWindow {
        FluidWindow::new(
            &Start { mss: MSS, initial_cwnd: MSS * pkts, oracle_rtprop: None, first_packet: 0, seed: 0 },
            1.0,
        )
    }

    /// Handles a timeout that halves ssthresh unless it `is_repeated`, with `inflight` packets in flight.
    fn time_out(w: &mut FluidWindow, inflight: u64, is_repeated: bool) {
        let sender = Sender { snd_nxt: inflight, ..Sender::new(MSS) };
        w.cut(0.5, &Loss { cause: Cause::Timeout, prior_inflight: inflight, is_repeated, sender: &sender });
    }

    #[test]
    fn slow_start_doubles_and_stops_at_the_threshold() {
        let mut w = window(10);
        w.double(10);
        assert_eq!(w.pkts(), 20.0);
        time_out(&mut w, 0, false);
        assert_eq!((w.pkts(), w.ssthresh()), (1.0, MSS * 10));
        w.double(30);
        assert_eq!((w.pkts(), w.is_in_slow_start()), (10.0, false));
    }

    #[test]
    fn a_repeated_timeout_leaves_the_threshold() {
        let mut w = window(40);
        time_out(&mut w, 3, false);
        time_out(&mut w, 3, true);
        assert_eq!((w.pkts(), w.ssthresh()), (4.0, MSS * 20));
        time_out(&mut w, 0, false);
        assert_eq!(w.ssthresh(), MSS * 2);
    }

    #[test]
    fn a_window_that_falls_outside_slow_start_stays_outside() {
        let mut w = window(10);
        w.leave_slow_start();
        w.set(0.1);
        assert!(!w.is_in_slow_start());
        w.set(50.0);
        assert_eq!((w.pkts(), w.ssthresh()), (50.0, MSS));
        assert!(!w.is_in_slow_start());
    }

    #[test]
    fn pacing_spreads_a_window_over_half_an_rtt() {
        assert_eq!(window(10).paced_within(Dur::from_millis(100)), Some(Rate::from_bytes_per_sec(300_000)));
        assert_eq!(window(10).paced_within(Dur::ZERO), None);
    }

    #[test]
    fn bounds_hold_and_nan_changes_nothing() {
        let mut w = window(10);
        w.set(f64::NAN);
        assert_eq!(w.cwnd(), MSS * 10);
        w.set(f64::INFINITY);
        assert_eq!(w.pkts(), MAX_PKTS);
        w.set(0.3);
        assert_eq!(w.cwnd(), MSS);
    }
}
