//! Hand-written rules that decide frame by frame with the working rate R, based on the published tree (docs/video.md).

use super::rate::{Growth, WorkingRate};
use super::{Decide, Plan, Situation};

/// Growth of R per step while no packet is queued.
const GROWTH: Growth = Growth { allowed: 0.2, per_step: 1.02 };
/// The pacer is faster than R by this factor, so that a frame's packets show whether the link is faster than R; on a
/// link that loses packets, LOSSY_PACE keeps bursts short.
const PACE: f64 = 3.0;
const LOSSY_PACE: f64 = 1.1;
/// While max C is unknown, repair packets fill up the sent packets to this multiple of R.
const PROBE: f64 = 1.1;
/// If the believed queue is at most this many steps and packets, more packets than planned are sent to find max C.
const PROBE_STEPS: f64 = 0.5;
const PROBE_PACKETS: f64 = 2.0;
/// Maximum ratio of repair to message packets.
const MAX_REPAIR: f64 = 0.5;

/// Decides by hand-written rules.
#[derive(Debug)]
pub(crate) struct Rules {
    rate: WorkingRate,
}

impl Rules {
    pub(crate) fn new() -> Rules {
        Rules { rate: WorkingRate::new(GROWTH) }
    }
}

impl Decide for Rules {
    fn encode(&mut self, s: &Situation) -> f64 {
        self.rate.update(s);
        self.rate.target(s, self.rate.get() * s.frame_steps)
    }

    fn send(&mut self, s: &Situation) -> Plan {
        let (rate, message) = (self.rate.get(), s.newest);
        let pace = if s.view.is_lossy { LOSSY_PACE } else { PACE };
        let pace = (pace * rate).max((message + s.backlog) / s.frame_steps);
        if self.rate.ahead(s) > self.rate.allowed(s) {
            return Plan::new("drain".to_owned(), message, pace);
        }
        if s.view.held.is_none() && s.view.bounds.q.max <= PROBE_STEPS * rate + PROBE_PACKETS {
            return Plan::new("probe".to_owned(), PROBE * rate * s.frame_steps, pace);
        }
        if s.view.is_lossy {
            let risked = message + s.backlog - s.view.bounds.safe_rate;
            return Plan::new("protect".to_owned(), message + risked.clamp(0.0, MAX_REPAIR * message), pace);
        }
        Plan::new("steady".to_owned(), message, pace)
    }
}
