//! The range of possible values of a quantity.

use serde::Serialize;

/// A range of values; it may have no upper bound.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The minimum.
    pub lo: f64,
    /// The maximum; `None` if unbounded.
    pub hi: Option<f64>,
}

impl Interval {
    /// The range of all non-negative values.
    pub const ANY: Interval = Interval { lo: 0.0, hi: None };
    /// Returns the smallest range that contains both ranges.
    pub fn hull(self, other: Interval) -> Interval {
        Interval { lo: self.lo.min(other.lo), hi: self.hi.zip(other.hi).map(|(a, b)| a.max(b)) }
    }
    /// Returns whether a value is in the range, with a relative tolerance of `share`.
    pub fn admits(self, value: f64, share: f64) -> bool {
        self.lo <= value * (1.0 + share) && self.hi.is_none_or(|hi| hi >= value * (1.0 - share))
    }
}
