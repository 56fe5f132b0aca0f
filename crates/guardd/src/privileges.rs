//! Drops the privileges of the process once its programs and links are set up. Almost none remain, although root
//! started it.
//!
//! Since Linux 5.19, using a map or an iterator requires only its descriptor, and a link ends when its descriptor is
//! closed; the guard's objects load on 6.1 and later. Only filters, which are used before 6.6, are removed by netlink,
//! which requires CAP_NET_ADMIN.

use crate::error::GuardError;
use caps::errors::CapsError;
use caps::{CapSet, Capability, CapsHashSet};
use fairweir_units::During;
use nix::sys::prctl;
use std::io;

/// Operations that must remain possible after the drop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Remaining {
    /// No privileged operation: only reading and writing open files, and other files as an unprivileged user.
    Nothing,
    /// Removing filters from a device.
    Filters,
}

impl Remaining {
    fn capabilities(self) -> CapsHashSet {
        match self {
            Remaining::Nothing => CapsHashSet::new(),
            Remaining::Filters => [Capability::CAP_NET_ADMIN].into(),
        }
    }
}

/// Capabilities needed at the start, to load programs that read sockets and to attach them to a device.
const NEEDED: [Capability; 3] = [Capability::CAP_BPF, Capability::CAP_PERFMON, Capability::CAP_NET_ADMIN];

/// Returns an error that names the missing capabilities, in place of the kernel's long message.
pub(crate) fn check() -> Result<(), GuardError> {
    // If the capabilities cannot be read, the kernel reports what is missing.
    let Ok(there) = caps::read(None, CapSet::Effective) else { return Ok(()) };
    let missing: Vec<String> =
        NEEDED.iter().filter(|needed| !there.contains(needed)).map(Capability::to_string).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(GuardError::refused(
        format!("the guard needs {}, which this process lacks", missing.join(", ")),
        "start it as root, or as a service: packaging/fairweir-guard@.service; it drops these privileges after start-up",
    ))
}

/// Drops all capabilities except the remaining ones, for this thread and the threads that it starts. Executing a
/// program cannot regain them.
pub(crate) fn drop_all_but(remaining: Remaining) -> Result<(), GuardError> {
    let what = || "give up capabilities".to_owned();
    prctl::set_no_new_privs().during(what)?;
    Ok(drop_sets(&remaining.capabilities()).map_err(|e| io::Error::other(e.to_string())).during(what)?)
}

fn drop_sets(kept: &CapsHashSet) -> Result<(), CapsError> {
    caps::clear(None, CapSet::Ambient)?;
    // Clear the bounding set. Without CAP_SETPCAP this is impossible, but no_new_privs has the same effect.
    if caps::has_cap(None, CapSet::Effective, Capability::CAP_SETPCAP)? {
        caps::clear(None, CapSet::Bounding)?;
    }
    caps::clear(None, CapSet::Inheritable)?;
    // Only capabilities that the process has can remain.
    let permitted = caps::read(None, CapSet::Permitted)?;
    let kept = permitted.intersection(kept).copied().collect();
    caps::set(None, CapSet::Effective, &kept)?;
    caps::set(None, CapSet::Permitted, &kept)
}
