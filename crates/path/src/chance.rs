//! Random decisions in integer arithmetic.

use fairweir_units::Dur;
use rand::{Rng, RngExt};
use rand_chacha::ChaCha8Rng;

/// A random event with a fixed probability.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chance {
    /// The event occurs if a 32-bit random number is below this.
    threshold: u64,
}

impl Chance {
    pub(crate) fn per_billion(n: u32) -> Chance {
        Chance { threshold: (u64::from(n) << 32) / 1_000_000_000 }
    }

    #[inline]
    pub(crate) fn draw(self, rng: &mut ChaCha8Rng) -> bool {
        u64::from(rng.next_u32()) < self.threshold
    }
}

/// Returns a random time, uniform in `[0, max]`.
pub(crate) fn uniform_up_to(max: Dur, rng: &mut ChaCha8Rng) -> Dur {
    Dur::from_nanos(rng.random_range(0..=max.as_nanos()))
}

/// Returns a random time, uniform in `[0, end)`; `end` must be positive.
pub(crate) fn uniform_below(end: Dur, rng: &mut ChaCha8Rng) -> Dur {
    Dur::from_nanos(rng.random_range(0..end.as_nanos()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certainty_is_certain_and_never_is_never() {
        assert_eq!(Chance::per_billion(1_000_000_000).threshold, 1 << 32);
        assert_eq!(Chance::per_billion(0).threshold, 0);
    }
}
