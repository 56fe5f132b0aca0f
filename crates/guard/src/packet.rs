//! The summary of a packet: the core's only input about it.

use fairweir_units::Time;
use std::hash::{Hash, Hasher};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// Direction of a packet, from the managed host's view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the remote sender to the managed host.
    Incoming,
    /// From the managed host to the remote sender.
    Outgoing,
}

/// The TCP flags that matter, as the header's bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u8);

impl Flags {
    /// The sender has no more data.
    pub const FIN: Flags = Flags(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: Flags = Flags(0x02);
    /// The connection is reset.
    pub const RST: Flags = Flags(0x04);
    /// The `ack` field is valid.
    pub const ACK: Flags = Flags(0x10);

    /// Whether all of `wanted` are set.
    pub const fn has(self, wanted: Flags) -> bool {
        self.0 & wanted.0 == wanted.0
    }
    /// Union of both.
    pub const fn and(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

/// The timestamps option (RFC 7323 §3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamps {
    /// The sender's clock.
    pub tsval: u32,
    /// The echoed value.
    pub tsecr: u32,
}

/// The connection. IPv4 addresses are stored as mapped IPv6 ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowKey {
    local: Ipv6Addr,
    remote: Ipv6Addr,
    local_port: u16,
    remote_port: u16,
    scope: u32,
}

impl FlowKey {
    /// The connection between a managed host and a remote one. `scope` distinguishes equal addresses of several
    /// interfaces, namespaces or VLANs; 0 if there is only one.
    pub fn new(local: SocketAddr, remote: SocketAddr, scope: u32) -> FlowKey {
        let mapped = |address: IpAddr| match address {
            IpAddr::V4(v4) => v4.to_ipv6_mapped(),
            IpAddr::V6(v6) => v6,
        };
        FlowKey {
            local: mapped(local.ip()),
            remote: mapped(remote.ip()),
            local_port: local.port(),
            remote_port: remote.port(),
            scope,
        }
    }
    /// The managed host's end.
    pub fn local(&self) -> SocketAddr {
        SocketAddr::new(self.local.to_canonical(), self.local_port)
    }
    /// The sender's end.
    pub fn remote(&self) -> SocketAddr {
        SocketAddr::new(self.remote.to_canonical(), self.remote_port)
    }
    /// Interface, namespace or VLAN.
    pub fn scope(&self) -> u32 {
        self.scope
    }
}

impl Hash for FlowKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write(&self.local.octets());
        state.write(&self.remote.octets());
        let ports = u64::from(self.local_port) << 48 | u64::from(self.remote_port) << 32;
        state.write_u64(ports | u64::from(self.scope));
    }
}

/// Data of a packet, or of several that GRO merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Time of observation, by a clock that may jump.
    pub at: Time,
    /// Its connection.
    pub flow: FlowKey,
    /// Its direction.
    pub direction: Direction,
    /// TCP flags.
    pub flags: Flags,
    /// Sequence number of the first byte.
    pub seq: u32,
    /// Next byte that its sender expects; counts with [`Flags::ACK`].
    pub ack: u32,
    /// Advertised window as in the header, not scaled.
    pub window: u16,
    /// Timestamps option.
    pub timestamps: Option<Timestamps>,
    /// TCP payload of all segments, bytes.
    pub payload: u32,
    /// Length on the link with all headers, bytes.
    pub wire: u32,
    /// Segments in it; 0 counts as 1.
    pub segs: u16,
    /// Window scale, which a SYN may carry (RFC 7323 §2.2).
    pub wscale: Option<u8>,
}

impl Packet {
    /// Number of segments, at least one.
    pub fn segments(&self) -> u32 {
        u32::from(self.segs.max(1))
    }
    /// The sequence number after it; SYN and FIN count one each.
    pub fn end(&self) -> u32 {
        let flags = u32::from(self.flags.has(Flags::SYN)) + u32::from(self.flags.has(Flags::FIN));
        self.seq.wrapping_add(self.payload).wrapping_add(flags)
    }
}

/// Distance from `from` to `to` in sequence space; negative if `to` is before `from` (RFC 9293 §3.4).
pub(crate) fn distance(from: u32, to: u32) -> i32 {
    to.wrapping_sub(from) as i32
}
