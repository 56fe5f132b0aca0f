//! Detection of a token-bucket policer: BBR's long-term bandwidth.
//!
//! Two consecutive intervals that each lose a fifth of their packets and deliver the same bandwidth indicate a policer.
//! For some rounds, BBR then uses this bandwidth instead of the maximum sample.

use super::bandwidth::{Bandwidth, Gain};
use crate::Sender;
use fairweir_units::{Dur, Time};

/// Minimum interval, rounds (`bbr_lt_intvl_min_rtts`). An interval of more than four times this number is too long.
const MIN_ROUNDS: u32 = 4;
/// lost/delivered of a lossy interval, 50/256 (`bbr_lt_loss_thresh`).
const LOSS_THRESH_256THS: u64 = 50;
/// Two bandwidths are the same if their difference is at most an eighth (`bbr_lt_bw_ratio`).
const SAME_RATIO: f64 = 0.125;
/// Two bandwidths are the same if their difference is at most 4 kbit/s (`bbr_lt_bw_diff`): a packet of 1500 bytes in 3
/// s.
const SAME_DIFF_PERIOD: Dur = Dur::from_secs(3);
/// Rounds for which the policer's rate is used (`bbr_lt_bw_max_rtts`).
const POLICED_ROUNDS: u32 = 48;
/// The times of an interval are whole milliseconds, and it has at least one (`lt_last_stamp`).
const TICK: u64 = 1_000_000;

#[derive(Clone, Copy, Debug)]
enum State {
    /// No loss yet.
    Waiting,
    Sampling(Interval),
    Policed {
        rounds: u32,
    },
}

#[derive(Clone, Copy, Debug)]
struct Interval {
    start: Time,
    delivered: u64,
    lost: u64,
    rounds: u32,
}

/// Evidence from one ACK.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evidence<'a> {
    pub(crate) now: Time,
    pub(crate) has_losses: bool,
    pub(crate) is_app_limited: bool,
    pub(crate) is_round_start: bool,
    pub(crate) is_probing_bw: bool,
    pub(crate) sender: &'a Sender,
}

/// The policer detector.
#[derive(Clone, Debug)]
pub(crate) struct Policer {
    state: State,
    /// Bandwidth of the last lossy interval, then rate of the policer; zero if there is neither.
    bandwidth: Bandwidth,
}

impl Policer {
    pub(crate) fn new() -> Policer {
        Policer { state: State::Waiting, bandwidth: Bandwidth::ZERO }
    }

    /// Returns the policer's rate, if a policer was detected.
    #[inline]
    pub(crate) fn bandwidth(&self) -> Option<Bandwidth> {
        matches!(self.state, State::Policed { .. }).then_some(self.bandwidth)
    }

    /// Returns whether every ACK must be processed, not only ACKs that declare losses.
    #[inline]
    pub(crate) fn is_active(&self) -> bool {
        !matches!(self.state, State::Waiting)
    }

    /// Returns whether an ACK without losses only advances the time.
    #[inline]
    pub(crate) fn is_only_counting(&self) -> bool {
        matches!(self.state, State::Sampling(Interval { rounds, .. }) if rounds <= 4 * MIN_ROUNDS)
    }

    /// Processes an ACK with losses, or any ACK while active. Returns true if a policer's rate has been used for
    /// [`POLICED_ROUNDS`]; BBR must then probe again.
    pub(crate) fn update(&mut self, e: &Evidence<'_>) -> bool {
        if let State::Policed { rounds } = &mut self.state {
            *rounds += u32::from(e.is_probing_bw && e.is_round_start);
            let is_over = *rounds >= POLICED_ROUNDS;
            if is_over {
                *self = Policer::new();
            }
            return is_over;
        }
        if e.is_app_limited {
            *self = Policer::new();
            return false;
        }
        let mut interval = match self.state {
            State::Sampling(interval) => interval,
            _ => Interval::start(e),
        };
        interval.rounds += u32::from(e.is_round_start);
        self.state = State::Sampling(interval);
        if interval.rounds < MIN_ROUNDS {
            return false;
        }
        if interval.rounds > 4 * MIN_ROUNDS {
            *self = Policer::new();
            return false;
        }
        // The interval ends at a loss, because the token bucket is empty then.
        if e.has_losses {
            self.end_interval(&interval, e);
        }
        false
    }

    fn end_interval(&mut self, interval: &Interval, e: &Evidence<'_>) {
        let lost = e.sender.lost - interval.lost;
        let delivered = e.sender.delivered - interval.delivered;
        let ms = e.now.as_nanos() / TICK - interval.start.as_nanos() / TICK;
        if delivered == 0 || lost * 256 < LOSS_THRESH_256THS * delivered || ms == 0 {
            return;
        }
        let bandwidth = Bandwidth::of_sample(delivered, Dur::from_millis(ms));
        let difference = bandwidth.abs_diff(self.bandwidth);
        let is_same = difference <= self.bandwidth.scaled(Gain::from_f64(SAME_RATIO))
            || difference <= Bandwidth::of_sample(1, SAME_DIFF_PERIOD);
        if self.bandwidth > Bandwidth::ZERO && is_same {
            self.bandwidth = self.bandwidth.mean(bandwidth);
            self.state = State::Policed { rounds: 0 };
        } else {
            self.bandwidth = bandwidth;
            self.state = State::Sampling(Interval::start(e));
        }
    }
}

impl Interval {
    fn start(e: &Evidence<'_>) -> Interval {
        Interval { start: e.now, delivered: e.sender.delivered, lost: e.sender.lost, rounds: 0 }
    }
}
