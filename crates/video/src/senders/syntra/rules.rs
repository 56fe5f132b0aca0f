//! Rules by hand for the per-frame frame: the published tree's ideas (docs/video.md), frame by frame.
//!
//! The rate R lies within the belief of C: at least min C, which the observations prove, and at most max C, which they allow.
//! Jitter widens that interval, and min C alone would sink with every step of it. Inside, R falls slowly while packets stand
//! in a queue and grows slowly while they do not.

use super::{Decide, Plan, Situation};

/// The smallest rate, packets a step: that of the model.
const MIN_RATE: f64 = 1.0;
/// Min C counts up to this multiple of what was delivered of late: a queue that empties in one burst proves no rate.
const AHEAD_OF_DELIVERED: f64 = 2.0;
/// Change of R per step while packets stand in a queue.
const DECAY: f64 = 0.97;
/// R after a loss.
const AFTER_LOSS: f64 = 0.9;
/// Frames over which an excess is made up for.
const DRAIN_FRAMES: f64 = 3.0;
/// Frames are not made smaller than this share of their budget by what stands ahead.
const MIN_SHARE: f64 = 0.1;
/// The smallest target, packets.
const MIN_TARGET: f64 = 0.2;
/// A frame is skipped when what stands ahead needs more steps than this to drain.
const SKIP_STEPS: f64 = 3.0;
/// With a queue of at most this many steps and packets, by the belief, more is sent than asked to find max C.
const PROBE_STEPS: f64 = 0.5;
const PROBE_PACKETS: f64 = 2.0;
/// Repair stays below this share of the message.
const MAX_REPAIR: f64 = 0.5;

/// What depends on whether the link loses packets, as a short buffer does: bursts and queues are kept shorter.
#[derive(Clone, Copy, Debug)]
struct Caution {
    /// Steps of R that may stand ahead of a new frame before frames become smaller.
    allowed: f64,
    /// Change of R per step while nothing stands in a queue.
    growth: f64,
    /// The pacer is faster than R by this factor, so that a frame's packets show whether the link is faster.
    pace: f64,
    /// While max C is unknown, packets in all reach this multiple of R, with repair.
    probe: f64,
}

const DEEP: Caution = Caution { allowed: 0.15, growth: 1.02, pace: 1.5, probe: 2.0 };
const LOSSY: Caution = Caution { allowed: 0.05, growth: 1.003, pace: 1.1, probe: 1.25 };

/// Rules by hand.
#[derive(Debug)]
pub(crate) struct Rules {
    /// R, packets a step.
    rate: f64,
    /// Lost in all when R was last reduced for it.
    lost: f64,
}

impl Rules {
    pub(crate) fn new() -> Rules {
        Rules { rate: MIN_RATE, lost: 0.0 }
    }

    fn caution(s: &Situation) -> Caution {
        if s.view.is_lossy { LOSSY } else { DEEP }
    }

    /// Packets that stand ahead of a new one: in the pacer, and in the queue as the RTT shows it.
    fn ahead(&self, s: &Situation) -> f64 {
        s.backlog + s.standing * self.rate
    }

    fn update(&mut self, s: &Situation) {
        let c = s.view.bounds.c;
        let Caution { allowed, growth, .. } = Rules::caution(s);
        let proved = c.min.min(AHEAD_OF_DELIVERED * s.delivered + MIN_RATE);
        let change = if s.standing > allowed { DECAY } else { growth };
        self.rate = (self.rate * change.powf(s.frame_steps)).min(c.max).max(proved);
        if s.lost > self.lost {
            self.lost = s.lost;
            self.rate = (AFTER_LOSS * self.rate).max(MIN_RATE);
        }
    }
}

impl Decide for Rules {
    fn encode(&mut self, s: &Situation) -> f64 {
        self.update(s);
        let ahead = self.ahead(s);
        if ahead > SKIP_STEPS * self.rate {
            return 0.0;
        }
        let budget = self.rate * s.frame_steps;
        let excess = (ahead - Rules::caution(s).allowed * self.rate).max(0.0);
        (budget - excess / DRAIN_FRAMES).max(MIN_SHARE * budget).max(MIN_TARGET)
    }

    fn send(&mut self, s: &Situation) -> Plan {
        let Caution { allowed, pace, probe, .. } = Rules::caution(s);
        let (rate, message, ahead) = (self.rate, s.newest, self.ahead(s));
        let pace = (pace * rate).max((message + s.backlog) / s.frame_steps);
        if ahead > allowed * rate {
            return Plan::new("drain".to_owned(), message, pace);
        }
        if s.view.held.is_none() && s.view.bounds.q.max <= PROBE_STEPS * rate + PROBE_PACKETS {
            let total = probe * rate * s.frame_steps;
            return Plan::new("probe".to_owned(), total, pace.max(total / s.frame_steps));
        }
        if s.view.is_lossy {
            let risked = message + s.backlog - s.view.bounds.safe_rate;
            return Plan::new("protect".to_owned(), message + risked.clamp(0.0, MAX_REPAIR * message), pace);
        }
        Plan::new("steady".to_owned(), message, pace)
    }
}
