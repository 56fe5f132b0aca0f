//! Real-time scheduling and CPU placement of a thread.

use nix::errno::Errno;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::mman::{MlockAllFlags, mlockall};
use nix::sys::prctl::set_timerslack;
use nix::unistd::Pid;
use std::fs::File;
use std::io::Write as _;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

/// Priority above all normal threads and below other real-time threads. Without it, the 99th percentile of the
/// emulator's lateness is a hundred times as large.
const PRIORITY: libc::c_int = 10;
/// Timer slack of the thread, ns; with the kernel's default, timers may fire 50 µs late.
const TIMER_SLACK_NS: u64 = 1;

/// The CPU on which an emulator runs.
#[derive(Clone, Copy, Debug)]
pub struct EmulatorCpu {
    cpu: usize,
    /// CPUs that this process may use.
    allowed: CpuSet,
}

impl EmulatorCpu {
    /// Moves the calling thread, and the threads that it starts later, off the emulator's CPU, if there is another CPU.
    ///
    /// If the system refuses, the run continues with less accuracy, and the release error shows the effect.
    pub fn avoid(&self) {
        if let Some(others) = self.others() {
            let _ = sched_setaffinity(this_thread(), &others);
        }
    }

    /// Returns the other CPUs that this process may use, if any.
    pub(crate) fn others(&self) -> Option<CpuSet> {
        let mut others = self.allowed;
        others.unset(self.cpu).ok()?;
        (0..CpuSet::count()).any(|cpu| others.is_set(cpu) == Ok(true)).then_some(others)
    }
}

/// CPU placement of a real-time thread.
#[derive(Debug)]
pub(crate) struct Placement {
    pub(crate) cpu: EmulatorCpu,
    /// Reserves the CPU against other emulators on this machine; `None` if all CPUs are reserved.
    _claim: Option<UnixListener>,
    /// While this file is open, no CPU enters deep sleep; `None` if the system does not support this.
    _wakefulness: Option<File>,
}

impl Placement {
    /// Chooses the last CPU that no other emulator has reserved, because interrupts and daemons tend to use the first
    /// CPUs. If all CPUs are reserved, chooses the last one.
    ///
    /// # Errors
    /// If the set of CPUs cannot be read.
    pub(crate) fn find() -> Result<Placement, Errno> {
        let allowed = sched_getaffinity(this_thread())?;
        let cpus: Vec<usize> = (0..CpuSet::count()).rev().filter(|&cpu| allowed.is_set(cpu) == Ok(true)).collect();
        let claimed = cpus.iter().find_map(|&cpu| Some((cpu, claim(cpu)?)));
        let (cpu, claim) = match claimed {
            Some((cpu, claim)) => (cpu, Some(claim)),
            None => (*cpus.first().ok_or(Errno::EINVAL)?, None),
        };
        Ok(Placement { cpu: EmulatorCpu { cpu, allowed }, _claim: claim, _wakefulness: stay_awake().ok() })
    }

    /// Pins the calling thread to the CPU, gives it real-time priority and locks its memory. Returns what the system
    /// did not grant, or an empty text.
    pub(crate) fn take(&self) -> String {
        let steps = [
            ("pin it to a CPU", self.pin()),
            ("shorten its timer slack", set_timerslack(TIMER_SLACK_NS)),
            // Lock only current memory: locking future memory can make other threads' allocations fail.
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

/// Binds an abstract socket address, which reserves the CPU until the socket is dropped or the process ends.
fn claim(cpu: usize) -> Option<UnixListener> {
    let name = SocketAddr::from_abstract_name(format!("fairweir-emulator-on-cpu-{cpu}")).ok()?;
    UnixListener::bind_addr(&name).ok()
}

/// Requests, by the kernel's PM QoS, that CPUs wake up without delay: waking up from deep sleep takes tens of
/// microseconds, and in virtual machines from any sleep. The request applies while the file is open.
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
    fn a_thread_that_avoids_the_emulators_cpu_runs_on_the_others() {
        let placement = Placement::find().unwrap();
        std::thread::spawn(move || {
            let has_others = |cpus: &CpuSet| {
                (0..CpuSet::count()).any(|cpu| cpu != placement.cpu.cpu && cpus.is_set(cpu) == Ok(true))
            };
            let is_alone = !has_others(&placement.cpu.allowed);
            placement.cpu.avoid();
            let cpus = sched_getaffinity(this_thread()).unwrap();
            // The machine may have only one CPU.
            assert_eq!((cpus.is_set(placement.cpu.cpu), has_others(&cpus)), (Ok(is_alone), !is_alone));
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_cpu_has_one_emulator_at_a_time() {
        // No machine has this CPU, so no emulator competes for its reservation.
        let cpu = 1_000_000;
        let first = claim(cpu);
        assert!(first.is_some());
        assert!(claim(cpu).is_none());
        drop(first);
        assert!(claim(cpu).is_some());
    }
}
