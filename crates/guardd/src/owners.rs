//! The processes that own this host's TCP sockets: `bpf/guard/owners.bpf.c` iterates over open files.

use crate::error::{During, GuardError, bpf};
use crate::record;
use fairweir_guard::FlowKey;
use fairweir_kernel::libbpf;
use libbpf_rs::{Iter, Link, Object, ObjectBuilder};
use std::collections::HashMap;
use std::io::{self, Read};
use std::sync::Arc;

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/owners.bpf.o"));
const PROGRAM: &str = "guard_owners";
/// `COMM_BYTES`.
const COMM_BYTES: usize = 16;
/// `sizeof(struct guard_owner)`.
const OWNER_BYTES: usize = record::FLOW_BYTES + 4 + COMM_BYTES + 4;

/// A process that has a socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) pid: u32,
    /// The process's own name, at most 15 bytes.
    pub(crate) process: Arc<str>,
    /// Path in the hierarchy of version 2, as `/system.slice/x.service`.
    pub(crate) cgroup: Arc<str>,
}

/// The program that lists them.
#[derive(Debug)]
pub struct Owners {
    link: Link,
    _object: Object,
}

impl Owners {
    /// Loads it.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn load() -> Result<Owners, GuardError> {
        let what = || "load the program that finds the processes of flows".to_owned();
        let loading = || ObjectBuilder::default().name("guard_owners")?.open_memory(OBJECT)?.load();
        let (object, said) = libbpf::listening(loading);
        let object = object.map_err(|e| io::Error::new(bpf(e).kind(), libbpf::gist(&said))).during(what)?;
        let program = object.progs_mut().find(|program| program.name() == PROGRAM);
        let program = program.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound)).during(what)?;
        let link = program.attach().map_err(bpf).during(what)?;
        Ok(Owners { link, _object: object })
    }

    /// The owners of all TCP connections of the network namespace that the process is in, by flow without a VLAN; of
    /// several processes that share a socket the first by number.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub(crate) fn read(&self) -> Result<HashMap<FlowKey, Owner>, GuardError> {
        let what = || "look for the processes of flows".to_owned();
        let mut bytes = Vec::new();
        Iter::new(&self.link).map_err(bpf).during(what)?.read_to_end(&mut bytes).during(what)?;
        Ok(owners(&bytes))
    }
}

/// All records; a broken one ends them.
fn owners(mut bytes: &[u8]) -> HashMap<FlowKey, Owner> {
    let mut owners = HashMap::new();
    while let Some((flow, owner, rest)) = owner(bytes) {
        owners.entry(flow).or_insert(owner);
        bytes = rest;
    }
    owners
}

/// `struct guard_owner`, names of control groups from the process' own upwards, an empty one.
fn owner(bytes: &[u8]) -> Option<(FlowKey, Owner, &[u8])> {
    let (fixed, mut rest) = bytes.split_at_checked(OWNER_BYTES)?;
    let (flow, fixed) = fixed.split_at(record::FLOW_BYTES);
    let (pid, comm) = fixed.split_first_chunk()?;
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
        pid: u32::from_ne_bytes(*pid),
        process: readable(comm[..COMM_BYTES].split(|&byte| byte == 0).next()?).into(),
        cgroup: format!("/{}", names.join("/")).into(),
    };
    Some((record::flow_of(flow)?, owner, rest))
}

/// Processes choose their names, which may contain terminal sequences: control characters become `?`.
fn readable(name: &[u8]) -> String {
    String::from_utf8_lossy(name).chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key() -> FlowKey {
        FlowKey::new("10.0.0.1:5001".parse().unwrap(), "192.0.2.7:443".parse().unwrap(), 0)
    }

    fn a_record(pid: u32, comm: &[u8], names: &[&str]) -> Vec<u8> {
        let mut bytes = record::flow(&key()).to_vec();
        bytes.extend(pid.to_ne_bytes());
        bytes.extend(comm);
        bytes.resize(OWNER_BYTES, 0);
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
            prop_assert!(owners(&bytes).len() <= bytes.len() / OWNER_BYTES);
        }

        #[test]
        fn a_truncated_record_is_omitted(cut in 0usize..80) {
            let bytes = a_record(7, b"a", &["x.service"]);
            prop_assert_eq!(owners(&bytes[..cut.min(bytes.len())]).len(), usize::from(cut >= bytes.len()));
        }
    }
}
