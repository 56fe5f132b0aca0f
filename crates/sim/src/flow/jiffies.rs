//! Timers of the kernel that count jiffies, as in Linux 6.18 with HZ = 250: `calc_wheel_index` (kernel/time/timer.c).
//!
//! The timers of TCP (retransmission, tail loss probe, reordering) are set in whole jiffies, rounded up, from the start of
//! the present one. A timer expires at the tick of its wheel after its time, so that it is never early. The first wheel
//! has a tick per jiffy; each further one has timers eight times as long, and ticks eight times as far apart.

use fairweir_units::{Dur, Time};

/// A jiffy, ns.
const JIFFY: u64 = 4_000_000;
/// Timers of the first wheel are shorter than this, jiffies (`LVL_START(1)`).
const FIRST_WHEEL: u64 = 63;
/// Binary logarithm of the ratio of two wheels' ticks (`LVL_CLK_SHIFT`).
const WHEEL_SHIFT: u32 = 3;
/// Number of wheels beyond the first (`LVL_DEPTH`).
const WHEELS: u32 = 8;

/// Returns when a timer expires that is set at `now` for `timeout`.
pub(super) fn expiry(now: Time, timeout: Dur) -> Time {
    let length = timeout.as_nanos().div_ceil(JIFFY);
    let mut shift = 0;
    while length >> shift >= FIRST_WHEEL && shift < WHEELS * WHEEL_SHIFT {
        shift += WHEEL_SHIFT;
    }
    let expires = (now.as_nanos() / JIFFY).saturating_add(length);
    Time::from_nanos((((expires >> shift) + 1) << shift).saturating_mul(JIFFY))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_expires_at_the_next_tick_after_its_time() {
        let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
        // Timers below 252 ms have ticks of 4 ms, those below 2016 ms have ticks of 32 ms, then 256 ms.
        for (now, timeout, expected) in [
            (0, 1, 8),
            (3, 4, 8),
            (4, 4, 12),
            (5, 5, 16),
            (0, 209, 216),
            (0, 248, 252),
            (0, 252, 256),
            (0, 260, 288),
            (40, 424, 480),
            (0, 2_015, 2_048),
            (0, 2_017, 2_048),
            (100, 5_000, 5_120),
        ] {
            assert_eq!(expiry(at(now), Dur::from_millis(timeout)), at(expected), "{now} {timeout}");
        }
    }

    #[test]
    fn a_timer_is_never_early() {
        for ms in (1..200_000).step_by(777) {
            let (now, timeout) = (Time::from_nanos(ms * 700_001), Dur::from_millis(ms));
            assert!(expiry(now, timeout) >= now + timeout);
        }
    }
}
