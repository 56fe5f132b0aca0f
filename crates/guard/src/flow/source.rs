//! Sources of flows. The table limits the flows of each source, so that a single source cannot fill it.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::net::{IpAddr, Ipv6Addr};

/// Length of the prefix in which one sender may have many addresses: a /64 of IPv6 (RFC 4291 §2.5.1).
const V6_PREFIX: u32 = 64;

/// Returns the source of a remote address.
pub(super) fn source(remote: IpAddr) -> IpAddr {
    match remote {
        IpAddr::V4(_) => remote,
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() >> V6_PREFIX << V6_PREFIX).into(),
    }
}

/// The slots of the flows of each source.
#[derive(Debug)]
pub(super) struct Sources<S>(HashMap<IpAddr, Vec<u32>, S>);

impl<S: BuildHasher> Sources<S> {
    pub(super) fn new(hasher: S) -> Sources<S> {
        Sources(HashMap::with_hasher(hasher))
    }

    pub(super) fn of(&self, source: IpAddr) -> &[u32] {
        self.0.get(&source).map_or(&[], Vec::as_slice)
    }

    pub(super) fn add(&mut self, source: IpAddr, slot: u32) {
        self.0.entry(source).or_default().push(slot);
    }

    pub(super) fn remove(&mut self, source: IpAddr, slot: u32) {
        let Some(slots) = self.0.get_mut(&source) else { return };
        if let Some(at) = slots.iter().position(|&other| other == slot) {
            slots.swap_remove(at);
        }
        if slots.is_empty() {
            self.0.remove(&source);
        }
    }
}
