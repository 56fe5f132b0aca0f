//! A histogram of durations with a bounded relative error.

use crate::DelayStats;
use fairweir_units::Dur;

/// Buckets per octave: a bucket's width is at most 1/64 of its value, so its middle is within 0.8 % of each value.
const SUB_BUCKETS_LOG2: u32 = 6;

/// Counts durations in buckets whose width grows with the value; sum, minimum and maximum are exact.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    /// Counts of whole octaves, from the lowest to the highest that has a value.
    counts: Vec<u64>,
    /// The bucket of the first count.
    base: usize,
    samples: u64,
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
}

impl Histogram {
    /// Creates an empty histogram.
    pub fn new() -> Histogram {
        Histogram { min_ns: u64::MAX, ..Histogram::default() }
    }

    /// Counts `value`.
    #[inline]
    pub fn record(&mut self, value: Dur) {
        let ns = value.as_nanos();
        let mut at = bucket_of(ns).wrapping_sub(self.base);
        if at >= self.counts.len() {
            at = self.grow(bucket_of(ns));
        }
        self.counts[at] += 1;
        self.samples += 1;
        self.sum_ns += u128::from(ns);
        // New extremes are rare: a branch that is never taken costs less than two stores.
        if ns < self.min_ns {
            self.min_ns = ns;
        }
        if ns > self.max_ns {
            self.max_ns = ns;
        }
    }

    /// Extends the counts to the octave of `bucket`; returns the index of its count.
    #[cold]
    fn grow(&mut self, bucket: usize) -> usize {
        const OCTAVE: usize = 1 << SUB_BUCKETS_LOG2;
        let octave = bucket / OCTAVE * OCTAVE;
        let (old, len) = (self.base, self.counts.len());
        let (base, end) =
            if len == 0 { (octave, octave + OCTAVE) } else { (old.min(octave), (old + len).max(octave + OCTAVE)) };
        let mut counts = vec![0; end - base];
        counts[old.max(base) - base..][..len].copy_from_slice(&self.counts);
        (self.counts, self.base) = (counts, base);
        bucket - base
    }

    /// Returns the sum of the values, ns, and their number.
    pub fn total(&self) -> (u128, u64) {
        (self.sum_ns, self.samples)
    }

    /// Returns mean and percentiles in ms, each reduced by `offset` to at least 0; zero without samples.
    pub fn stats_less(&self, offset: Dur) -> DelayStats {
        if self.samples == 0 {
            return DelayStats::default();
        }
        let ms = |ns: f64| ((ns - offset.as_nanos() as f64) / 1e6).max(0.0);
        DelayStats {
            samples: self.samples,
            mean: ms(self.sum_ns as f64 / self.samples as f64),
            min: ms(self.min_ns as f64),
            p50: ms(self.quantile_ns(500)),
            p95: ms(self.quantile_ns(950)),
            p99: ms(self.quantile_ns(990)),
            max: ms(self.max_ns as f64),
        }
    }

    /// Returns the maximum; zero without samples.
    pub fn max(&self) -> Dur {
        Dur::from_nanos(self.max_ns)
    }

    /// Returns the quantile at `per_mille`, ns, to within 1 %; zero without samples.
    pub fn quantile_ns(&self, per_mille: u64) -> f64 {
        // This is at most `samples`.
        let rank = (u128::from(self.samples) * u128::from(per_mille)).div_ceil(1000).max(1) as u64;
        let mut seen = 0;
        for (bucket, count) in (self.base..).zip(&self.counts) {
            seen += count;
            if seen >= rank {
                let (low, high) = (lower_bound(bucket), lower_bound(bucket + 1) - 1);
                let (low, high) = (low.max(self.min_ns.into()), high.min(self.max_ns.into()));
                return (low + high) as f64 / 2.0;
            }
        }
        self.max_ns as f64
    }
}

/// Each value below 64 has its own bucket; above, each octave has 64 buckets.
#[inline]
fn bucket_of(ns: u64) -> usize {
    let octave = (63 - (ns | (1 << SUB_BUCKETS_LOG2)).leading_zeros()) - SUB_BUCKETS_LOG2;
    ((octave as usize) << SUB_BUCKETS_LOG2) + (ns >> octave) as usize
}

/// The bucket after the last one begins at 2^64.
fn lower_bound(bucket: usize) -> u128 {
    let sub = 1usize << SUB_BUCKETS_LOG2;
    if bucket < 2 * sub {
        return bucket as u128;
    }
    let octave = bucket / sub - 1;
    ((bucket - octave * sub) as u128) << octave
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_value_lies_in_its_bucket(shift in 0..64u32, ns: u64) {
            let ns = ns >> shift;
            let bucket = bucket_of(ns);
            prop_assert!(lower_bound(bucket) <= ns.into() && u128::from(ns) < lower_bound(bucket + 1));
        }

        #[test]
        fn percentiles_are_within_one_percent(mut values in proptest::collection::vec(1_000..10_000_000_000u64, 1..400)) {
            let mut histogram = Histogram::new();
            values.iter().for_each(|v| histogram.record(Dur::from_nanos(*v)));
            values.sort_unstable();
            let stats = histogram.stats_less(Dur::ZERO);
            for (percent, got) in [(50, stats.p50), (95, stats.p95), (99, stats.p99)] {
                let exact = values[(values.len() * percent).div_ceil(100) - 1] as f64 / 1e6;
                prop_assert!((got - exact).abs() <= 0.01 * exact, "p{percent}: {got} for {exact}");
            }
        }
    }

    #[test]
    fn counts_beyond_32_bits_and_the_longest_times_are_summed_up() {
        let mut histogram = Histogram::new();
        histogram.record(Dur::from_nanos(5));
        // More samples of 5 ns than a test could add one by one.
        (histogram.counts[5 - histogram.base], histogram.samples, histogram.sum_ns) = (1 << 32, 1 << 32, 5 << 32);
        histogram.record(Dur::from_nanos(5));
        histogram.record(Dur::MAX);
        assert_eq!(histogram.total(), ((5 << 32) + 5 + u128::from(u64::MAX), (1 << 32) + 2));
        assert_eq!(histogram.quantile_ns(500), 5.0);
        assert_eq!(histogram.stats_less(Dur::ZERO).p99, 5e-6);
        assert!(histogram.quantile_ns(1000) >= 0.99 * u64::MAX as f64);
    }
}
