//! Makes a thread punctual.

use nix::errno::Errno;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::mman::{MlockAllFlags, mlockall};
use nix::sys::prctl::set_timerslack;
use nix::unistd::Pid;
use std::fs::File;
use std::io::Write as _;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

/// Above everything normal, below what else may be real-time. It is this that makes the emulator punctual: without it
/// the 99th percentile of its lateness is a hundred times as long.
const PRIORITY: libc::c_int = 10;
/// ns; the default lets timers be 50 µs late.
const TIMER_SLACK_NS: u64 = 1;

/// The CPU of an emulator.
#[derive(Clone, Copy, Debug)]
pub struct EmulatorCpu {
    cpu: usize,
    /// Those that this process may use.
    allowed: CpuSet,
}

impl EmulatorCpu {
    /// Keeps the calling thread, and those that it starts, off the emulator's CPU, if there is another.
    ///
    /// Only precision is lost where the system refuses that, and the release error shows it.
    pub fn avoid(&self) {
        if let Some(others) = self.others() {
            let _ = sched_setaffinity(this_thread(), &others);
        }
    }

    /// The other CPUs that this process may use, if there are any.
    pub(crate) fn others(&self) -> Option<CpuSet> {
        let mut others = self.allowed;
        others.unset(self.cpu).ok()?;
        (0..CpuSet::count()).any(|cpu| others.is_set(cpu) == Ok(true)).then_some(others)
    }
}

/// A punctual thread's place.
#[derive(Debug)]
pub(crate) struct Post {
    pub(crate) cpu: EmulatorCpu,
    /// It has the CPU for itself among all emulators of this machine; `None` if they are all taken.
    _claim: Option<UnixListener>,
    /// While it is open no CPU sleeps deeply; `None` where the system does not offer that.
    _wakefulness: Option<File>,
}

impl Post {
    /// The last CPU that no other emulator has claimed: interrupts and daemons like the first ones. If all are claimed,
    /// the last one has to do.
    ///
    /// # Errors
    /// If the system does not tell what CPUs there are.
    pub(crate) fn find() -> Result<Post, Errno> {
        let allowed = sched_getaffinity(this_thread())?;
        let cpus: Vec<usize> = (0..CpuSet::count()).rev().filter(|&cpu| allowed.is_set(cpu) == Ok(true)).collect();
        let claimed = cpus.iter().find_map(|&cpu| Some((cpu, claim(cpu)?)));
        let (cpu, claim) = match claimed {
            Some((cpu, claim)) => (cpu, Some(claim)),
            None => (*cpus.first().ok_or(Errno::EINVAL)?, None),
        };
        Ok(Post { cpu: EmulatorCpu { cpu, allowed }, _claim: claim, _wakefulness: stay_awake().ok() })
    }

    /// Lets the calling thread run here as soon as it wants to, its memory kept in place; what the system does not
    /// grant, or nothing.
    pub(crate) fn take(&self) -> String {
        let steps = [
            ("pin it to a CPU", self.pin()),
            ("shorten its timer slack", set_timerslack(TIMER_SLACK_NS)),
            // Only what is there: locking all that is to come can make other threads' allocations fail.
            ("lock its memory", mlockall(MlockAllFlags::MCL_CURRENT)),
            ("run it with SCHED_FIFO", schedule_first()),
        ];
        let refused =
            steps.into_iter().filter_map(|(what, result)| result.err().map(|errno| format!("{what} ({errno})")));
        refused.collect::<Vec<_>>().join(", ")
    }

    fn pin(&self) -> Result<(), Errno> {
        let mut one = CpuSet::new();
        one.set(self.cpu.cpu)?;
        sched_setaffinity(this_thread(), &one)
    }
}

fn this_thread() -> Pid {
    Pid::from_raw(0)
}

/// An address without a file: whoever binds it has the CPU, until the process ends or gives it back.
fn claim(cpu: usize) -> Option<UnixListener> {
    let name = SocketAddr::from_abstract_name(format!("fairweir-emulator-on-cpu-{cpu}")).ok()?;
    UnixListener::bind_addr(&name).ok()
}

/// Asks for CPUs that wake at once (the kernel's PM QoS): from deep sleep, and in virtual machines from any, it takes them
/// tens of microseconds. It holds as long as the file is open.
fn stay_awake() -> std::io::Result<File> {
    const WAKE_LATENCY_US: i32 = 0;
    let mut file = File::options().write(true).open("/dev/cpu_dma_latency")?;
    file.write_all(&WAKE_LATENCY_US.to_ne_bytes())?;
    Ok(file)
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
    fn who_avoids_the_emulators_cpu_runs_on_the_others() {
        let post = Post::find().unwrap();
        std::thread::spawn(move || {
            let has_others =
                |cpus: &CpuSet| (0..CpuSet::count()).any(|cpu| cpu != post.cpu.cpu && cpus.is_set(cpu) == Ok(true));
            let is_alone = !has_others(&post.cpu.allowed);
            post.cpu.avoid();
            let cpus = sched_getaffinity(this_thread()).unwrap();
            // On a machine with one CPU there is nowhere else to go.
            assert_eq!((cpus.is_set(post.cpu.cpu), has_others(&cpus)), (Ok(is_alone), !is_alone));
        })
        .join()
        .unwrap();
    }

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
