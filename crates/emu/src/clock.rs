//! The real-time clock of a run: time since the run's zero, measured by `CLOCK_MONOTONIC`.

use fairweir_units::{Dur, Time};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};

/// A run's clock. Its zero is set once, when the run starts; copies of the clock have the same zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// Value of `CLOCK_MONOTONIC` at the run's zero, ns.
    zero_ns: u64,
}

/// Returns `CLOCK_MONOTONIC`, ns.
pub(crate) fn monotonic_ns() -> u64 {
    nanos_of(ClockId::CLOCK_MONOTONIC)
}

/// Returns the CPU time that the calling thread has used.
pub(crate) fn thread_cpu_time() -> Dur {
    Dur::from_nanos(nanos_of(ClockId::CLOCK_THREAD_CPUTIME_ID))
}

fn nanos_of(clock: ClockId) -> u64 {
    // Both clocks exist on every Linux.
    let now = clock_gettime(clock).expect("the system has this clock");
    now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64
}

/// Converts `ns` of `CLOCK_MONOTONIC` to a `TimeSpec`.
pub(crate) fn time_spec(ns: u64) -> TimeSpec {
    TimeSpec::new((ns / 1_000_000_000) as i64, (ns % 1_000_000_000) as i64)
}

impl Clock {
    /// Creates a clock whose zero is now.
    pub fn starting_now() -> Clock {
        Clock::starting_at(monotonic_ns())
    }

    /// Creates a clock whose zero is `zero_ns` of `CLOCK_MONOTONIC`, ns.
    pub fn starting_at(zero_ns: u64) -> Clock {
        Clock { zero_ns }
    }

    /// Returns the time since the run's zero; before the run's zero, returns zero.
    #[inline]
    pub fn now(self) -> Time {
        Time::from_nanos(monotonic_ns().saturating_sub(self.zero_ns))
    }

    /// Returns the value of `CLOCK_MONOTONIC` at time `at`, ns.
    pub fn monotonic_ns(self, at: Time) -> u64 {
        self.zero_ns.saturating_add(at.as_nanos())
    }

    /// Sleeps until `at`; returns at once if `at` has passed.
    pub fn sleep_until(self, at: Time) {
        let until = time_spec(self.monotonic_ns(at));
        // A signal interrupts the sleep, so repeat until `at` is reached.
        while self.now() < at {
            let _ = clock_nanosleep(ClockId::CLOCK_MONOTONIC, ClockNanosleepFlags::TIMER_ABSTIME, &until);
        }
    }
}
