//! Attachment of programs to a device: as tcx links if the kernel supports them (since 6.6), otherwise as clsact
//! filters.
//!
//! The kernel removes a link when its descriptor is closed, so a link never outlives the process. A filter remains
//! after `kill -9`; the next guard at the device, or [`sweep`], removes it.

use crate::error::{GuardError, bpf};
use fairweir_kernel::libbpf;
use fairweir_tcp::Direction;
use fairweir_units::During;
use libbpf_rs::libbpf_sys::{BPF_TCX_EGRESS, BPF_TCX_INGRESS, bpf_link_create};
use libbpf_rs::{ErrorKind, TC_EGRESS, TC_INGRESS, TcAttachPoint, TcHook, TcHookBuilder};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Identifies this guard's filters at a device: `tc filter show dev IF ingress` shows the handle.
const HANDLE: u32 = 0xfa12;
const PRIORITY: u32 = 0xfa12;

fn attach_type(direction: Direction) -> u32 {
    match direction {
        Direction::Incoming => BPF_TCX_INGRESS,
        Direction::Outgoing => BPF_TCX_EGRESS,
    }
}

fn attach_point(direction: Direction) -> TcAttachPoint {
    match direction {
        Direction::Incoming => TC_INGRESS,
        Direction::Outgoing => TC_EGRESS,
    }
}

/// A program that is attached to a device until the value is dropped.
#[derive(Debug)]
pub(crate) enum Hook {
    Link { _link: OwnedFd },
    Filter(TcHook),
}

/// How programs are attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attachment {
    /// As links if the kernel supports them, otherwise as filters.
    Best,
    /// As filters, the only way before Linux 6.6.
    Filter,
}

impl Hook {
    /// Attaches `program`.
    pub(crate) fn attach(
        program: BorrowedFd<'_>,
        device: u32,
        direction: Direction,
        attachment: Attachment,
    ) -> Result<Hook, GuardError> {
        if attachment == Attachment::Best
            && let Some(link) = Hook::link(program, device, direction)?
        {
            return Ok(link);
        }
        Ok(filter(program, device, direction).map_err(bpf).during(|| format!("attach a filter to {direction:?}"))?)
    }

    /// Attaches `program` by a link; returns `None` if the kernel does not support links for devices.
    pub(crate) fn link(program: BorrowedFd<'_>, device: u32, direction: Direction) -> Result<Option<Hook>, GuardError> {
        // SAFETY: all arguments are numbers, and no options are given.
        let fd =
            unsafe { bpf_link_create(program.as_raw_fd(), device as i32, attach_type(direction), std::ptr::null()) };
        if fd >= 0 {
            // SAFETY: the kernel has just created this descriptor, and nothing else owns it.
            return Ok(Some(Hook::Link { _link: unsafe { OwnedFd::from_raw_fd(fd) } }));
        }
        let error = io::Error::from_raw_os_error(-fd);
        if error.kind() == io::ErrorKind::InvalidInput {
            Ok(None)
        } else {
            Ok(Err(error).during(|| format!("attach to {direction:?}"))?)
        }
    }

    /// Returns whether the attachment ends with the process, even if the process is killed.
    pub(crate) fn is_link(&self) -> bool {
        matches!(self, Hook::Link { .. })
    }
}

impl Drop for Hook {
    fn drop(&mut self) {
        if let Hook::Filter(hook) = self {
            // An error is ignored: the device may be gone, and its filters with it.
            let _ = hook.detach();
        }
    }
}

fn filter(program: BorrowedFd<'_>, device: u32, direction: Direction) -> libbpf_rs::Result<Hook> {
    let mut hook = at(program, device, direction);
    hook.create()?;
    hook.replace(true).attach().map(Hook::Filter)
}

fn at(program: BorrowedFd<'_>, device: u32, direction: Direction) -> TcHook {
    TcHookBuilder::new(program).ifindex(device as i32).handle(HANDLE).priority(PRIORITY).hook(attach_point(direction))
}

/// Removes the filters that a killed guard left at the device; returns their number.
pub fn sweep(device: u32) -> usize {
    // SAFETY: the descriptor is never used: neither query nor detach uses the program.
    let nothing = unsafe { BorrowedFd::borrow_raw(0) };
    let is_swept = |&direction: &Direction| {
        let mut hook = at(nothing, device, direction);
        hook.query().is_ok() && !matches!(hook.detach(), Err(e) if e.kind() != ErrorKind::NotFound)
    };
    // Suppress libbpf's message that there is no filter.
    libbpf::listening(|| {
        [Direction::Incoming, Direction::Outgoing].iter().filter(|direction| is_swept(direction)).count()
    })
    .0
}
