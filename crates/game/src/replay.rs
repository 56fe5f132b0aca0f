//! Replay of a window on one link (capacity C, buffer B): the data that the queue accepted and served at each point of
//! the window and at the next point. N\[t\] and I\[t\] are the cumulative packets accepted and served by point t.

use crate::model::{EPS, LinkModel, Range};
use crate::slice::initial_service;
use crate::window::{Observation, POINTS, Window};

/// The trajectory of one link through a window to the next point (index `len`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trajectory {
    /// N: cumulative packets that the queue accepted.
    pub accepted: [f64; POINTS + 1],
    /// I: cumulative packets that the link served, before jitter.
    pub served: [f64; POINTS + 1],
    /// Number of points of the window; the next point has this index.
    pub len: usize,
}

impl Trajectory {
    /// Packets in the queue at point `t`.
    pub fn queue(&self, t: usize) -> f64 {
        (self.accepted[t] - self.served[t]).max(0.0)
    }

    /// Recomputes the next point from `w.sent_next`. `c` and `b` are the capacity and buffer of the trajectory's link.
    pub fn with_next(mut self, w: &Window, c: f64, b: f64) -> Trajectory {
        let last = self.len - 1;
        let before = self.served[last];
        self.accepted[self.len] = (self.accepted[last] + w.sent_next - w.sent[last]).min(before + c + b);
        self.served[self.len] = (before + c).min(self.accepted[self.len]);
        self
    }

    /// Packets in the queue at the next point, when the packets in transit have arrived.
    pub fn queue_next(&self) -> f64 {
        self.queue(self.len)
    }
}

impl Window {
    /// Returns the observation at the next point if the network follows the trajectory `link` and has delivered
    /// `delivered` by then. Losses are visible at every point whose accepted packets have all been delivered.
    pub fn observe(&self, link: &Trajectory, delivered: f64) -> Observation {
        let mut new = Observation { delivered, visible: self.visible, lost: [0.0; POINTS + 1] };
        new.lost[..self.visible].copy_from_slice(&self.lost[..self.visible]);
        let mut known = self.lost_known();
        for t in self.visible..=self.len {
            if link.accepted[t] > delivered + EPS {
                break;
            }
            let sent = if t < self.len { self.sent[t] } else { self.sent_next };
            // A rounding error in an accepted amount is not a loss.
            let lost = sent - link.accepted[t];
            known = if lost > known + EPS { lost } else { known };
            new.lost[t] = known;
            new.visible = t + 1;
        }
        new
    }
}

/// Replay the window at capacity `c` (packets per step) and buffer `b` (packets), from I\[0\] = `served` and N\[0\] =
/// `accepted`. `accepted` is used only if the first point's losses are not known.
pub fn replay(w: &Window, c: f64, b: f64, served: f64, accepted: f64) -> Trajectory {
    let mut link = Trajectory { accepted: [0.0; POINTS + 1], served: [0.0; POINTS + 1], len: w.len };
    link.accepted[0] = if w.visible > 0 { w.accepted(0) } else { accepted };
    link.served[0] = served;
    for t in 1..=w.len {
        let sent = if t < w.len { w.sent[t] } else { w.sent_next };
        let before = link.served[t - 1];
        link.accepted[t] = if t < w.visible {
            w.accepted(t)
        } else {
            (link.accepted[t - 1] + sent - w.sent[t - 1]).min(before + c + b)
        };
        link.served[t] = (before + c).min(link.accepted[t]);
    }
    link
}

/// Returns the range of N\[0\] that the window allows at buffer `b` and I\[0\] = `served`: a single value if the
/// point's losses are known.
pub fn initial_accepted(w: &Window, b: f64, served: f64) -> Range {
    if w.visible > 0 {
        let known = w.accepted(0);
        return Range::new(known, known);
    }
    let max = (w.sent[0] - w.lost_before).min(served + b);
    Range::new(w.delivered_last().max(served).min(max), max)
}

/// Returns the two extreme trajectories of capacity `c` and buffer `b`: the one with the longest queue (smallest
/// I\[0\]), then the one with the shortest. `None` if (`c`, `b`) does not explain the window.
pub fn extreme_trajectories(w: &Window, model: &LinkModel, c: f64, b: f64) -> Option<[Trajectory; 2]> {
    Some(trajectories_from(w, c, b, initial_service(w, model, c, b)?))
}

/// Returns the trajectories from both ends of the interval of I\[0\], longest queue first.
pub fn trajectories_from(w: &Window, c: f64, b: f64, served: Range) -> [Trajectory; 2] {
    let longest = initial_accepted(w, b, served.min).max;
    let shortest = initial_accepted(w, b, served.max).min;
    let slow = replay(w, c, b, served.min, longest);
    let is_one = served.min == served.max && longest == shortest;
    [slow, if is_one { slow } else { replay(w, c, b, served.max, shortest) }]
}
