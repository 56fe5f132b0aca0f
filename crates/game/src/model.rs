//! The link model as data: which capacities and buffers are thought possible, how much jitter, how coarse a packet is.

use serde::{Deserialize, Serialize};

/// Two amounts in packets, or two rates in packets per step, are the same when they differ by less. Comparisons of
/// observations use it on both sides: at the extremes of jitter capacity is determined exactly, and rounding must not
/// make a belief empty.
pub const EPS: f64 = 1e-6;

/// A closed interval; in files a pair.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "[f64; 2]", into = "[f64; 2]")]
pub struct Range {
    /// Lower end.
    pub min: f64,
    /// Upper end.
    pub max: f64,
}

impl From<[f64; 2]> for Range {
    fn from([min, max]: [f64; 2]) -> Range {
        Range { min, max }
    }
}

impl From<Range> for [f64; 2] {
    fn from(range: Range) -> [f64; 2] {
        [range.min, range.max]
    }
}

impl Range {
    /// The interval from `min` to `max`.
    pub const fn new(min: f64, max: f64) -> Range {
        Range { min, max }
    }

    /// True if `value` is inside, up to `slack` outside of either end.
    pub fn contains(&self, value: f64, slack: f64) -> bool {
        self.min - slack <= value && value <= self.max + slack
    }

    /// Upper end minus lower end.
    pub fn width(&self) -> f64 {
        self.max - self.min
    }
}

/// Assumptions about the link before any observation (thesis section 2.3, "CBR-delay"; time in steps of one RTprop).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LinkModel {
    /// Capacity C, in packets per step.
    pub c: Range,
    /// Buffer B, in packets: maximum waiting beyond those served within the step.
    pub b: Range,
    /// Maximum delay of the link's observed service, in whole steps, at least 1: I\[t - jitter\] <= S\[t\] <= I\[t\].
    pub jitter: usize,
    /// Maximum free space of the buffer at a loss, in packets. 0 is the fluid model; 1 admits that a
    /// packet is lost when less than a packet has room.
    pub slack: f64,
}

impl Default for LinkModel {
    /// The published model: 5 to 1000 units of a fifth of a packet, one step of jitter, fluid losses.
    fn default() -> LinkModel {
        LinkModel { c: Range::new(1.0, 200.0), b: Range::new(1.0, 200.0), jitter: 1, slack: 0.0 }
    }
}
