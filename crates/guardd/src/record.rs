//! Conversion of the kernel's records and map entries (`struct guard_packet` and others in `bpf/guard/`) to the guard's
//! types.

use crate::skeleton::Plain;
use crate::skeleton::guard::types::{guard_flow, guard_packet, guard_promise, guard_target, guard_wait};
use fairweir_guard::{FlowKey, Pace, Packet, WindowTarget};
use fairweir_tcp::{Direction, Flags, Timestamps};
use fairweir_units::Time;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// The kernel's value for an unknown window scale, `NO_WSCALE`.
const NO_WSCALE: u8 = 0xff;

/// Parses a packet's record from the ring; returns `None` if the record is too short.
pub(crate) fn packet(bytes: &[u8]) -> Option<Packet> {
    let record = guard_packet::read(bytes)?;
    let stamps = Timestamps { tsval: record.tsval, tsecr: record.tsecr };
    Some(Packet {
        at: Time::from_nanos(record.time_ns),
        flow: flow_of(&record.flow),
        direction: if record.direction == 0 { Direction::Incoming } else { Direction::Outgoing },
        flags: Flags(record.flags),
        seq: record.seq,
        ack: record.ack,
        window: record.window,
        timestamps: (record.has_timestamps != 0).then_some(stamps),
        payload: record.payload,
        wire: record.wire,
        segs: record.segs,
        wscale: (record.wscale != NO_WSCALE).then_some(record.wscale),
    })
}

/// Returns the flow between two addresses and ports (local, remote); IPv4 addresses are given as mapped IPv6 addresses.
pub(crate) fn key(local: [u8; 16], remote: [u8; 16], ports: [u16; 2], vlan: u32) -> FlowKey {
    let end = |address: [u8; 16], port| SocketAddr::new(IpAddr::V6(Ipv6Addr::from(address)), port);
    FlowKey::new(end(local, ports[0]), end(remote, ports[1]), vlan)
}

fn flow_of(flow: &guard_flow) -> FlowKey {
    key(flow.local, flow.remote, [flow.local_port, flow.remote_port], flow.vlan)
}

/// Returns a flow's key in the kernel's maps.
pub(crate) fn flow(key: &FlowKey) -> guard_flow {
    let octets = |address: IpAddr| match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
        IpAddr::V6(v6) => v6.octets(),
    };
    guard_flow {
        local: octets(key.local().ip()),
        remote: octets(key.remote().ip()),
        local_port: key.local().port(),
        remote_port: key.remote().port(),
        vlan: key.scope(),
    }
}

/// Returns a target in the kernel's form.
pub(crate) fn target(target: WindowTarget, wscale: Option<u8>) -> guard_target {
    let narrow = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
    let pace = target.pace();
    guard_target {
        bytes: narrow(target.room()),
        least: narrow(target.least()),
        wscale: u32::from(wscale.unwrap_or(NO_WSCALE)),
        bytes_per_s: pace.map_or(0, Pace::bytes_per_s),
        quantum: pace.map_or(0, Pace::quantum),
        unused: 0,
        depth_ns: pace.map_or(0, |pace| pace.depth().as_nanos()),
    }
}

/// Parses a record of a waiting sender: its flow, and the time at which its wait ends.
pub(crate) fn wait(bytes: &[u8]) -> Option<(FlowKey, Time)> {
    let wait = guard_wait::read(bytes)?;
    Some((flow_of(&wait.flow), Time::from_nanos(wait.until_ns)))
}

/// The part of `struct guard_promise` that is needed to repeat the last ACK.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Promised {
    pub(crate) is_waiting: bool,
    pub(crate) next_seq: u32,
    /// Protocol and TCI of the VLAN tag, if the tag is not part of the headers; otherwise 0.
    pub(crate) tag: [u16; 2],
    pub(crate) ip: usize,
    pub(crate) transport: usize,
    pub(crate) headers: Vec<u8>,
}

/// Returns the time of the latest ACK.
pub(crate) fn decided_at(promise: &[u8]) -> Option<Time> {
    Some(Time::from_nanos(guard_promise::read(promise)?.at_ns))
}

