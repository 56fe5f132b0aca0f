//! Makes a thread punctual.

use nix::errno::Errno;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::mman::{MlockAllFlags, mlockall};
use nix::sys::prctl::set_timerslack;
use nix::unistd::Pid;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

/// Above everything normal, below what else may be real-time. It is this that makes the emulator punctual: without it
/// the 99th percentile of its lateness is a hundred times as long.
const PRIORITY: libc::c_int = 10;
/// ns; the default lets timers be 50 µs late.
const TIMER_SLACK_NS: u64 = 1;

/// A punctual thread's place.
#[derive(Debug)]
pub(crate) struct Post {
    /// Its CPU, claimed among all emulators of this machine; `None` if they are all taken.
    _claim: Option<UnixListener>,
    /// What the system did not grant; empty if it granted all.
    pub(crate) not_granted: String,
}

/// Lets the calling thread run as soon as it wants to, on a CPU that no other emulator has, its memory kept in place.
pub(crate) fn make_punctual() -> Post {
    let (claim, pinned) = match take_a_cpu() {
        Ok(claim) => (claim, Ok(())),
        Err(errno) => (None, Err(errno)),
    };
    let steps = [
        ("pin it to a CPU", pinned),
        ("shorten its timer slack", set_timerslack(TIMER_SLACK_NS)),
        // Only what is there: locking all that is to come can make other threads' allocations fail.
        ("lock its memory", mlockall(MlockAllFlags::MCL_CURRENT)),
        ("run it with SCHED_FIFO", schedule_first()),
    ];
    let refused: Vec<String> =
        steps.into_iter().filter_map(|(what, result)| result.err().map(|errno| format!("{what} ({errno})"))).collect();
    Post { _claim: claim, not_granted: refused.join(", ") }
}

/// Pins the calling thread to the last CPU that no other emulator has claimed: interrupts and daemons like the first
/// ones. If all are claimed, the last one has to do.
fn take_a_cpu() -> Result<Option<UnixListener>, Errno> {
    let this_thread = Pid::from_raw(0);
    let allowed = sched_getaffinity(this_thread)?;
    let cpus: Vec<usize> = (0..CpuSet::count()).rev().filter(|&cpu| allowed.is_set(cpu).unwrap_or(false)).collect();
    let claimed = cpus.iter().find_map(|&cpu| Some((cpu, claim(cpu)?)));
    let (cpu, claim) = match claimed {
        Some((cpu, claim)) => (cpu, Some(claim)),
        None => (*cpus.first().ok_or(Errno::EINVAL)?, None),
    };
    let mut one = CpuSet::new();
    one.set(cpu)?;
    sched_setaffinity(this_thread, &one)?;
    Ok(claim)
}

/// An address without a file: whoever binds it has the CPU, until the process ends or gives it back.
fn claim(cpu: usize) -> Option<UnixListener> {
    let name = SocketAddr::from_abstract_name(format!("fairweir-emulator-on-cpu-{cpu}")).ok()?;
    UnixListener::bind_addr(&name).ok()
}

fn schedule_first() -> Result<(), Errno> {
    let parameters = libc::sched_param { sched_priority: PRIORITY };
    // SAFETY: the parameters outlive the call; 0 is the calling thread.
    Errno::result(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) }).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_has_one_emulator_at_a_time() {
        // No machine has this CPU, so no emulator competes for it.
        let cpu = 1_000_000;
        let first = claim(cpu);
        assert!(first.is_some());
        assert!(claim(cpu).is_none());
        drop(first);
        assert!(claim(cpu).is_some());
    }
}
