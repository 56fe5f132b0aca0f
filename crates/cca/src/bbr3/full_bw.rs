//! Detection of a full pipe: STARTUP and PROBE_BW's UP phase end when bandwidth stops growing.

use super::Sample;
use crate::bbr::{Bandwidth, FULL_BW_ROUNDS, FULL_BW_THRESH, Gain};

/// Detects that bandwidth has stopped growing.
#[derive(Clone, Debug, Default)]
pub(super) struct FullBw {
    bandwidth: Bandwidth,
    rounds: u32,
    /// Whether bandwidth has stopped growing since the last restart.
    pub(super) is_now: bool,
    /// Whether bandwidth has stopped growing at any time: the pipe is full.
    pub(super) is_reached: bool,
}

impl FullBw {
    pub(super) fn restart(&mut self, bandwidth: Bandwidth) {
        *self = FullBw { bandwidth, is_reached: self.is_reached, ..FullBw::default() };
    }

    pub(super) fn update(&mut self, sample: &Sample, is_round_start: bool) {
        if self.is_now || sample.is_app_limited {
            return;
        }
        if sample.bandwidth >= self.bandwidth.scaled(Gain::from_f64(FULL_BW_THRESH)) {
            self.restart(sample.bandwidth);
        } else if is_round_start {
            self.rounds += 1;
            self.is_now = self.rounds >= FULL_BW_ROUNDS;
            self.is_reached |= self.is_now;
        }
    }
}
