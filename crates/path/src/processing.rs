//! The processing time of ACKs at a sender's host.

use fairweir_units::{Dur, SplitMix64, Time};
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
    random: SplitMix64,
}

impl Processing {
    /// The processing of times up to `max`; `None` if it is zero.
    pub fn up_to(max: Dur, mut rng: ChaCha8Rng) -> Option<Processing> {
        let random = SplitMix64::new(rng.next_u64());
        (max > Dur::ZERO).then_some(Processing { max, done_at: Time::ZERO, random })
    }

    /// Returns the time at which the sender has processed an ACK that arrives at `at`.
    #[inline]
    pub fn process(&mut self, at: Time) -> Time {
        self.done_at = self.done_at.max(at.after(up_to(&mut self.random, self.max)));
        self.done_at
    }
}

/// Returns a random time, uniform in `[0, max]`; the bias is below `max` / 2^64.
#[inline(always)]
fn up_to(random: &mut SplitMix64, max: Dur) -> Dur {
    let number = u128::from(random.next_u64()) * (u128::from(max.as_nanos()) + 1);
    Dur::from_nanos((number >> 64) as u64)
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
        let mut random = SplitMix64::new(7);
        let mut counts = [0u32; 10];
        (0..100_000).for_each(|_| counts[up_to(&mut random, Dur::from_nanos(9)).as_nanos() as usize] += 1);
        // Binomial, standard deviation 95; the tolerance is five of them.
        assert!(counts.iter().all(|n| (9_525..=10_475).contains(n)), "{counts:?}");
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
