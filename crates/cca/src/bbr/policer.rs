//! Detection of a token-bucket policer: BBR's long-term bandwidth.
//!
//! Two intervals in a row that each lose a fifth of their packets and deliver the same bandwidth indicate a policer;
//! its rate is then used for some rounds instead of the maximum sample.

use super::bandwidth::{Bandwidth, Gain};
use crate::Sender;
use fairweir_units::{Dur, Time};

/// Shortest interval, rounds (`bbr_lt_intvl_min_rtts`); four times as many make it too long.
const MIN_ROUNDS: u32 = 4;
/// lost/delivered of a lossy interval, 50/256 (`bbr_lt_loss_thresh`).
const LOSS_THRESH_256THS: u64 = 50;
/// Bandwidths within an eighth of each other are the same (`bbr_lt_bw_ratio`) ...
const SAME_RATIO: f64 = 0.125;
/// ... and within 4 kbit/s (`bbr_lt_bw_diff`): a packet of 1500 bytes in 3 s.
const SAME_DIFF_PERIOD: Dur = Dur::from_secs(3);
/// Rounds for which the policer's rate is used (`bbr_lt_bw_max_rtts`).
const POLICED_ROUNDS: u32 = 48;
/// Shorter intervals give no bandwidth.
const MIN_INTERVAL: Dur = Dur::from_millis(1);

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
    /// Bandwidth of the last lossy interval, then of the policer; zero without one.
    bandwidth: Bandwidth,
}

impl Policer {
    pub(crate) fn new() -> Policer {
        Policer { state: State::Waiting, bandwidth: Bandwidth::ZERO }
    }

    /// The policer's rate, if there seems to be one.
    #[inline]
    pub(crate) fn bandwidth(&self) -> Option<Bandwidth> {
        matches!(self.state, State::Policed { .. }).then_some(self.bandwidth)
    }

    /// Whether every ACK counts, not only those that declare losses.
    #[inline]
    pub(crate) fn is_active(&self) -> bool {
        !matches!(self.state, State::Waiting)
    }

    /// Whether an ACK without losses has no effect but the passing of time.
    #[inline]
    pub(crate) fn is_only_counting(&self) -> bool {
        matches!(self.state, State::Sampling(Interval { rounds, .. }) if rounds <= 4 * MIN_ROUNDS)
    }

    /// Processes an ACK with losses, or any ACK while active. Returns true if a policer's rate was used long enough and
    /// BBR should probe again.
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
        // the interval ends with a loss: the bucket is empty
        if e.has_losses {
            self.end_interval(&interval, e);
        }
        false
    }

    fn end_interval(&mut self, interval: &Interval, e: &Evidence<'_>) {
        let lost = e.sender.lost - interval.lost;
        let delivered = e.sender.delivered - interval.delivered;
        let length = e.now.since(interval.start);
        if delivered == 0 || lost * 256 < LOSS_THRESH_256THS * delivered || length < MIN_INTERVAL {
            return;
        }
        let bandwidth = Bandwidth::of_sample(delivered, length);
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
