//! Bounds of a belief (the set of the links that explain a window). Several modules compute them, exactly or fast.

use crate::model::Range;
use serde::Serialize;

/// Bounds of a belief.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bounds {
    /// Capacity, in packets per step.
    pub c: Range,
    /// Buffer size, in packets.
    pub b: Range,
    /// Queue at the next point, in packets.
    pub q: Range,
    /// Number of packets that can be sent in the step after the next point without loss: min of C + B - q, minus the
    /// model's slack.
    pub safe_rate: f64,
    /// Min of C + B, in packets.
    pub min_c_plus_b: f64,
}
