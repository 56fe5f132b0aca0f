//! The processes that own this host's TCP sockets, found by `bpf/guard/owners.bpf.c`, which iterates over open files.

use crate::error::{GuardError, bpf};
use crate::record;
use crate::skeleton::owners::types::guard_owner;
use crate::skeleton::owners::{OwnersSkel, OwnersSkelBuilder};
use crate::skeleton::{self, Plain};
use fairweir_guard::FlowKey;
use fairweir_units::During;
use libbpf_rs::{Iter, Link};
use std::collections::HashMap;
use std::fmt;
use std::io::Read;
use std::sync::Arc;

/// A process that owns a socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) pid: u32,
    /// The process's name, at most 15 bytes.
    pub(crate) process: Arc<str>,
    /// Path in the cgroup version 2 hierarchy, such as `/system.slice/x.service`.
    pub(crate) cgroup: Arc<str>,
}

/// The BPF program that lists the owners.
pub struct Owners {
    link: Link,
    _skeleton: OwnersSkel<'static>,
}

impl fmt::Debug for Owners {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Owners").field("link", &self.link).finish_non_exhaustive()
    }
}

impl Owners {
    /// Loads the program.
    ///
    /// # Errors
    /// If the kernel rejects the program.
    pub fn load() -> Result<Owners, GuardError> {
        let what = || "load the program that finds the processes of flows".to_owned();
        let skeleton = skeleton::load(OwnersSkelBuilder::default(), |_| ()).during(what)?;
        let link = skeleton.progs.guard_owners.attach().map_err(bpf).during(what)?;
        Ok(Owners { link, _skeleton: skeleton })
    }

    /// Returns the owners of all TCP connections of the process's network namespace, by flow without a VLAN. If several
    /// processes share a socket, the owner is the one with the lowest process ID.
    ///
    /// # Errors
    /// If the kernel refuses the read.
    pub(crate) fn read(&self) -> Result<HashMap<FlowKey, Owner>, GuardError> {
        let what = || "look for the processes of flows".to_owned();
        let mut bytes = Vec::new();
        Iter::new(&self.link).map_err(bpf).during(what)?.read_to_end(&mut bytes).during(what)?;
        Ok(owners(&bytes))
    }
}

/// Parses all records, up to the first invalid one.
fn owners(mut bytes: &[u8]) -> HashMap<FlowKey, Owner> {
    let mut owners = HashMap::new();
    while let Some((flow, owner, rest)) = owner(bytes) {
        owners.entry(flow).or_insert(owner);
        bytes = rest;
    }
    owners
}

/// Parses a `struct guard_owner`, which the names of control groups follow, from the process's own group upwards, with
/// an empty name as the end.
fn owner(bytes: &[u8]) -> Option<(FlowKey, Owner, &[u8])> {
    let record = guard_owner::read(bytes)?;
    let mut rest = bytes.get(size_of::<guard_owner>()..)?;
    let mut names = Vec::new();
    loop {
        let end = rest.iter().position(|&byte| byte == 0)?;
        let name = &rest[..end];
        rest = &rest[end + 1..];
        if name.is_empty() {
            break;
        }
        names.push(readable(name));
    }
    names.reverse();
    let owner = Owner {
        pid: record.pid,
        process: readable(record.comm.map(i8::cast_unsigned).split(|&byte| byte == 0).next()?).into(),
        cgroup: format!("/{}", names.join("/")).into(),
    };
    let flow = record.flow;
    Some((record::key(flow.local, flow.remote, [flow.local_port, flow.remote_port], flow.vlan), owner, rest))
}

/// Replaces control characters by `?`, because a process can put terminal sequences into its name.
fn readable(name: &[u8]) -> String {
    String::from_utf8_lossy(name).chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skeleton::owners::types::guard_flow;
    use proptest::prelude::*;

    fn key() -> FlowKey {
        FlowKey::new("10.0.0.1:5001".parse().unwrap(), "192.0.2.7:443".parse().unwrap(), 0)
    }

    fn a_record(pid: u32, comm: &[u8], names: &[&str]) -> Vec<u8> {
        let of = record::flow(&key());
        let flow = guard_flow {
            local: of.local,
            remote: of.remote,
            local_port: of.local_port,
            remote_port: of.remote_port,
            vlan: of.vlan,
        };
        let comm = std::array::from_fn(|at| comm.get(at).copied().unwrap_or(0).cast_signed());
        let mut bytes = guard_owner { flow, pid, comm, unused: 0 }.bytes().to_vec();
        names.iter().chain(&[""]).for_each(|name| bytes.extend(name.bytes().chain([0])));
        bytes
    }

    #[test]
    fn the_first_owner_counts_and_names_are_harmless() {
        let mut bytes = a_record(7, b"a\x1b[2Jb", &["x.service", "system.slice"]);
        bytes.extend(a_record(9, b"other", &[]));
        let owner = Owner { pid: 7, process: "a?[2Jb".into(), cgroup: "/system.slice/x.service".into() };
        assert_eq!(owners(&bytes), HashMap::from([(key(), owner)]));
        assert_eq!(&*owners(&a_record(9, b"sixteen_bytes_xx", &[]))[&key()].process, "sixteen_bytes_xx");
        assert_eq!(&*owners(&a_record(9, b"", &[]))[&key()].cgroup, "/");
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_odd(bytes in proptest::collection::vec(prop_oneof![Just(0u8), any::<u8>()], 0..400)) {
            prop_assert!(owners(&bytes).len() <= bytes.len() / size_of::<guard_owner>());
        }

        #[test]
        fn a_truncated_record_is_omitted(cut in 0usize..80) {
            let bytes = a_record(7, b"a", &["x.service"]);
            prop_assert_eq!(owners(&bytes[..cut.min(bytes.len())]).len(), usize::from(cut >= bytes.len()));
        }
    }
}
