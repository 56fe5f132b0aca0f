//! A belief that is never empty: also defined when no link of the model explains all observations.
//!
//! Real links change their rate, stall, and delay by more than a step. Each step of the ladder assumes less: fewer
//! points, losses a packet early, more jitter, and in the end only that the recently delivered rate can be delivered
//! again.

use serde::Serialize;

use crate::bounds::Bounds;
use crate::bounds_exact::exact_bounds;
use crate::model::{LinkModel, Range};
use crate::window::{POINTS, Window};

/// Minimum number of points tried: two points hardly bound C from above.
const FEWEST_POINTS: usize = 3;
/// A buffer that drops a packet of a burst may lack this much of being full, in packets.
const PACKET: f64 = 1.0;
/// Steps over which the delivered rate counts as recent.
const RECENT_STEPS: usize = 2;

/// Evidence for the bounds of a belief, from the strongest to the weakest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BeliefSource {
    /// All points, by the model.
    Window,
    /// The maximum number of latest points that some link of the model explains.
    FewerPoints,
    /// Losses may come a packet before the buffer is full.
    PacketSlack,
    /// The smallest jitter, in whole steps, with which some link explains all points.
    LargerJitter,
    /// The rate delivered in the last two steps; no link is known to explain the points.
    DeliveredRate,
}

impl BeliefSource {
    /// Returns the name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            BeliefSource::Window => "window",
            BeliefSource::FewerPoints => "fewer-points",
            BeliefSource::PacketSlack => "packet-slack",
            BeliefSource::LargerJitter => "larger-jitter",
            BeliefSource::DeliveredRate => "delivered-rate",
        }
    }
}

/// Belief about the link, and its basis.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Belief {
    /// Bounds at the next point.
    pub bounds: Bounds,
    /// True if the bounds are those of all links with the model's jitter that explain the points: claims may rest on
    /// them.
    pub exact: bool,
    /// Basis of the bounds.
    pub from: BeliefSource,
    /// Number of points used.
    pub points: usize,
    /// Free space that the buffer may have at a loss, in packets.
    pub slack: f64,
    /// Jitter allowed for, in steps.
    pub jitter: usize,
}

/// Returns the belief about the link from the window, or from the part of it that can be explained.
pub fn believe(w: &Window, model: &LinkModel) -> Belief {
    let fewest = FEWEST_POINTS.min(w.len);
    let shorter = (fewest..=w.len).rev().find_map(|points| explained(w, model, model.jitter, points));
    // Whole steps: at the minimum jitter that explains a window the belief is a point, often the model's maximum C.
    let later = || (model.jitter + 1..=POINTS).find_map(|jitter| explained(w, model, jitter, w.len));
    shorter.or_else(later).unwrap_or_else(|| delivered_rate(w, model))
}

/// Bounds from the latest points if some link with this jitter explains them, perhaps with a packet of slack at losses.
fn explained(w: &Window, model: &LinkModel, jitter: usize, points: usize) -> Option<Belief> {
    let latest = w.latest(points)?;
    let has_loss = (1..latest.visible).any(|t| latest.has_loss_at(t));
    let coarser = (has_loss && model.slack < PACKET).then_some(PACKET);
    [Some(model.slack), coarser].into_iter().flatten().find_map(|slack| {
        let bounds = exact_bounds(&latest, &LinkModel { jitter, slack, ..*model })?.bounds;
        let from = if jitter > model.jitter {
            BeliefSource::LargerJitter
        } else if slack > model.slack {
            BeliefSource::PacketSlack
        } else if points < w.len {
            BeliefSource::FewerPoints
        } else {
            BeliefSource::Window
        };
        Some(Belief { bounds, exact: jitter == model.jitter, from, points, slack, jitter })
    })
}

/// The link continues at the rate delivered in the last steps, or faster; all data in flight may be in its queue.
fn delivered_rate(w: &Window, model: &LinkModel) -> Belief {
    let last = w.len - 1;
    let steps = RECENT_STEPS.min(last);
    let recent = if steps == 0 { 0.0 } else { (w.delivered[last] - w.delivered[last - steps]) / steps as f64 };
    let c = Range::new(recent.clamp(model.c.min, model.c.max), model.c.max);
    let in_flight = (w.sent_next - w.delivered[last] - w.lost_known()).max(0.0);
    let q = Range::new(0.0, in_flight.min(model.b.max));
    let bounds = Bounds {
        c,
        b: model.b,
        q,
        safe_rate: c.min + (model.b.min - q.max).max(0.0),
        min_c_plus_b: c.min + model.b.min,
    };
    let from = BeliefSource::DeliveredRate;
    Belief { bounds, exact: false, from, points: steps + 1, slack: model.slack, jitter: model.jitter }
}
