//! CUBIC's congestion avoidance in whole packets, with the arithmetic of Linux 6.18: `bictcp_update` and
//! `cubictcp_acked` (net/ipv4/tcp_cubic.c), `tcp_cong_avoid_ai` (net/ipv4/tcp_cong.c).
//!
//! - The target is W_cubic at t + the minimum RTT, not at t + srtt (RFC 9438 §4.2): with a full queue W grows later. Below
//!   the plateau the target is rounded up, above it down, and W then grows by one packet per `cnt` packets acknowledged,
//!   cnt = W / (target - W) rounded down.
//! - A W at or above its target grows by a packet per hundred windows, but the packets acknowledged meanwhile count: when
//!   cnt falls, W grows at once.
//! - W_est grows by a packet per 15/8 windows (beta = 0.7), also beyond the window before the cut. W below W_est grows by
//!   W_est - W per window.
//! - A cut rounds down. The curve is looked up when W has changed or after 1/32 s, but at most once per jiffy: a cnt that
//!   W_est has made small then remains for up to 4 ms, even if W has reached W_est. An epoch, too, starts only when the curve
//!   is looked up.
//! - Only idle periods do not count in t (`cubictcp_cwnd_event`): the curve also rises while the flow does not use its
//!   window.
//!
//! **Deviations from Linux**: jiffies begin at the start of the run; beta and the cube root have no error of fixed-point
//! arithmetic.

use super::{Cubic, MAX_CWND, Phase, seconds};
use fairweir_units::{Dur, Time};

/// HZ = 250, as in Debian's and Ubuntu's kernels and the one of docs/agreement.md.
const JIFFY: Dur = Dur::from_millis(4);
/// HZ / 32, jiffies.
const MAX_UPDATE_JIFFIES: u64 = 7;
/// In the first second of an epoch, RTTs do not count for the minimum (`cubictcp_acked`).
const MIN_RTT_PAUSE: Dur = Dur::from_secs(1);
/// Largest cnt while no loss has set W_max: at least 5 % in a round trip.
const SEARCH_CNT: u64 = 20;
/// Smallest cnt: at most 1.5 W in a round trip.
const MIN_CNT: u64 = 2;
/// Windows per packet of growth for a W that has reached its target.
const WAIT_WINDOWS: u64 = 100;

/// Counters of packets acknowledged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counter {
    /// Packets acknowledged per packet of growth (`cnt`).
    cnt: u64,
    /// Packets acknowledged since W grew (`snd_cwnd_cnt`).
    acked: u64,
    /// Packets acknowledged since W_est grew (`ack_cnt`).
    acked_est: u64,
    /// W, and the time in jiffies, when the curve was last looked up (`last_cwnd`, `last_time`).
    last_cwnd: u64,
    last_jiffy: u64,
    /// Minimum RTT since the start or the last timeout (`delay_min`); [`Dur::MAX`] before the first sample.
    min_rtt: Dur,
    /// Windows per packet of W_est, in eighths (`beta_scale`).
    windows_per_packet: u64,
}

impl Counter {
    pub(super) fn new(beta: f64) -> Counter {
        Counter {
            cnt: 1,
            acked: 0,
            acked_est: 0,
            last_cwnd: 0,
            last_jiffy: 0,
            min_rtt: Dur::MAX,
            windows_per_packet: (8.0 * (1.0 + beta) / (3.0 * (1.0 - beta))) as u64,
        }
    }

    pub(super) fn on_loss(&mut self, is_timeout: bool) {
        self.acked = 0;
        if is_timeout {
            (self.min_rtt, self.last_cwnd) = (Dur::MAX, 0); // `bictcp_reset`
        }
    }

    /// Counts `acked` packets; returns by how many packets W grows (`tcp_cong_avoid_ai`).
    fn growth(&mut self, acked: u64) -> u64 {
        let mut grown = 0;
        if self.acked >= self.cnt {
            (self.acked, grown) = (0, 1);
        }
        self.acked += acked;
        grown += self.acked / self.cnt;
        self.acked %= self.cnt;
        grown
    }

