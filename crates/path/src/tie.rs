//! The order of simultaneous events.
//!
//! Events in the same nanosecond are ordered by a hash of (seed, key, time). With a fixed order (by flow number or
//! insertion) one of two synchronized senders would win every tie, an artifact that looks like starvation.

use fairweir_units::Time;

/// Odd constants with well-mixed bits (from the golden ratio, as in SplitMix64).
const MIX: u64 = 0x9E37_79B9_7F4A_7C15;
const MIX_KEY: u64 = 0xBF58_476D_1CE4_E5B9;

/// Identifies a stream of events in the order of simultaneous events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct TieKey(pub u32);

/// The order of simultaneous events in a run.
#[derive(Clone, Copy, Debug)]
pub struct Ties {
    seed: u64,
}

impl Ties {
    /// Creates the order that follows from a scenario's `seed`.
    pub fn new(seed: u64) -> Ties {
        Ties { seed: seed.wrapping_mul(MIX) | 1 }
    }

    /// Returns the rank of the event of stream `key` among events at `at`; the lowest is first.
    #[inline]
    pub fn rank(&self, key: TieKey, at: Time) -> u32 {
        ((at.as_nanos() ^ u64::from(key.0).wrapping_mul(MIX_KEY) ^ self.seed).wrapping_mul(MIX) >> 32) as u32
    }
}
