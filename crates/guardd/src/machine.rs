//! The machine's clocks, and the process's resource usage.

use fairweir_units::{Dur, Time};
use nix::time::{ClockId, clock_gettime};
use std::fs;

/// The clock of `bpf_ktime_get_ns`.
pub(crate) fn now() -> Time {
    Time::from_nanos(read(ClockId::CLOCK_MONOTONIC))
}

/// Of all threads of this process.
pub(crate) fn cpu_time() -> Dur {
    Dur::from_nanos(read(ClockId::CLOCK_PROCESS_CPUTIME_ID))
}

fn read(clock: ClockId) -> u64 {
    // These clocks are always there.
    clock_gettime(clock).map_or(0, |t| t.tv_sec() as u64 * 1_000_000_000 + t.tv_nsec() as u64)
}

/// Memory of this process that is in RAM.
pub(crate) fn resident_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Seconds since 1970, for logs.
pub(crate) fn unix_seconds() -> f64 {
    read(ClockId::CLOCK_REALTIME) as f64 / 1e9
}
