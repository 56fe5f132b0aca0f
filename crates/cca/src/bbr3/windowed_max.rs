//! The largest bandwidth sample of the last rounds.

use crate::bbr::Bandwidth;

/// Exact maximum over the current round and `window` rounds before it.
///
/// A sample outside the window is removed only when a new sample is taken. A flow without samples (because its
/// application sends little) therefore retains its last sample.
#[derive(Clone, Debug)]
pub(crate) struct WindowedMax {
    /// Ring with the maximum sample of each round.
    rounds: Box<[Bandwidth]>,
    current: usize,
    max: Bandwidth,
    /// Whether a round has left the window since `max` was computed.
    is_stale: bool,
}

impl WindowedMax {
    pub(crate) fn new(window: usize) -> WindowedMax {
        WindowedMax {
            rounds: vec![Bandwidth::ZERO; window + 1].into_boxed_slice(),
            current: 0,
            max: Bandwidth::ZERO,
            is_stale: false,
        }
    }

    #[inline]
    pub(crate) fn get(&self) -> Bandwidth {
        self.max
    }

    /// Starts a round.
    pub(crate) fn advance(&mut self) {
        self.current = (self.current + 1) % self.rounds.len();
        self.rounds[self.current] = Bandwidth::ZERO;
        self.is_stale = true;
    }

    /// Adds a sample; returns whether the maximum changed.
    #[inline]
    pub(crate) fn update(&mut self, sample: Bandwidth) -> bool {
        let round = &mut self.rounds[self.current];
        *round = sample.max(*round);
        let before = self.max;
        if self.is_stale {
            self.is_stale = false;
            self.max = self.rounds.iter().copied().fold(Bandwidth::ZERO, Bandwidth::max);
        } else {
            self.max = self.max.max(sample);
        }
        self.max != before
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairweir_units::Dur;
    use proptest::prelude::*;

    fn pps(n: u64) -> Bandwidth {
        Bandwidth::of_sample(n, Dur::from_secs(1))
    }

    proptest! {
        #[test]
        fn it_is_the_maximum_of_the_window(samples in prop::collection::vec((1u64..1000, any::<bool>()), 1..100)) {
            let window = 3;
            let (mut filter, mut round) = (WindowedMax::new(window), 0);
            let mut seen = Vec::new();
            for (n, is_new_round) in samples {
                if is_new_round {
                    filter.advance();
                    round += 1;
                }
                filter.update(pps(n));
                seen.push((round, pps(n)));
                let max = seen.iter().filter(|(r, _)| r + window >= round).map(|(_, b)| *b).max();
                prop_assert_eq!(Some(filter.get()), max);
            }
        }
    }

    #[test]
    fn without_samples_the_maximum_is_remembered() {
        let mut filter = WindowedMax::new(2);
        filter.update(pps(100));
        (0..10).for_each(|_| filter.advance());
        assert_eq!(filter.get(), pps(100));
        filter.update(pps(7));
        assert_eq!(filter.get(), pps(7));
    }
}
