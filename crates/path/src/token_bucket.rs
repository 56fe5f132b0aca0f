//! A token bucket, exact: the arithmetic under shaper and policer.

use crate::Link;
use crate::link::ConstantRate;
use fairweir_units::{Bytes, Dur, NANOS_PER_SEC, Rate, Time};

/// Tokens come at `rate` up to `burst` bytes; the bucket starts full.
///
/// A packet of a busy constant link of `rate` would leave at `z`; from the bucket it may go `burst / rate` earlier. `z` is
/// when the bucket would be full again, so that one number, kept exactly, is the whole state (the virtual scheduling
/// form of the generic cell rate algorithm, ITU-T I.371 annex A). A packet larger than the bucket waits for the rest.
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

    /// Takes the tokens for a packet that arrives at `now` as soon as they are there, and says when.
    #[inline]
    pub(crate) fn take(&mut self, now: Time, bytes: Bytes) -> Time {
        let full_again = self.full_at.depart(now, bytes);
        let round_up = Dur::from_nanos(u64::from(self.full_at.fraction() > self.fill_fraction));
        (full_again + round_up - self.fill_time).max(now)
    }

    /// Takes the tokens for a packet if they are there at `now`.
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
