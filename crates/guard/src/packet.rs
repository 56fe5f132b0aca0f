//! The summary of a packet, which is the library's only input about it.

use fairweir_tcp::{Direction, Flags, Segment, Timestamps};
use fairweir_units::Time;
use std::hash::{Hash, Hasher};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// A connection. IPv4 addresses are stored as mapped IPv6 addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowKey {
    local: Ipv6Addr,
    remote: Ipv6Addr,
    local_port: u16,
    remote_port: u16,
    scope: u32,
}

impl FlowKey {
    /// Creates the key of the connection between a managed host and a remote host. `scope` distinguishes equal
    /// addresses of several interfaces, namespaces or VLANs; use 0 if there is only one.
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
    /// Returns the managed host's end.
    pub fn local(&self) -> SocketAddr {
        SocketAddr::new(self.local.to_canonical(), self.local_port)
    }
    /// Returns the sender's end.
    pub fn remote(&self) -> SocketAddr {
        SocketAddr::new(self.remote.to_canonical(), self.remote_port)
    }
    /// Returns the interface, namespace or VLAN.
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

/// Summary of a packet, or of several packets that GRO merged.
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
    /// Next byte that its sender expects; valid with [`Flags::ACK`].
    pub ack: u32,
    /// Advertised window as in the header, not scaled.
    pub window: u16,
    /// Timestamps option.
    pub timestamps: Option<Timestamps>,
    /// TCP payload of all segments, bytes.
    pub payload: u32,
    /// Length on the link with all headers, bytes.
    pub wire: u32,
    /// Number of segments; 0 counts as 1.
    pub segs: u16,
    /// Window scale, which a SYN may carry (RFC 7323 §2.2).
    pub wscale: Option<u8>,
}

impl Packet {
    /// Converts `segment` to the view of a managed host's guard; `None` if neither end is managed. `is_managed` returns
    /// whether an address is managed. `mss` is the payload of a full segment, bytes; a super-packet counts as several
    /// segments.
    pub fn of_segment(segment: &Segment, is_managed: impl Fn(IpAddr) -> bool, mss: u32) -> Option<Packet> {
        let (direction, local, remote) = if is_managed(segment.dst.address) {
            (Direction::Incoming, segment.dst, segment.src)
        } else if is_managed(segment.src.address) {
            (Direction::Outgoing, segment.src, segment.dst)
        } else {
            return None;
        };
        let segs = if segment.payload <= mss { 1 } else { segment.payload.div_ceil(mss.max(1)) };
        Some(Packet {
            at: segment.time,
            flow: FlowKey::new(local.into(), remote.into(), 0),
            direction,
            flags: segment.flags,
            seq: segment.seq,
            ack: segment.ack,
            window: segment.window,
            timestamps: segment.options.timestamps,
            payload: segment.payload,
            wire: segment.ip_bytes,
            segs: u16::try_from(segs).unwrap_or(u16::MAX),
            wscale: segment.options.window_scale,
        })
    }
    /// Number of segments, at least one.
    pub fn segments(&self) -> u32 {
        u32::from(self.segs.max(1))
    }
    /// Returns the sequence number after the packet; SYN and FIN count as one byte each.
    pub fn end(&self) -> u32 {
        self.seq.wrapping_add(self.payload).wrapping_add(self.flags.sequence_numbers())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairweir_tcp::{Endpoint, Options};

    fn segment(src: [u8; 4], dst: [u8; 4]) -> Segment {
        let end = |address: [u8; 4], port| Endpoint { address: address.into(), port };
        let timestamps = Some(Timestamps { tsval: 7, tsecr: 5 });
        Segment {
            frame: 1,
            time: Time::from_nanos(9),
            src: end(src, 80),
            dst: end(dst, 5001),
            seq: 100,
            ack: 200,
            flags: Flags::ACK.and(Flags::FIN),
            window: 300,
            payload: 2000,
            ip_bytes: 2052,
            ecn: Default::default(),
            options: Options { timestamps, window_scale: Some(3), ..Options::default() },
        }
    }

    #[test]
    fn the_managed_end_is_local_whichever_way_a_packet_goes() {
        let managed = |address: IpAddr| address == IpAddr::from([10, 0, 0, 1]);
        let coming = Packet::of_segment(&segment([192, 0, 2, 1], [10, 0, 0, 1]), managed, 1448).unwrap();
        assert_eq!((coming.direction, coming.flow.local().port(), coming.segs), (Direction::Incoming, 5001, 2));
        assert_eq!(coming.timestamps, Some(Timestamps { tsval: 7, tsecr: 5 }));
        assert_eq!((coming.flags, coming.end()), (Flags::ACK.and(Flags::FIN), 2101));
        let going = Packet::of_segment(&segment([10, 0, 0, 1], [192, 0, 2, 1]), managed, 1448).unwrap();
        assert_eq!((going.direction, going.flow.local().port()), (Direction::Outgoing, 80));
        assert_eq!(Packet::of_segment(&segment([192, 0, 2, 1], [192, 0, 2, 2]), managed, 1448), None);
    }
}
