//! Signals that end the guard or reload its configuration; the loop polls them.

use crate::error::GuardError;
use fairweir_units::During;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use std::os::fd::{AsFd, BorrowedFd};

/// A request made by a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// SIGINT: Ctrl-C.
    Interrupt,
    /// SIGTERM: the service manager stops the guard.
    Terminate,
    /// SIGHUP: read the configuration again.
    Reload,
}

#[derive(Debug)]
pub(crate) struct Signals(SignalFd);

impl Signals {
    /// Blocks the signals for this thread and for threads started later.
    pub(crate) fn block() -> Result<Signals, GuardError> {
        let mut set = SigSet::empty();
        [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP].into_iter().for_each(|signal| set.add(signal));
        Ok(set
            .thread_block()
            .and_then(|()| SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC))
            .map(Signals)
            .during(|| "block signals".into())?)
    }

    pub(crate) fn next(&self) -> Option<Request> {
        let info = self.0.read_signal().ok().flatten()?;
        Some(match Signal::try_from(info.ssi_signo as i32) {
            Ok(Signal::SIGHUP) => Request::Reload,
            Ok(Signal::SIGTERM) => Request::Terminate,
            _ => Request::Interrupt,
        })
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
