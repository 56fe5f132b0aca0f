//! The interval of a mean over seeds.

use statrs::distribution::{ContinuousCDF, StudentsT};
use std::fmt;
use std::ops::{Bound, RangeBounds, RangeInclusive};

/// A probability of 97.5 % to lie below the upper end, and as much to lie above the lower one.
const QUANTILE: f64 = 0.975;

/// The mean over seeds with its 95 % interval: Student's t, as in audits. A single value is its own interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Arithmetic mean.
    pub mean: f64,
    /// Lower end.
    pub lo: f64,
    /// Upper end.
    pub hi: f64,
}

/// Where an interval lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Wholly within the bounds.
    Within,
    /// Wholly outside.
    Outside,
    /// Partly within.
    Across,
}

impl Interval {
    /// Computes the interval of the mean of `values`, at least one, limited to `range`.
    pub(crate) fn of(values: &[f64], range: &RangeInclusive<f64>) -> Interval {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let mut half = 0.0;
        if values.len() > 1 {
            let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
            let t = StudentsT::new(0.0, 1.0, n - 1.0).expect("positive degrees of freedom").inverse_cdf(QUANTILE);
            half = t * (variance / n).sqrt();
        }
        Interval {
            mean,
            lo: (mean - half).max(*range.start()).min(mean),
            hi: (mean + half).min(*range.end()).max(mean),
        }
    }

    pub(crate) fn place(&self, bounds: &impl RangeBounds<f64>) -> Place {
        let is_above_all = match bounds.end_bound() {
            Bound::Included(end) => self.lo > *end,
            Bound::Excluded(end) => self.lo >= *end,
            Bound::Unbounded => false,
        };
        let is_below_all = match bounds.start_bound() {
            Bound::Included(start) => self.hi < *start,
            Bound::Excluded(start) => self.hi <= *start,
            Bound::Unbounded => false,
        };
        match bounds.contains(&self.lo) && bounds.contains(&self.hi) {
            true => Place::Within,
            false if is_above_all || is_below_all => Place::Outside,
            false => Place::Across,
        }
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [{}, {}]", number(self.mean), number(self.lo), number(self.hi))
    }
}

/// Returns `value` with four significant digits, without an exponent.
pub(crate) fn number(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let digits = (3 - value.abs().log10().floor() as i32).clamp(0, 9);
    let text = format!("{value:.*}", digits as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: RangeInclusive<f64> = 0.0..=f64::INFINITY;

    #[test]
    fn the_interval_is_students() {
        // t(0.975, 2) = 4.3027; the deviation of 1, 2, 3 is 1.
        let found = Interval::of(&[1.0, 2.0, 3.0], &ALL);
        assert!((found.hi - (2.0 + 4.302_653 / 3f64.sqrt())).abs() < 1e-5, "{found:?}");
        assert_eq!((found.mean, found.lo), (2.0, 0.0));
        assert_eq!(Interval::of(&[1.0, 2.0, 3.0], &(0.0..=2.5)).hi, 2.5);
        assert_eq!(Interval::of(&[7.0], &ALL), Interval { mean: 7.0, lo: 7.0, hi: 7.0 });
        assert_eq!(Interval::of(&[7.0; 4], &ALL), Interval { mean: 7.0, lo: 7.0, hi: 7.0 });
    }

    #[test]
    fn bounds_are_compared_with_the_whole_interval() {
        let interval = Interval { mean: 2.0, lo: 1.0, hi: 3.0 };
        assert_eq!(interval.place(&(1.0..=3.0)), Place::Within);
        assert_eq!(interval.place(&(1.0..3.0)), Place::Across);
        assert_eq!(interval.place(&(2.5..)), Place::Across);
        assert_eq!(interval.place(&(..1.0)), Place::Outside);
        assert_eq!(interval.place(&(..=1.0)), Place::Across);
        assert_eq!(interval.place(&(3.5..)), Place::Outside);
        assert_eq!(interval.place(&(0.5..0.9)), Place::Outside);
        assert_eq!(interval.place(&(..)), Place::Within);
    }

    #[test]
    fn numbers_have_four_significant_digits() {
        let shown = [0.0, 0.012_345_6, 0.5, 12.345_6, 123_456.0, 1.0].map(number);
        assert_eq!(shown, ["0", "0.01235", "0.5", "12.35", "123456", "1"]);
    }
}