/// Parses a promise: its last ACK, and whether its sender waits.
pub(crate) fn promised(promise: &[u8]) -> Option<Promised> {
    let guard_promise { is_waiting, last, .. } = guard_promise::read(promise)?;
    Some(Promised {
        is_waiting: is_waiting != 0,
        next_seq: last.next_seq,
        tag: last.tag,
        ip: last.ip.into(),
        transport: last.transport.into(),
        headers: last.bytes.get(..last.end.into())?.to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skeleton::guard::types::guard_ack;

    fn a_key() -> FlowKey {
        FlowKey::new("10.0.0.1:5001".parse().unwrap(), "192.0.2.7:443".parse().unwrap(), 7)
    }

    #[test]
    fn a_flow_is_the_same_in_records_and_maps() {
        for (local, remote) in [("10.0.0.1:5001", "192.0.2.7:443"), ("[2001:db8::1]:22", "[2001:db8:ffff::2]:65535")] {
            let key = FlowKey::new(local.parse().unwrap(), remote.parse().unwrap(), 7);
            let record = guard_packet { flow: flow(&key), ..guard_packet::default() };
            assert_eq!(packet(record.bytes()).unwrap().flow, key);
        }
        assert_eq!(packet(&[0; size_of::<guard_packet>() - 1]), None);
    }

    #[test]
    fn a_record_becomes_a_packet() {
        let mut record = guard_packet {
            time_ns: 1_000_000_007,
            flow: flow(&a_key()),
            seq: 11,
            ack: 22,
            payload: 1448,
            wire: 1514,
            tsval: 33,
            tsecr: 44,
            segs: 3,
            window: 512,
            flags: 0x12,
            wscale: 7,
            has_timestamps: 1,
            direction: 1,
        };
        let read = packet(record.bytes()).unwrap();
        assert_eq!(read.at.as_nanos(), 1_000_000_007);
        assert_eq!((read.seq, read.ack, read.payload, read.wire), (11, 22, 1448, 1514));
        assert_eq!(read.timestamps, Some(Timestamps { tsval: 33, tsecr: 44 }));
        assert_eq!((read.segs, read.window, read.flags, read.wscale), (3, 512, Flags(0x12), Some(7)));
        assert_eq!(read.direction, Direction::Outgoing);
        (record.wscale, record.has_timestamps) = (NO_WSCALE, 0);
        let read = packet(record.bytes()).unwrap();
        assert_eq!((read.wscale, read.timestamps), (None, None));
    }

    #[test]
    fn a_promise_has_the_last_ack() {
        let mut bytes = [0; 142];
        bytes[0] = 0xee;
        let last = guard_ack { next_seq: 9, tag: [0x8100, 5], ip: 14, transport: 34, end: 54, bytes };
        let mut promise = guard_promise { at_ns: 77, is_waiting: 1, last, ..guard_promise::default() };
        let read = promised(promise.bytes()).unwrap();
        assert_eq!((read.is_waiting, read.next_seq, read.tag), (true, 9, [0x8100, 5]));
        assert_eq!((read.ip, read.transport, read.headers.len(), read.headers[0]), (14, 34, 54, 0xee));
        assert_eq!(decided_at(promise.bytes()), Some(Time::from_nanos(77)));
        promise.last.end = 143;
        assert_eq!(promised(promise.bytes()), None, "more headers than it has room for");
        assert_eq!(promised(&promise.bytes()[1..]), None);
    }

    #[test]
    fn a_wait_has_its_flow_and_its_end() {
        let record = guard_wait { flow: flow(&a_key()), until_ns: 1_000_000_007 };
        assert_eq!(wait(record.bytes()), Some((a_key(), Time::from_nanos(1_000_000_007))));
        assert_eq!(wait(&record.bytes()[1..]), None);
    }

    #[test]
    fn targets_beyond_32_bits_are_the_largest() {
        let wide = target(WindowTarget::from_bytes(1 << 40, 1448), Some(14));
        assert_eq!((wide.bytes, wide.least, wide.wscale), (u32::MAX, 2896, 14));
        assert_eq!((wide.bytes_per_s, wide.quantum, wide.depth_ns), (0, 0, 0), "no pace");
        let paced = target(WindowTarget::from_bytes(20_000, 1448).paced(8.0), None);
        assert_eq!((paced.bytes_per_s, paced.quantum), (1_000_000, 2896), "bytes per second, and two segments");
        assert_eq!(paced.depth_ns, 30_000_000, "20 ms for the room, and the credit");
    }
}
