//! The working rate R of a sender that decides frame by frame: within the belief about C, R falls while packets are
//! queued.
//!
//! Observations prove that C is between min C and max C. Jitter widens that interval. A sender at rate min C would
//! prove a smaller min C with every window, because only packets that were sent can be delivered. Inside the interval,
//! R therefore falls slowly while packets are queued and grows slowly while none are queued.

use super::Situation;

/// Minimum rate, packets per step, equal to the model's minimum.
const MIN_RATE: f64 = 1.0;
/// Min C is used only up to this multiple of the recently delivered rate, because a queue that empties in one burst
/// does not prove a rate.
const AHEAD_OF_DELIVERED: f64 = 2.0;
/// Factor of R per step while packets are queued.
const DECAY: f64 = 0.98;
/// Factor of R after a loss.
const AFTER_LOSS: f64 = 0.9;
/// Number of frames over which an excess is compensated.
const DRAIN_FRAMES: f64 = 3.0;
/// Minimum fraction of its budget to which packets ahead reduce a frame.
const MIN_SHARE: f64 = 0.1;
/// Minimum target, packets.
const MIN_TARGET: f64 = 0.2;
/// A frame is skipped if the packets ahead of it need more steps than this to drain.
const SKIP_STEPS: f64 = 2.7;

/// Conditions and speed of R's growth.
#[derive(Clone, Copy, Debug)]
pub(super) struct Growth {
    /// Maximum packets ahead of a new frame, in steps of R, with which R does not fall and frames are not reduced.
    pub(super) allowed: f64,
    /// Factor of R per step while no packet is queued.
    pub(super) per_step: f64,
}

/// Growth on a link that loses packets, for example because of a short buffer: queues are kept shorter.
const LOSSY: Growth = Growth { allowed: 0.05, per_step: 1.003 };

/// The working rate, updated over time.
#[derive(Clone, Copy, Debug)]
pub(super) struct WorkingRate {
    deep: Growth,
    /// R, packets per step.
    rate: f64,
    /// Total amount lost when R was last reduced because of losses.
    lost: f64,
}

impl WorkingRate {
    /// Creates the rate of a sender; `deep` is its growth on links without losses.
    pub(super) fn new(deep: Growth) -> WorkingRate {
        WorkingRate { deep, rate: MIN_RATE, lost: 0.0 }
    }

    /// Returns R, packets per step.
    pub(super) fn get(&self) -> f64 {
        self.rate
    }

    /// Returns the maximum number of packets ahead of a new frame with which R does not fall.
    pub(super) fn allowed(&self, s: &Situation) -> f64 {
        self.growth(s).allowed * self.rate
    }

    /// Returns the number of packets ahead of a new frame: those in the pacer, and those in the queue according to the
    /// RTT.
    pub(super) fn ahead(&self, s: &Situation) -> f64 {
        s.backlog + s.standing * self.rate
    }

    fn growth(&self, s: &Situation) -> Growth {
        if s.view.is_lossy { LOSSY } else { self.deep }
    }

    /// Updates R after a frame interval.
    pub(super) fn update(&mut self, s: &Situation) {
        let c = s.view.bounds.c;
        let Growth { allowed, per_step } = self.growth(s);
        let proved = c.min.min(AHEAD_OF_DELIVERED * s.delivered + MIN_RATE);
        let change = if s.standing > allowed { DECAY } else { per_step };
        self.rate = (self.rate * change.powf(s.frame_steps)).min(c.max).max(proved);
        if s.lost > self.lost {
            self.lost = s.lost;
            self.rate = (AFTER_LOSS * self.rate).max(MIN_RATE);
        }
    }

    /// Returns the size of a frame in packets: `budget`, its size on an empty link, reduced by the excess of packets
    /// ahead of it; 0 if the frame is skipped.
    pub(super) fn target(&self, s: &Situation, budget: f64) -> f64 {
        let ahead = self.ahead(s);
        if ahead > SKIP_STEPS * self.rate {
            return 0.0;
        }
        let excess = (ahead - self.allowed(s)).max(0.0);
        (budget - excess / DRAIN_FRAMES).max(MIN_SHARE * budget).max(MIN_TARGET)
    }
}
