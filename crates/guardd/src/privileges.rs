//! Privileges of the process after its programs and links are set up: almost none, though it was started by root.
//!
//! Since Linux 5.19 a map or an iterator requires only its descriptor, and links end with theirs; objects load on 6.1
//! and later. Only filters, which are used before 6.6, are removed by netlink, and that takes CAP_NET_ADMIN.

use crate::error::GuardError;
use caps::errors::CapsError;
use caps::{CapSet, Capability, CapsHashSet};
use fairweir_units::During;
use nix::sys::prctl;
use std::io;

/// Operations that must remain possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Remaining {
    /// Reading and writing files that are already open, and other files as an unprivileged user.
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

/// Capabilities needed at the start: programs that read sockets, and their attachment to a device.
const NEEDED: [Capability; 3] = [Capability::CAP_BPF, Capability::CAP_PERFMON, Capability::CAP_NET_ADMIN];

/// Returns an error that names missing capabilities, before the kernel reports them in a long message.
pub(crate) fn check() -> Result<(), GuardError> {
    // If that cannot be read, the kernel reports missing rights.
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

/// Drops all capabilities of this thread, and of those that it starts, except the remaining ones; they cannot be
/// regained by executing a program.
pub(crate) fn drop_all_but(remaining: Remaining) -> Result<(), GuardError> {
    let what = || "give up capabilities".to_owned();
    prctl::set_no_new_privs().during(what)?;
    Ok(drop_sets(&remaining.capabilities()).map_err(|e| io::Error::other(e.to_string())).during(what)?)
}

fn drop_sets(kept: &CapsHashSet) -> Result<(), CapsError> {
    caps::clear(None, CapSet::Ambient)?;
    // The bounding set; without CAP_SETPCAP it stays, and no_new_privs has the same effect.
    if caps::has_cap(None, CapSet::Effective, Capability::CAP_SETPCAP)? {
        caps::clear(None, CapSet::Bounding)?;
    }
    caps::clear(None, CapSet::Inheritable)?;
    // Never more than there were.
    let permitted = caps::read(None, CapSet::Permitted)?;
    let kept = permitted.intersection(kept).copied().collect();
    caps::set(None, CapSet::Effective, &kept)?;
    caps::set(None, CapSet::Permitted, &kept)
}
