//! The runs of a test, one per seed, and assertions about them.

use crate::case::Case;
use crate::interval::{Interval, Place};
use crate::message::{self, Violation};
use crate::metric::Metric;
use crate::replay::scenario;
use fairweir_scenario::Summary;
use std::ops::{Bound, RangeBounds};

/// One run per seed.
#[derive(Clone, Debug)]
pub struct Runs {
    pub(crate) case: Case,
    pub(crate) seeds: Vec<u64>,
    pub(crate) summaries: Vec<Summary>,
}

impl Runs {
    /// Returns the summary of each run, in the order of the seeds.
    pub fn summaries(&self) -> &[Summary] {
        &self.summaries
    }

    /// Returns the value of `metric` in each run.
    ///
    /// # Panics
    /// If a run has no sample of it.
    #[track_caller]
    pub fn values(&self, metric: &Metric) -> Vec<f64> {
        let value = |(seed, run)| {
            (metric.value)(run)
                .filter(|value: &f64| value.is_finite())
                .unwrap_or_else(|| panic!("{}", message::of_no_sample(&self.case, metric, seed)))
        };
        self.seeds.iter().copied().zip(&self.summaries).map(value).collect()
    }

    /// Returns the mean of `metric` over the seeds, with its 95 % interval.
    ///
    /// # Panics
    /// As [`Runs::values`].
    #[track_caller]
    pub fn mean(&self, metric: &Metric) -> Interval {
        Interval::of(&self.values(metric), &metric.range)
    }

    /// Asserts that the whole 95 % interval of the mean of `metric` lies within `bounds`.
    ///
    /// # Panics
    /// If it does not; the message has the values, the bounds, and the scenario of the worst seed. Also as
    /// [`Runs::values`].
    #[track_caller]
    pub fn assert(&self, metric: &Metric, bounds: impl RangeBounds<f64>) -> &Runs {
        let values = self.values(metric);
        let interval = Interval::of(&values, &metric.range);
        let place = interval.place(&bounds);
        if place != Place::Within {
            let violation = Violation {
                case: &self.case,
                seeds: &self.seeds,
                metric,
                values: &values,
                interval,
                is_certain: place == Place::Outside,
                worst: worst(&values, &bounds),
            };
            panic!("{}", message::of_violation(&violation, &bounds));
        }
        self
    }

    /// Returns the scenario of the run with `seed`, for `fairweir run`.
    pub fn scenario(&self, seed: u64) -> String {
        scenario(&self.case, seed)
    }
}

/// Returns the index of the value that is farthest outside of `bounds`, or nearest to one of them.
fn worst(values: &[f64], bounds: &impl RangeBounds<f64>) -> usize {
    let end = |bound: Bound<&f64>| match bound {
        Bound::Included(end) | Bound::Excluded(end) => Some(*end),
        Bound::Unbounded => None,
    };
    let beyond = |value: f64| {
        let below = end(bounds.start_bound()).map_or(f64::NEG_INFINITY, |start| start - value);
        let above = end(bounds.end_bound()).map_or(f64::NEG_INFINITY, |end| value - end);
        below.max(above)
    };
    let farther = |best: usize, index: usize| if beyond(values[index]) > beyond(values[best]) { index } else { best };
    (0..values.len()).fold(0, farther)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_value_is_farthest_from_the_bounds() {
        let values = [0.5, 0.2, 0.9, 0.7];
        assert_eq!(worst(&values, &(0.6..)), 1);
        assert_eq!(worst(&values, &(..0.6)), 2);
        assert_eq!(worst(&values, &(0.3..0.95)), 1);
        assert_eq!(worst(&values, &(0.1..0.95)), 2);
    }
}
