//! The machine's clocks, and this process's resource usage.

use fairweir_units::{Dur, Time};
use nix::time::{ClockId, clock_gettime};
use std::fs;

/// Returns the time of the clock that `bpf_ktime_get_ns` reads.
pub(crate) fn now() -> Time {
    Time::from_nanos(read(ClockId::CLOCK_MONOTONIC))
}

/// Returns the processor time of all threads of this process.
pub(crate) fn cpu_time() -> Dur {
    Dur::from_nanos(read(ClockId::CLOCK_PROCESS_CPUTIME_ID))
}

fn read(clock: ClockId) -> u64 {
    // These clocks always exist.
    clock_gettime(clock).map_or(0, |t| t.tv_sec() as u64 * 1_000_000_000 + t.tv_nsec() as u64)
}

/// Returns the resident memory of this process, KiB.
pub(crate) fn resident_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Returns the seconds since 1970, for logs.
pub(crate) fn unix_seconds() -> f64 {
    read(ClockId::CLOCK_REALTIME) as f64 / 1e9
}
