//! Constants as a question writes them, such as `"4/5"`, and intervals that contain them.

use crate::interval::Interval;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// A ratio of two integers below 2^53, so that a floating-point number represents each of them exactly.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Ratio {
    num: i64,
    den: i64,
}

/// Error: the text is not a ratio of two integers below 2^53.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("not a ratio of whole numbers below 2^53, such as `4/5`: `{0}`")]
pub struct NotARatio(String);

const LIMIT: i64 = 1 << 53;

impl Ratio {
    /// Returns `num / den`.
    ///
    /// # Panics
    ///
    /// If a number is too large, or `den` is not positive.
    pub const fn new(num: i64, den: i64) -> Self {
        assert!(num > -LIMIT && num < LIMIT && den > 0 && den < LIMIT, "not a ratio of whole numbers below 2^53");
        Self { num, den }
    }

    /// Returns an interval that contains this number; each end is at most one rounding away from it.
    pub fn interval(self) -> Interval {
        if self.den == 1 {
            return Interval::point(self.num as f64);
        }
        Interval::point(self.num as f64) / Interval::point(self.den as f64)
    }
}

impl PartialOrd for Ratio {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        // Products of numbers below 2^53 fit into 128 bits.
        let (left, right) =
            (i128::from(self.num) * i128::from(other.den), i128::from(other.num) * i128::from(self.den));
        Some(left.cmp(&right))
    }
}

impl PartialEq for Ratio {
    fn eq(&self, other: &Self) -> bool {
        self.partial_cmp(other) == Some(Ordering::Equal)
    }
}

impl Eq for Ratio {}

impl FromStr for Ratio {
    type Err = NotARatio;

    fn from_str(text: &str) -> Result<Self, NotARatio> {
        let (num, den) = text.split_once('/').unwrap_or((text, "1"));
        let whole = |part: &str| part.trim().parse::<i64>().ok().filter(|n| n.abs() < LIMIT);
        match (whole(num), whole(den)) {
            (Some(num), Some(den)) if den > 0 => Ok(Self { num, den }),
            _ => Err(NotARatio(text.to_owned())),
        }
    }
}

impl TryFrom<String> for Ratio {
    type Error = NotARatio;

    fn try_from(text: String) -> Result<Self, NotARatio> {
        text.parse()
    }
}

impl From<Ratio> for String {
    fn from(ratio: Ratio) -> Self {
        ratio.to_string()
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.den == 1 { write!(f, "{}", self.num) } else { write!(f, "{}/{}", self.num, self.den) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_back() {
        for text in ["4/5", "0", "-7/2", "196/256"] {
            assert_eq!(text.parse::<Ratio>().map(|r| r.to_string()).as_deref(), Ok(text));
        }
        assert_eq!("8/10".parse(), Ok(Ratio::new(4, 5)));
        assert!(Ratio::new(196, 256) < Ratio::new(4, 5));
    }

    #[test]
    fn other_texts_are_rejected() {
        for text in ["", "a", "1/0", "1/-2", "1.5", "1/2/3", "9007199254740992"] {
            assert!(text.parse::<Ratio>().is_err(), "{text}");
        }
    }

    #[test]
    fn intervals_enclose() {
        assert_eq!(Ratio::new(3, 1).interval(), Interval::point(3.0));
        let fifth = Ratio::new(4, 5).interval();
        // 5 x is rounded, so the comparison has a tolerance: both ends are within 2^-50 of 4/5.
        assert!(fifth.lo < 0.8 + 1e-15 && fifth.hi > 0.8 - 1e-15 && fifth.lo < fifth.hi);
    }
}
