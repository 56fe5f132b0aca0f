//! Messages of failed assertions.

use crate::case::{Case, Path};
use crate::interval::{Interval, number};
use crate::metric::Metric;
use crate::repeat::Difference;
use crate::replay::scenario;
use fairweir_sim::SimError;
use fairweir_units::{Dur, Hint};
use std::ops::{Bound, RangeBounds};

/// Values of a metric whose interval is not within the bounds.
pub(crate) struct Violation<'a> {
    pub(crate) case: &'a Case,
    pub(crate) seeds: &'a [u64],
    pub(crate) metric: &'a Metric,
    /// One per seed.
    pub(crate) values: &'a [f64],
    pub(crate) interval: Interval,
    /// Whether the whole interval is outside of the bounds.
    pub(crate) is_certain: bool,
    /// Index of the value farthest from the bounds.
    pub(crate) worst: usize,
}

pub(crate) fn of_violation(violation: &Violation<'_>, bounds: &impl RangeBounds<f64>) -> String {
    let Violation { case, seeds, metric, values, interval, is_certain, worst } = *violation;
    let wanted = describe(bounds);
    let unit = if metric.unit.is_empty() { String::new() } else { format!(" {}", metric.unit) };
    let verdict = match (is_certain, values.len()) {
        (true, 1) => format!("must be {wanted}: `{}`{unit}", number(interval.mean)),
        (true, n) => format!("must be {wanted}: `{interval}`{unit}, mean and 95 % interval over {n} seeds"),
        (false, n) => format!("must be {wanted}, which {n} seeds do not decide: `{interval}`{unit}"),
    };
    let hint = if is_certain { "" } else { "hint: use more seeds, or a bound outside of the interval\n\n" };
    let rows: String =
        seeds.iter().zip(values).map(|(seed, value)| format!("  seed {seed:>4}  {}{unit}\n", number(*value))).collect();
    let replay = replay(case, seeds[worst]);
    format!("{} of {} {verdict}\n\n{}\n{rows}\n{hint}{replay}", metric.name, names(case), line(&case.path))
}

pub(crate) fn of_no_sample(case: &Case, metric: &Metric, seed: u64) -> String {
    format!("{} of {} has no sample with seed {seed}\n\n{}", metric.name, names(case), replay(case, seed))
}

pub(crate) fn of_difference(case: &Case, seed: u64, difference: &Difference) -> String {
    let Difference { first, second } = difference;
    format!(
        "{} is not repeatable: two runs with seed {seed} differ\n\n  first run:  {first}\n  second run: {second}\n\n\
         hint: read no clock, seed random numbers with Start::seed or use Context::rng, share nothing between flows\n\n{}",
        names(case),
        replay(case, seed),
    )
}

pub(crate) fn of_error(case: &Case, seed: u64, error: &SimError) -> String {
    let key = error.key().map(|key| format!(" ({key})")).unwrap_or_default();
    let hint = error.hint().map(|hint| format!("hint: {hint}\n\n")).unwrap_or_default();
    format!("{}{key}, with seed {seed}\n\n{hint}{}", error.message(), replay(case, seed))
}

/// Returns the ids of the flows, the one under test first.
fn names(case: &Case) -> String {
    let ids = case.ids();
    match ids.split_first() {
        Some((first, [])) => first.clone(),
        Some((first, others)) => format!("{first} with {}", others.join(", ")),
        None => "no flow".to_owned(),
    }
}

/// Returns the path in one line.
fn line(path: &Path) -> String {
    let jitter = if path.jitter > Dur::ZERO { format!(", jitter {}", path.jitter) } else { String::new() };
    format!(
        "{}, rtprop {}, buffer {}{jitter}; {}, measured after {}",
        path.rate, path.rtprop, path.buffer, path.duration, path.warmup
    )
}

fn replay(case: &Case, seed: u64) -> String {
    format!("replay seed {seed}: save as replay.toml, `fairweir run replay.toml`\n\n{}", scenario(case, seed))
}

fn describe(bounds: &impl RangeBounds<f64>) -> String {
    let lower = match bounds.start_bound() {
        Bound::Included(start) => Some(format!("at least {}", number(*start))),
        Bound::Excluded(start) => Some(format!("above {}", number(*start))),
        Bound::Unbounded => None,
    };
    let upper = match bounds.end_bound() {
        Bound::Included(end) => Some(format!("at most {}", number(*end))),
        Bound::Excluded(end) => Some(format!("below {}", number(*end))),
        Bound::Unbounded => None,
    };
    [lower, upper].into_iter().flatten().collect::<Vec<_>>().join(" and ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_described() {
        assert_eq!(describe(&(0.5..)), "at least 0.5");
        assert_eq!(describe(&(..=0.5)), "at most 0.5");
        assert_eq!(describe(&(0.25..0.75)), "at least 0.25 and below 0.75");
        assert_eq!(describe(&(Bound::Excluded(1.0), Bound::Unbounded)), "above 1");
    }
}
