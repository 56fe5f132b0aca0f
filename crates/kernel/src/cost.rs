//! Cost of BPF programs, from the kernel's run-time statistics.

use crate::error::KernelError;
use libbpf_rs::libbpf_sys::{BPF_STATS_RUN_TIME, bpf_enable_stats, bpf_obj_get_info_by_fd, bpf_prog_info};
use serde::Serialize;
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Number of calls of a program and their total run time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cost {
    /// Number of calls.
    pub calls: u64,
    /// Total run time, ns. It includes two readings of the clock per call (20 to 40 ns).
    pub ns: u64,
}

/// While this value exists, the kernel measures the run time of every BPF program.
#[derive(Debug)]
pub struct Measuring(#[allow(dead_code)] OwnedFd);

/// Starts measuring the run time of all BPF programs of the system.
///
/// # Errors
/// If the process lacks the privilege (root).
pub fn measure() -> Result<Measuring, KernelError> {
    // SAFETY: the call takes no pointers; it returns a descriptor that this process owns.
    let fd = unsafe { bpf_enable_stats(BPF_STATS_RUN_TIME) };
    if fd < 0 {
        return Err(KernelError::io("run-time statistics of BPF programs")(io::Error::from_raw_os_error(-fd)));
    }
    // SAFETY: the kernel has just created this descriptor, and nothing else owns it.
    Ok(Measuring(unsafe { OwnedFd::from_raw_fd(fd) }))
}

/// Returns the cost of one program.
pub(crate) fn of(program: BorrowedFd<'_>) -> Result<Cost, KernelError> {
    // SAFETY: the struct consists of integers and of pointers that may be null, so zeros are valid.
    let mut info: bpf_prog_info = unsafe { zeroed() };
    let mut length = size_of::<bpf_prog_info>() as u32;
    // SAFETY: the struct is local, and `length` is its size.
    let failed = unsafe { bpf_obj_get_info_by_fd(program.as_raw_fd(), (&raw mut info).cast(), &mut length) };
    if failed != 0 {
        return Err(KernelError::io("statistics of a BPF program")(io::Error::from_raw_os_error(-failed)));
    }
    Ok(Cost { calls: info.run_cnt, ns: info.run_time_ns })
}
