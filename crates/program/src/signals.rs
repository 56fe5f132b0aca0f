//! SIGINT, SIGTERM and SIGHUP, blocked and polled.

use crate::Refusal;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

/// SIGINT, SIGTERM and SIGHUP, blocked and polled.
#[derive(Debug)]
pub struct Signals(SignalFd);

impl Signals {
    /// Blocks the signals; threads started later inherit the mask.
    ///
    /// # Errors
    /// If the system refuses it.
    pub fn block() -> Result<Signals, Refusal> {
        let mut set = SigSet::empty();
        [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP].into_iter().for_each(|signal| set.add(signal));
        set.thread_block()
            .and_then(|()| SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC))
            .map(Signals)
            .map_err(|e| Refusal::new(format!("block signals: {e}")))
    }

    /// Whether one has come since the last call.
    pub fn has_come(&self) -> bool {
        matches!(self.0.read_signal(), Ok(Some(_)))
    }
}
