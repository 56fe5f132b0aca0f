//! Waiting for sockets with a timeout of sub-millisecond resolution.

use fairweir_units::Dur;
use nix::sys::epoll::{Epoll, EpollEvent};
use std::io;
use std::os::fd::AsRawFd;

/// Waits until a socket is ready or `timeout` has passed; returns the number of events written to `events`.
///
/// # Errors
/// If the system call fails. An interruption by a signal is not an error; it returns no events.
pub(super) fn wait(epoll: &Epoll, events: &mut [EpollEvent], timeout: Dur) -> io::Result<usize> {
    let timeout = libc::timespec {
        tv_sec: (timeout.as_nanos() / 1_000_000_000) as libc::time_t,
        tv_nsec: (timeout.as_nanos() % 1_000_000_000) as libc::c_long,
    };
    // SAFETY: `EpollEvent` is a transparent `epoll_event`; the kernel writes at most `events.len()` elements.
    let count = unsafe {
        libc::syscall(
            libc::SYS_epoll_pwait2,
            epoll.0.as_raw_fd(),
            events.as_mut_ptr().cast::<libc::epoll_event>(),
            events.len() as libc::c_int,
            &raw const timeout,
            std::ptr::null::<libc::sigset_t>(),
            0usize,
        )
    };
    match usize::try_from(count) {
        Ok(count) => Ok(count),
        Err(_) => match io::Error::last_os_error() {
            e if e.kind() == io::ErrorKind::Interrupted => Ok(0),
            e => Err(e),
        },
    }
}
