//! Cost of BPF programs: the kernel's run-time statistics.

use crate::error::KernelError;
use libbpf_rs::libbpf_sys::{BPF_STATS_RUN_TIME, bpf_enable_stats, bpf_obj_get_info_by_fd, bpf_prog_info};
use serde::Serialize;
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Calls of a program, and the time that they took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cost {
    /// Calls.
    pub calls: u64,
    /// Time spent in them, ns. The two readings of the clock around each call are part of it (20 to 40 ns).
    pub ns: u64,
}

/// While the value lives, the kernel takes the time of every BPF program that runs.
#[derive(Debug)]
pub struct Measuring(#[allow(dead_code)] OwnedFd);

/// Starts to take the time of BPF programs, in the whole system.
///
/// # Errors
/// Without the right to (root).
pub fn measure() -> Result<Measuring, KernelError> {
    // SAFETY: no pointers; a descriptor that is ours is returned.
    let fd = unsafe { bpf_enable_stats(BPF_STATS_RUN_TIME) };
    if fd < 0 {
        return Err(KernelError::io("run-time statistics of BPF programs")(io::Error::from_raw_os_error(-fd)));
    }
    // SAFETY: as above.
    Ok(Measuring(unsafe { OwnedFd::from_raw_fd(fd) }))
}

/// Returns the cost of one program.
pub(crate) fn of(program: BorrowedFd<'_>) -> Result<Cost, KernelError> {
    // SAFETY: a struct of numbers and of pointers that may be null.
    let mut info: bpf_prog_info = unsafe { zeroed() };
    let mut length = size_of::<bpf_prog_info>() as u32;
    // SAFETY: the struct is ours, and of the length that is given.
    let failed = unsafe { bpf_obj_get_info_by_fd(program.as_raw_fd(), (&raw mut info).cast(), &mut length) };
    if failed != 0 {
        return Err(KernelError::io("statistics of a BPF program")(io::Error::from_raw_os_error(-failed)));
    }
    Ok(Cost { calls: info.run_cnt, ns: info.run_time_ns })
}
