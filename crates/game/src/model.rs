//! The link model as data: the possible capacities and buffers, the maximum jitter, and the packet granularity.

use serde::{Deserialize, Serialize};

/// Two amounts in packets, or two rates in packets per step, are considered equal if they differ by less. Comparisons
/// of observations allow this tolerance on both sides: at the extremes of jitter the capacity is determined exactly,
/// and rounding must not make a belief empty.
pub const EPS: f64 = 1e-6;

/// A closed interval; in files it is a pair.
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
    /// Creates the interval from `min` to `max`.
    pub const fn new(min: f64, max: f64) -> Range {
        Range { min, max }
    }

    /// Returns whether `value` is inside, with a tolerance of `slack` at both ends.
    pub fn contains(&self, value: f64, slack: f64) -> bool {
        self.min - slack <= value && value <= self.max + slack
    }

    /// Returns the upper end minus the lower end.
    pub fn width(&self) -> f64 {
        self.max - self.min
    }
}

/// Assumptions about the link before any observation (thesis section 2.3, "CBR-delay"). Times are in steps of one
/// rtprop. I\[t\] is the amount served by point t, S\[t\] the amount observed as delivered.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LinkModel {
    /// Capacity C, in packets per step.
    pub c: Range,
    /// Buffer B, in packets: the maximum number of packets that wait, not counting those served within the step.
    pub b: Range,
    /// Maximum delay between service and its observation, in whole steps, at least 1: I\[t - jitter\] <= S\[t\] <=
    /// I\[t\].
    pub jitter: usize,
    /// Maximum free space of the buffer at a loss, in packets. 0 is the fluid model; 1 allows the loss of a packet if
    /// the buffer has space for less than a packet.
    pub slack: f64,
}

impl Default for LinkModel {
    /// Returns the published model: C and B from 1 to 200 packets (5 to 1000 units of a fifth of a packet in the
    /// thesis), one step of jitter, and losses only when the buffer is full.
    fn default() -> LinkModel {
        LinkModel { c: Range::new(1.0, 200.0), b: Range::new(1.0, 200.0), jitter: 1, slack: 0.0 }
    }
}
