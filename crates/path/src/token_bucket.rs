//! An exact token bucket, which shaper and policer use.

use crate::constant_rate::ConstantRate;
use fairweir_units::{Bytes, Dur, NANOS_PER_SEC, Rate, Time};

/// Tokens accrue at `rate` up to `burst` bytes; the bucket starts full.
///
/// On a busy link of constant rate `rate`, a packet would leave at `z`; from the bucket it may leave `burst / rate`
/// earlier. `z` is also the time at which the bucket would be full again, so this exact number is the whole state (the
/// virtual scheduling form of the generic cell rate algorithm, ITU-T I.371 annex A). A packet larger than the bucket
/// waits for the missing tokens.
#[derive(Clone, Debug)]
pub(crate) struct TokenBucket {
    full_at: ConstantRate,
    /// Time to fill an empty bucket: whole ns and the rest in 1/rate ns.
    fill_time: Dur,
    fill_fraction: u64,
}

impl TokenBucket {
    pub(crate) fn new(rate: Rate, burst: Bytes) -> TokenBucket {
        let work = u128::from(burst.0) * u128::from(NANOS_PER_SEC);
        let per_ns = u128::from(rate.bytes_per_sec());
        TokenBucket {
            full_at: ConstantRate::new(rate),
            fill_time: Dur::from_nanos((work / per_ns).min(u128::from(u64::MAX)) as u64),
            fill_fraction: (work % per_ns) as u64,
        }
    }

    /// Takes the tokens for a packet that arrives at `now` as soon as they are available, and returns that time.
    #[inline]
    pub(crate) fn take(&mut self, now: Time, bytes: Bytes) -> Time {
        let full_again = self.full_at.depart(now, bytes);
        let round_up = Dur::from_nanos(u64::from(self.full_at.fraction() > self.fill_fraction));
        (full_again + round_up - self.fill_time).max(now)
    }

    /// Takes the tokens for a packet if they are available at `now`.
    pub(crate) fn try_take(&mut self, now: Time, bytes: Bytes) -> bool {
        let mut after = self.clone();
        let is_there = after.take(now, bytes) == now;
        if is_there {
            *self = after;
        }
        is_there
    }

    pub(crate) fn rate(&self) -> Rate {
        self.full_at.rate()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The textbook form of a bucket: tokens in 10^-9 bytes, added at every packet.
    struct Textbook {
        rate: i128,
        burst: i128,
        tokens: i128,
        at: i128,
    }

    impl Textbook {
        fn new(rate: u64, burst: u64) -> Textbook {
            let burst = i128::from(burst) * 1_000_000_000;
            Textbook { rate: i128::from(rate), burst, tokens: burst, at: 0 }
        }

        fn fill(&mut self, now: i128) {
            self.tokens = (self.tokens + self.rate * (now - self.at)).min(self.burst);
            self.at = now;
        }

        /// Returns the first ns at which the tokens are available. A negative number of tokens represents waiting
        /// packets.
        fn take(&mut self, now: u64, bytes: u64) -> u64 {
            self.fill(i128::from(now).max(self.at));
            self.tokens -= i128::from(bytes) * 1_000_000_000;
            let missing = (-self.tokens).max(0);
            now.max((self.at + (missing + self.rate - 1) / self.rate) as u64)
        }
    }

    fn traffic() -> impl Strategy<Value = Vec<(u64, u64)>> {
        prop::collection::vec((0u64..3_000_000, 40u64..1501), 1..200).prop_map(|packets| {
            packets
                .into_iter()
                .scan(0, |now, (gap, bytes)| {
                    *now += gap;
                    Some((*now, bytes))
                })
                .collect()
        })
    }

    proptest! {
        #[test]
        fn shapes_as_the_textbook_does(rate in 100_000u64..10_000_000, burst in 1u64..10_000, traffic in traffic()) {
            let mut bucket = TokenBucket::new(Rate::from_bytes_per_sec(rate), Bytes(burst));
            let mut textbook = Textbook::new(rate, burst);
            for (now, bytes) in traffic {
                prop_assert_eq!(bucket.take(Time::from_nanos(now), Bytes(bytes)).as_nanos(), textbook.take(now, bytes));
            }
        }

        #[test]
        fn polices_as_the_textbook_does(rate in 100_000u64..10_000_000, burst in 1u64..10_000, traffic in traffic()) {
            let mut bucket = TokenBucket::new(Rate::from_bytes_per_sec(rate), Bytes(burst));
            let mut textbook = Textbook::new(rate, burst);
            for (now, bytes) in traffic {
                textbook.fill(i128::from(now));
                let is_there = textbook.tokens >= i128::from(bytes) * 1_000_000_000;
                if is_there {
                    textbook.take(now, bytes);
                }
                prop_assert_eq!(bucket.try_take(Time::from_nanos(now), Bytes(bytes)), is_there);
            }
        }
    }
}
