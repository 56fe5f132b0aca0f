//! Makes a thread punctual.

use nix::errno::Errno;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::mman::{MlockAllFlags, mlockall};
use nix::sys::prctl::set_timerslack;
use nix::unistd::Pid;

/// Above everything normal, below what else may be real-time. It is this that makes the emulator punctual: without it
/// the 99th percentile of its lateness is a hundred times as long.
const PRIORITY: libc::c_int = 10;
/// ns; the default lets timers be 50 µs late.
const TIMER_SLACK_NS: u64 = 1;

/// Lets the calling thread run as soon as it wants to, on the last CPU that it may use, its memory kept in place.
///
/// # Errors
/// What the system did not grant; the others are in force.
pub(crate) fn make_punctual() -> Result<(), String> {
    let steps = [
        ("pin it to a CPU", pin_to_last_cpu()),
        ("shorten its timer slack", set_timerslack(TIMER_SLACK_NS)),
        // Only what is there: locking all that is to come can make other threads' allocations fail.
        ("lock its memory", mlockall(MlockAllFlags::MCL_CURRENT)),
        ("run it with SCHED_FIFO", schedule_first()),
    ];
    let refused: Vec<String> =
        steps.into_iter().filter_map(|(what, result)| result.err().map(|errno| format!("{what} ({errno})"))).collect();
    if refused.is_empty() { Ok(()) } else { Err(refused.join(", ")) }
}

/// The last one: interrupts and daemons like the first.
fn pin_to_last_cpu() -> Result<(), Errno> {
    let this_thread = Pid::from_raw(0);
    let allowed = sched_getaffinity(this_thread)?;
    let last = (0..CpuSet::count()).rev().find(|&cpu| allowed.is_set(cpu).unwrap_or(false)).ok_or(Errno::EINVAL)?;
    let mut one = CpuSet::new();
    one.set(last)?;
    sched_setaffinity(this_thread, &one)
}

fn schedule_first() -> Result<(), Errno> {
    let parameters = libc::sched_param { sched_priority: PRIORITY };
    // SAFETY: the parameters outlive the call; 0 is the calling thread.
    Errno::result(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) }).map(drop)
}
