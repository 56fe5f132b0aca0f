//! The virtual clock and random bytes of stacks that read them from the C library.
//!
//! `fairweir-quiche` defines the C library's functions and implements them with this module. In other programs this
//! module has no effect; [`is_interposed`] reads the clock to distinguish the two.

use fairweir_units::{Dur, SplitMix64, Time};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Clock reading at time zero, ns; large enough that code may subtract from it.
const EPOCH_NS: u64 = 1_000_000_000_000_000;

static NOW_NS: AtomicU64 = AtomicU64::new(0);
static STATE: AtomicU64 = AtomicU64::new(0);

/// Sets the time of the clock.
pub fn set(now: Time) {
    NOW_NS.store(now.as_nanos(), Relaxed);
}

/// Returns what the clock shows, ns.
pub fn clock_ns() -> u64 {
    EPOCH_NS + NOW_NS.load(Relaxed)
}

/// Starts the random bytes of `seed`.
pub fn seed(seed: u64) {
    STATE.store(seed, Relaxed);
}

/// Fills `bytes` with the next random bytes.
pub fn fill(bytes: &mut [u8]) {
    let next = || SplitMix64::mix(STATE.fetch_add(SplitMix64::GAMMA, Relaxed).wrapping_add(SplitMix64::GAMMA));
    SplitMix64::fill(bytes, next);
}

/// Returns whether the clock of this process is the one here; sets it to time zero.
pub fn is_interposed() -> bool {
    const HOUR: Dur = Dur::from_secs(3_600);
    let shown = [Time::ZERO + HOUR, Time::ZERO].map(|time| {
        set(time);
        Instant::now()
    });
    shown[0].checked_duration_since(shown[1]) == Some(Duration::from_nanos(HOUR.as_nanos()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_of_a_program_that_defines_nothing_is_the_machines() {
        assert!(!is_interposed());
    }

    #[test]
    fn random_bytes_are_those_of_the_seed() {
        let drawn = |start: u64, lengths: &[usize]| -> Vec<u8> {
            seed(start);
            let draw = |&length: &usize| {
                let mut bytes = vec![0; length];
                fill(&mut bytes);
                bytes
            };
            lengths.iter().flat_map(draw).collect()
        };
        // The first value of SplitMix64 with the state 0.
        assert_eq!(drawn(0, &[8]), 0xe220_a839_7b1d_cdaf_u64.to_le_bytes());
        assert_eq!(drawn(7, &[16]), drawn(7, &[8, 8]));
        assert_eq!(drawn(7, &[3]), drawn(7, &[8])[..3]);
        assert_ne!(drawn(7, &[32]), drawn(8, &[32]));
    }
}
