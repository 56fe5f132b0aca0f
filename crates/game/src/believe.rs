//! A belief: bounds on the parameters of all links that explain a window, the last observed points. The belief is never
//! empty, even if no link of the model explains all observations.
//!
//! Real links change their rate, stall, and delay packets by more than a step. The assumptions are therefore weakened
//! until some link explains the points. For each number of latest points, from all down to three, the model is tried,
//! and then a weaker model, in which a buffer may drop a packet although it has space for up to one packet. If no link
//! explains even three points, more jitter is tried with all points. If that fails too, the belief assumes only that
//! the link delivers at least at the recent rate.

use serde::Serialize;

use crate::bounds::Bounds;
use crate::bounds_exact::exact_bounds;
use crate::model::{LinkModel, Range};
use crate::window::{POINTS, Window};

/// Minimum number of points tried: with only two points, the upper bound on C is weak.
const FEWEST_POINTS: usize = 3;
/// Maximum free space, in packets, of a buffer that drops a packet in the weaker model.
const PACKET: f64 = 1.0;
/// Number of steps over which the recent delivery rate is measured.
const RECENT_STEPS: usize = 2;

/// The observations and assumptions from which a belief follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BeliefSource {
    /// All points, with the model's assumptions.
    Window,
    /// The largest number of latest points that some link explains, with the model's assumptions.
    FewerPoints,
    /// As `Window` or `FewerPoints`, but a buffer may drop a packet although it has space for up to one packet.
    PacketSlack,
    /// All points, with the smallest jitter, in whole steps, with which some link explains them.
    LargerJitter,
    /// The rate delivered in the last two steps; no link was found that explains the points.
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

/// Belief about the link, with the observations and assumptions from which it follows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Belief {
    /// Bounds at the next point.
    pub bounds: Bounds,
    /// Whether the bounds are those of all links with the model's jitter that explain the points. Proved claims apply
    /// only to exact bounds.
    pub exact: bool,
    /// Observations and assumptions from which the bounds follow.
    pub from: BeliefSource,
    /// Number of points used.
    pub points: usize,
    /// Assumed maximum free space of the buffer at a loss, in packets.
    pub slack: f64,
    /// Assumed maximum jitter, in steps.
    pub jitter: usize,
}

/// Returns the belief from the window, with the first of the assumptions above under which some link explains it.
pub fn believe(w: &Window, model: &LinkModel) -> Belief {
    let fewest = FEWEST_POINTS.min(w.len);
    let shorter = (fewest..=w.len).rev().find_map(|points| explained(w, model, model.jitter, points));
    // Jitter is increased in whole steps: with the minimum jitter that explains a window, the belief would be a single
    // link, often with the model's maximum C.
    let later = || (model.jitter + 1..=POINTS).find_map(|jitter| explained(w, model, jitter, w.len));
    shorter.or_else(later).unwrap_or_else(|| delivered_rate(w, model))
}

/// Returns the belief from the latest `points` points if some link with this jitter explains them. If none does and
/// packets were lost, buffers may also drop a packet when they have space for up to [`PACKET`].
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

/// Returns a belief that assumes that the link delivers at least at the rate of the last steps, and that all data in
/// flight may be in its queue.
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
