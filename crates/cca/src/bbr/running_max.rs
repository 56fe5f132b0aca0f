//! The largest bandwidth sample of the last rounds, as Linux tracks it.

use super::bandwidth::Bandwidth;
use fairweir_units::Dur;

/// A sample and its round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sample {
    round: u32,
    value: Bandwidth,
}

/// Kathleen Nichols' windowed maximum (`minmax_running_max` of Linux's lib/win_minmax.c).
///
/// It keeps three samples: the largest, and the largest after it in the later quarters of the window. When the largest
/// leaves the window, the second takes its place, which may be smaller than the exact maximum of the window. Only samples
/// move the window: a flow without samples (because its application sends little) retains its last maximum.
#[derive(Clone, Debug)]
pub(crate) struct RunningMax {
    best: [Sample; 3],
    round: u32,
    window: u32,
    /// Whether a further sample of this round that is not above the third would change nothing.
    is_settled: bool,
}

impl RunningMax {
    pub(crate) fn new(window: usize) -> RunningMax {
        RunningMax { best: [Sample::default(); 3], round: 0, window: window as u32, is_settled: false }
    }

    #[inline]
    pub(crate) fn get(&self) -> Bandwidth {
        self.best[0].value
    }

    /// Starts a round.
    pub(crate) fn advance(&mut self) {
        self.round += 1;
        self.is_settled = false;
    }

    /// Returns whether [`RunningMax::update`] would certainly change nothing for a sample of `delivered` packets in
    /// `interval`.
    #[inline]
    pub(crate) fn is_no_news(&self, delivered: u64, interval: Dur) -> bool {
        self.is_settled && self.best[2].value.covers_sample(delivered, interval)
    }

    /// Adds a sample; returns whether the maximum changed.
    #[inline]
    pub(crate) fn update(&mut self, value: Bandwidth) -> bool {
        let before = self.get();
        let sample = Sample { round: self.round, value };
        if value >= self.best[0].value || self.age(2) > self.window {
            self.best = [sample; 3];
        } else {
            if value >= self.best[1].value {
                (self.best[1], self.best[2]) = (sample, sample);
            } else if value >= self.best[2].value {
                self.best[2] = sample;
            }
            self.age_out(sample);
        }
        self.is_settled = self.best[2].round == self.round && self.due().is_none();
        self.get() != before
    }

    /// Returns the number of rounds since a sample that is kept.
    fn age(&self, i: usize) -> u32 {
        self.round - self.best[i].round
    }

    /// Returns the first of the samples that the passage of time replaces (`minmax_subwin_update`): one that left the
    /// window, or a second or third that is not from a later quarter than the one before it.
    fn due(&self) -> Option<usize> {
        let [first, second, third] = self.best;
        let age = self.age(0);
        if age > self.window {
            Some(0)
        } else if second.round == first.round && age > self.window / 4 {
            Some(1)
        } else if third.round == second.round && age > self.window / 2 {
            Some(2)
        } else {
            None
        }
    }

    fn age_out(&mut self, sample: Sample) {
        let [_, second, third] = self.best;
        match self.due() {
            Some(0) if self.age(1) > self.window => self.best = [third, sample, sample],
            Some(0) => self.best = [second, third, sample],
            Some(i) => self.best[i..].fill(sample),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pps(n: u64) -> Bandwidth {
        Bandwidth::of_sample(n, Dur::from_secs(1))
    }

    /// Returns the maximum after each of the rounds with these samples.
    fn maxima(window: usize, samples: impl IntoIterator<Item = u64>) -> Vec<Bandwidth> {
        let mut filter = RunningMax::new(window);
        let mut take = |n| {
            filter.advance();
            filter.update(pps(n));
            filter.get()
        };
        samples.into_iter().map(&mut take).collect()
    }

    proptest! {
        #[test]
        fn it_is_a_sample_of_the_window_not_below_the_latest(samples in prop::collection::vec(1u64..1000, 1..100)) {
            let window = 10;
            for (i, max) in maxima(window, samples.iter().copied()).into_iter().enumerate() {
                let kept = &samples[i.saturating_sub(window)..=i];
                prop_assert!(max >= pps(samples[i]));
                prop_assert!(kept.iter().any(|&n| pps(n) == max));
            }
        }

        #[test]
        fn a_sample_without_news_changes_nothing(samples in prop::collection::vec((1u64..9, any::<bool>()), 1..100)) {
            let mut filter = RunningMax::new(10);
            for (n, is_new_round) in samples {
                if is_new_round {
                    filter.advance();
                }
                let is_no_news = filter.is_no_news(n, Dur::from_secs(1));
                let before = filter.best;
                filter.update(pps(n));
                prop_assert!(!is_no_news || filter.best == before);
            }
        }
    }

    #[test]
    fn a_probe_counts_for_the_window() {
        let probed = maxima(10, [100, 125].into_iter().chain([100; 12]));
        assert_eq!(probed[1..12], [pps(125); 11]);
        assert_eq!(probed[12], pps(100));
    }

    #[test]
    fn a_sample_just_after_the_maximum_is_forgotten() {
        // When the first sample leaves the window, 90 of the second round would be the exact maximum.
        let samples = [100, 90].into_iter().chain([50; 10]);
        assert_eq!(maxima(10, samples)[10..], [pps(100), pps(50)]);
    }

    #[test]
    fn without_samples_the_maximum_is_remembered() {
        let mut filter = RunningMax::new(2);
        filter.update(pps(100));
        (0..10).for_each(|_| filter.advance());
        assert_eq!(filter.get(), pps(100));
        filter.update(pps(7));
        assert_eq!(filter.get(), pps(7));
    }
}