    /// Returns by how much W_est has grown, for a window of `cwnd` packets.
    fn growth_est(&mut self, cwnd: u64) -> u64 {
        let per_packet = (cwnd.saturating_mul(self.windows_per_packet) / 8).max(1);
        let grown = self.acked_est.saturating_sub(1) / per_packet;
        self.acked_est -= grown * per_packet;
        grown
    }
}

impl Cubic {
    /// Updates the minimum RTT.
    #[inline]
    pub(super) fn measure_delay(&mut self, rtt: Dur, now: Time) {
        if rtt >= self.linux.min_rtt {
            return;
        }
        let is_early = matches!(&self.phase, Phase::Avoidance(epoch) if now.since(epoch.start) < MIN_RTT_PAUSE);
        if !is_early {
            self.linux.min_rtt = rtt;
        }
    }

    /// Congestion avoidance after an ACK of `acked` packets.
    pub(super) fn avoid_in_packets(&mut self, acked: u64, now: Time) {
        self.linux.acked_est += acked;
        self.update_cnt(acked, now);
        let grown = self.linux.growth(acked);
        if grown > 0 {
            self.set_cwnd((self.cwnd_pkts + grown) as f64);
        }
    }

    /// Updates the number of packets acknowledged per packet of growth (`bictcp_update`).
    fn update_cnt(&mut self, acked: u64, now: Time) {
        let (jiffy, cwnd) = (jiffies(now), self.cwnd_pkts);
        if cwnd == self.linux.last_cwnd && jiffy.saturating_sub(self.linux.last_jiffy) <= MAX_UPDATE_JIFFIES {
            return;
        }
        let starts_epoch = matches!(self.phase, Phase::Reduced);
        if starts_epoch {
            self.start_epoch(now);
            self.linux.acked_est = acked;
        }
        let Phase::Avoidance(epoch) = &mut self.phase else { return };
        let linux = &mut self.linux;
        if starts_epoch || jiffy != linux.last_jiffy {
            (linux.last_cwnd, linux.last_jiffy) = (cwnd, jiffy);
            let ahead = if linux.min_rtt < Dur::MAX { linux.min_rtt.as_nanos().div_ceil(JIFFY.as_nanos()) } else { 0 };
            let t = JIFFY * (jiffy.saturating_sub(jiffies(epoch.start)) + ahead);
            let distance = epoch.w_cubic(self.c, seconds(t)) - epoch.w_max;
            let target = (epoch.w_max + distance.trunc()).clamp(0.0, MAX_CWND) as u64;
            linux.cnt = if target > cwnd { cwnd / (target - cwnd) } else { cwnd.saturating_mul(WAIT_WINDOWS) };
            if self.w_max == 0.0 {
                linux.cnt = linux.cnt.min(SEARCH_CNT);
            }
        }
        if self.friendliness {
            epoch.w_est = (epoch.w_est + linux.growth_est(cwnd) as f64).min(MAX_CWND);
            let w_est = epoch.w_est as u64;
            if w_est > cwnd {
                linux.cnt = linux.cnt.min(cwnd / (w_est - cwnd));
            }
        }
        linux.cnt = linux.cnt.max(MIN_CNT);
    }
}

