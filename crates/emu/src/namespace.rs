//! Unnamed network namespaces: the kernel frees such a namespace when no descriptor, process or socket refers to it.

use crate::EmuError;
use fairweir_units::During;
use nix::sched::{CloneFlags, setns, unshare};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::{fs, thread};

/// A network namespace that this process owns and that has no entry in the file system.
#[derive(Debug)]
pub struct Namespace {
    fd: OwnedFd,
}

impl Namespace {
    /// Creates a namespace and activates its loopback device.
    ///
    /// # Errors
    /// If the kernel refuses (creation requires CAP_SYS_ADMIN).
    pub fn new() -> Result<Namespace, EmuError> {
        let fd = on_own_thread(|| {
            unshare(CloneFlags::CLONE_NEWNET).during(|| "create a network namespace".into())?;
            Ok(File::open("/proc/thread-self/ns/net").during(|| "open the new network namespace".into())?)
        })?;
        let namespace = Namespace { fd: fd.into() };
        namespace.enter(|| crate::netlink::Netlink::open()?.set_up("lo"))??;
        Ok(namespace)
    }

    /// Runs `work` on a new thread inside the namespace. Sockets that `work` opens belong to the namespace.
    ///
    /// # Errors
    /// If the namespace cannot be entered.
    ///
    /// # Panics
    /// If `work` panics.
    pub fn enter<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, EmuError> {
        on_own_thread(|| {
            self.join()?;
            Ok(work())
        })
    }

    /// Moves the calling thread into the namespace, permanently.
    ///
    /// # Errors
    /// If the namespace cannot be entered.
    pub fn join(&self) -> Result<(), EmuError> {
        Ok(setns(&self.fd, CloneFlags::CLONE_NEWNET).during(|| "enter a network namespace".into())?)
    }

    /// Sets the `net.` sysctl `key`, such as `ipv4/tcp_sack`.
    ///
    /// # Errors
    /// If the kernel has no such key or rejects the value.
    pub fn set_sysctl(&self, key: &str, value: &str) -> Result<(), EmuError> {
        let path = Path::new("/proc/sys/net").join(key);
        let written = self.enter(|| fs::write(&path, value))?;
        Ok(written.during(|| format!("write `{value}` to {}", path.display()))?)
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Runs `work` on a new thread that exits afterwards, so that no other work runs in a namespace that `work` joins.
fn on_own_thread<T: Send>(work: impl FnOnce() -> Result<T, EmuError> + Send) -> Result<T, EmuError> {
    thread::scope(|scope| match scope.spawn(work).join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}
