//! The processing time of ACKs at a sender's host.

use fairweir_units::{Dur, Time};
use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// Delays each ACK by a random time, uniform in `[0, max]`, in the order of arrival.
///
/// Without it, flows that lose packets at a full drop-tail queue lock in phase: which flow loses depends on nothing but
/// the start times (Floyd and Jacobson, "On traffic phase effects in packet-switched gateways", 1992,
/// which adds the same delay). On real hosts interrupts, the scheduler and caches cause it.
#[derive(Clone, Debug)]
pub struct Processing {
    max: Dur,
    done_at: Time,
    random: SplitMix,
}

impl Processing {
    /// The processing of times up to `max`; `None` if it is zero.
    pub fn up_to(max: Dur, mut rng: ChaCha8Rng) -> Option<Processing> {
        let random = SplitMix(rng.next_u64());
        (max > Dur::ZERO).then_some(Processing { max, done_at: Time::ZERO, random })
    }

    /// Returns the time at which the sender has processed an ACK that arrives at `at`.
    #[inline]
    pub fn process(&mut self, at: Time) -> Time {
        self.done_at = self.done_at.max(at.after(self.random.up_to(self.max)));
        self.done_at
    }
}

/// The generator of Steele, Lea and Flood ("Fast splittable pseudorandom number generators", 2014). Every ACK draws a
/// number: its state has eight bytes, that of [`ChaCha8Rng`] three hundred.
#[derive(Clone, Debug)]
struct SplitMix(u64);

impl SplitMix {
    /// Returns a random time, uniform in `[0, max]`; the bias is below `max` / 2^64.
    #[inline(always)]
    fn up_to(&mut self, max: Dur) -> Dur {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        let number = u128::from(mixed ^ (mixed >> 31)) * (u128::from(max.as_nanos()) + 1);
        Dur::from_nanos((number >> 64) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::SeedableRng;

    #[test]
    fn no_time_is_no_processing() {
        assert!(Processing::up_to(Dur::ZERO, ChaCha8Rng::seed_from_u64(1)).is_none());
    }

    #[test]
    fn times_are_uniform_and_reach_both_ends() {
        let mut random = SplitMix(7);
        let mut counts = [0u32; 10];
        (0..100_000).for_each(|_| counts[random.up_to(Dur::from_nanos(9)).as_nanos() as usize] += 1);
        // Binomial, standard deviation 95; the tolerance is five of them.
        assert!(counts.iter().all(|n| (9_525..=10_475).contains(n)), "{counts:?}");
    }

    #[test]
    fn the_generator_is_the_published_one() {
        // The first numbers of the reference code (splitmix64.c by Vigna) from the state 0.
        let mut random = SplitMix(0);
        let top = Dur::from_nanos(u64::MAX - 1);
        let expected = [0xE220_A839_7B1D_CDAF_u64, 0x6E78_9E6A_A1B9_65F4, 0x06C4_5D18_8009_454F];
        expected.iter().for_each(|&n| assert!(n.abs_diff(random.up_to(top).as_nanos()) <= 1));
    }

    proptest! {
        #[test]
        fn acks_keep_their_order_and_wait_at_most_the_maximum(
            seed in any::<u64>(),
            max in 1..200u64,
            gaps in proptest::collection::vec(0..300u64, 1..100),
        ) {
            let mut processing = Processing::up_to(Dur::from_nanos(max), ChaCha8Rng::seed_from_u64(seed)).unwrap();
            let (mut at, mut last) = (Time::ZERO, Time::ZERO);
            for gap in gaps {
                at += Dur::from_nanos(gap);
                let done = processing.process(at);
                prop_assert!(done >= at && done >= last && done <= at + Dur::from_nanos(max));
                last = done;
            }
        }
    }
}