/// Returns `time` in jiffies.
fn jiffies(time: Time) -> u64 {
    time.as_nanos() / JIFFY.as_nanos()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Start;
    use crate::cubic::{Counting, Epoch, Params};
    use crate::testing::MSS;

    /// CUBIC with a window of `cwnd` packets in an epoch with the plateau `w_max` that began at 0.
    fn cubic(cwnd: u64, w_max: f64, k: f64) -> Cubic {
        let start = Start { mss: MSS, initial_cwnd: MSS * cwnd, oracle_rtprop: None, first_packet: 0, seed: 0 };
        let mut cubic = Cubic::new(&start, &Params { counting: Counting::Linux, ..Params::default() });
        cubic.w_max = w_max;
        cubic.phase = Phase::Avoidance(Epoch { start: Time::ZERO, w_max, k, w_est: 0.0 });
        cubic
    }

    fn cnt_at(cubic: &mut Cubic, ms: u64) -> u64 {
        cubic.update_cnt(0, Time::ZERO + Dur::from_millis(ms));
        cubic.linux.cnt
    }

    #[test]
    fn the_target_is_rounded_towards_the_plateau() {
        // C (t - K)^3 = -10.8 packets at t = K - 3 s, and -0.4 at K - 1 s.
        assert_eq!(cnt_at(&mut cubic(85, 100.0, 5.0), 2000), 85 / 5);
        assert_eq!(cnt_at(&mut cubic(85, 100.0, 5.0), 4000), 85 / 15);
        assert_eq!(cnt_at(&mut cubic(100, 100.0, 5.0), 6000), 10_000, "0.4 packets above the plateau");
    }

    #[test]
    fn the_curve_is_looked_up_a_minimum_rtt_ahead() {
        let with_rtt_at = |ms| {
            let mut cubic = cubic(85, 100.0, 5.0);
            cubic.measure_delay(Dur::from_secs(2), Time::ZERO + Dur::from_millis(ms));
            cubic
        };
        assert_eq!(cnt_at(&mut with_rtt_at(999), 2000), 85 / 5, "the epoch's first second");
        let mut ahead = with_rtt_at(1000);
        assert_eq!(cnt_at(&mut ahead, 2000), 85 / 15);
        ahead.linux.on_loss(true);
        assert_eq!(ahead.linux.min_rtt, Dur::MAX);
    }

    #[test]
    fn packets_acknowledged_while_the_window_waits_count() {
        let mut cubic = cubic(20, 20.0, 0.0);
        cubic.friendliness = false;
        for _ in 0..30 {
            cubic.avoid_in_packets(1, Time::ZERO + Dur::from_millis(40));
        }
        assert_eq!((cubic.cwnd_pkts, cubic.linux.cnt), (20, 2000));
        // C 1.4^3 = 1.1 packets
        cubic.avoid_in_packets(1, Time::ZERO + Dur::from_millis(1400));
        assert_eq!((cubic.cwnd_pkts, cubic.linux.cnt), (21, 20));
    }

    #[test]
    fn the_window_follows_w_est_within_a_window() {
        let mut cubic = cubic(10, 1000.0, 100.0);
        cubic.phase = Phase::Avoidance(Epoch { start: Time::ZERO, w_max: 10.0, k: 100.0, w_est: 10.0 });
        // more than 15/8 of a window
        cubic.linux.acked_est = 19;
        assert_eq!(cnt_at(&mut cubic, 40), 10);
        assert_eq!(cubic.linux.acked_est, 1);
    }

    #[test]
    fn a_small_cnt_remains_for_a_jiffy() {
        let mut cubic = cubic(6, 6.0, 0.0);
        cubic.phase = Phase::Avoidance(Epoch { start: Time::ZERO, w_max: 6.0, k: 0.0, w_est: 8.0 });
        let windows = [4, 4, 4, 4, 4, 4, 4, 8, 8].map(|ms| {
            cubic.avoid_in_packets(1, Time::ZERO + Dur::from_millis(ms));
            cubic.cwnd_pkts
        });
        // 6 / (8 - 6) = 3 packets per packet beyond W_est until 8 ms, then W waits
        assert_eq!(windows, [6, 6, 7, 7, 7, 8, 8, 8, 8]);
    }

    #[test]
    fn an_epoch_with_the_same_window_starts_late() {
        let mut cubic = cubic(2, 2.0, 0.0);
        let starts = |cubic: &mut Cubic, ms| {
            cubic.avoid_in_packets(1, Time::ZERO + Dur::from_millis(ms));
            matches!(cubic.phase, Phase::Avoidance(_))
        };
        assert!(starts(&mut cubic, 40));
        cubic.phase = Phase::Reduced;
        assert_eq!([41, 68, 72].map(|ms| starts(&mut cubic, ms)), [false, false, true]);
        cubic.phase = Phase::Reduced;
        cubic.set_cwnd(3.0);
        assert!(starts(&mut cubic, 73));
    }
}
