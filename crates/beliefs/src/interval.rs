//! The possible range of one quantity.

use serde::Serialize;

/// A range; no upper end means no bound.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The minimum.
    pub lo: f64,
    /// The maximum; `None` if unbounded.
    pub hi: Option<f64>,
}

impl Interval {
    /// The unconstrained range.
    pub const ANY: Interval = Interval { lo: 0.0, hi: None };
    /// The smallest range that contains both.
    pub fn hull(self, other: Interval) -> Interval {
        Interval { lo: self.lo.min(other.lo), hi: self.hi.zip(other.hi).map(|(a, b)| a.max(b)) }
    }
    /// Whether a value is left possible, give or take a share of it.
    pub fn admits(self, value: f64, share: f64) -> bool {
        self.lo <= value * (1.0 + share) && self.hi.is_none_or(|hi| hi >= value * (1.0 - share))
    }
}
