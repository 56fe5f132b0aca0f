//! The working rate R of a sender of frames: within the belief of C, it falls while packets are queued.
//!
//! Observations prove C to be at least min C and allow it to be at most max C. Jitter widens that interval, and a
//! sender at min C would prove less with every window, since only packets that were sent can be delivered. Inside the
//! interval R falls slowly while packets are queued, and grows slowly while none are.

use super::Situation;

/// Minimum rate, packets per step: that of the model.
const MIN_RATE: f64 = 1.0;
/// Min C counts up to this multiple of the recently delivered rate: a queue that empties in one burst proves no rate.
const AHEAD_OF_DELIVERED: f64 = 2.0;
/// Change of R per step while packets are queued.
const DECAY: f64 = 0.98;
/// Factor of R after a loss.
const AFTER_LOSS: f64 = 0.9;
/// Frames over which an excess is compensated.
const DRAIN_FRAMES: f64 = 3.0;
/// Packets ahead do not make a frame smaller than this fraction of its budget.
const MIN_SHARE: f64 = 0.1;
/// Minimum target, packets.
const MIN_TARGET: f64 = 0.2;
/// A frame is skipped when the packets ahead need more steps than this to drain.
const SKIP_STEPS: f64 = 2.7;

/// When and how fast R changes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Growth {
    /// Steps of R that may be ahead of a new frame before R falls and frames become smaller.
    pub(super) allowed: f64,
    /// Change of R per step while no packet is queued.
    pub(super) per_step: f64,
}

/// On a link that loses packets, as a short buffer does, queues are kept shorter.
const LOSSY: Growth = Growth { allowed: 0.05, per_step: 1.003 };

/// R over time.
#[derive(Clone, Copy, Debug)]
pub(super) struct WorkingRate {
    deep: Growth,
    /// R, packets per step.
    rate: f64,
    /// Lost in all when R was last reduced for it.
    lost: f64,
}

impl WorkingRate {
    /// R of a sender that has growth `deep` on links without losses.
    pub(super) fn new(deep: Growth) -> WorkingRate {
        WorkingRate { deep, rate: MIN_RATE, lost: 0.0 }
    }

    /// Return R, packets per step.
    pub(super) fn get(&self) -> f64 {
        self.rate
    }

    /// Returns how many packets may be ahead of a new frame.
    pub(super) fn allowed(&self, s: &Situation) -> f64 {
        self.growth(s).allowed * self.rate
    }

    /// Returns how many packets are ahead of a new frame: in the pacer, and in the queue according to the RTT.
    pub(super) fn ahead(&self, s: &Situation) -> f64 {
        s.backlog + s.standing * self.rate
    }

    fn growth(&self, s: &Situation) -> Growth {
        if s.view.is_lossy { LOSSY } else { self.deep }
    }

    /// Processes a frame interval.
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

    /// Return the size of a frame in packets: `budget`, its size on an empty link, minus the excess of packets ahead of
    /// it. 0: the frame is skipped.
    pub(super) fn target(&self, s: &Situation, budget: f64) -> f64 {
        let ahead = self.ahead(s);
        if ahead > SKIP_STEPS * self.rate {
            return 0.0;
        }
        let excess = (ahead - self.allowed(s)).max(0.0);
        (budget - excess / DRAIN_FRAMES).max(MIN_SHARE * budget).max(MIN_TARGET)
    }
}
