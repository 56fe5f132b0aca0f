//! The kernel's records and map entries as bytes: `struct guard_packet` and its neighbours in `bpf/guard/`.

use fairweir_guard::{FlowKey, Pace, Packet, WindowTarget};
use fairweir_tcp::{Direction, Flags, Timestamps};
use fairweir_units::Time;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// `sizeof(struct guard_packet)`.
const PACKET_BYTES: usize = 80;
/// `sizeof(struct guard_flow)`.
pub(crate) const FLOW_BYTES: usize = 40;
/// `NO_WSCALE`.
const NO_WSCALE: u8 = 0xff;

/// Reads integers of this machine's byte order, one after another.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (head, rest) = self.0.split_first_chunk().expect("the length was checked");
        self.0 = rest;
        *head
    }
    fn u16(&mut self) -> u16 {
        u16::from_ne_bytes(self.take())
    }
    fn u32(&mut self) -> u32 {
        u32::from_ne_bytes(self.take())
    }
    fn u8(&mut self) -> u8 {
        u8::from_ne_bytes(self.take())
    }
    fn address(&mut self) -> IpAddr {
        IpAddr::V6(Ipv6Addr::from(self.take::<16>()))
    }
    fn flow(&mut self) -> FlowKey {
        let (local, remote) = (self.address(), self.address());
        let (local_port, remote_port, vlan) = (self.u16(), self.u16(), self.u32());
        FlowKey::new(SocketAddr::new(local, local_port), SocketAddr::new(remote, remote_port), vlan)
    }
}

/// Parses a packet's record of the ring; `None` if it is too short.
pub(crate) fn packet(bytes: &[u8]) -> Option<Packet> {
    if bytes.len() < PACKET_BYTES {
        return None;
    }
    let mut read = Reader(bytes);
    let at = Time::from_nanos(u64::from_ne_bytes(read.take()));
    let flow = read.flow();
    let (seq, ack, payload, wire) = (read.u32(), read.u32(), read.u32(), read.u32());
    let stamps = Timestamps { tsval: read.u32(), tsecr: read.u32() };
    let (segs, window) = (read.u16(), read.u16());
    let (flags, wscale, has_timestamps, direction) = (read.u8(), read.u8(), read.u8(), read.u8());
    Some(Packet {
        at,
        flow,
        direction: if direction == 0 { Direction::Incoming } else { Direction::Outgoing },
        flags: Flags(flags),
        seq,
        ack,
        window,
        timestamps: (has_timestamps != 0).then_some(stamps),
        payload,
        wire,
        segs,
        wscale: (wscale != NO_WSCALE).then_some(wscale),
    })
}

/// A `struct guard_flow` of the kernel's.
pub(crate) fn flow_of(bytes: &[u8]) -> Option<FlowKey> {
    (bytes.len() >= FLOW_BYTES).then(|| Reader(bytes).flow())
}

/// `struct guard_flow`, the key of the kernel's maps.
pub(crate) fn flow(key: &FlowKey) -> [u8; FLOW_BYTES] {
    let octets = |address: IpAddr| match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
        IpAddr::V6(v6) => v6.octets(),
    };
    let mut bytes = [0; FLOW_BYTES];
    bytes[..16].copy_from_slice(&octets(key.local().ip()));
    bytes[16..32].copy_from_slice(&octets(key.remote().ip()));
    bytes[32..34].copy_from_slice(&key.local().port().to_ne_bytes());
    bytes[34..36].copy_from_slice(&key.remote().port().to_ne_bytes());
    bytes[36..].copy_from_slice(&key.scope().to_ne_bytes());
    bytes
}

/// `struct guard_target`.
pub(crate) fn target(target: WindowTarget, wscale: Option<u8>) -> [u8; 32] {
    let narrow = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
    let pace = target.pace();
    let words = [
        narrow(target.room()),
        narrow(target.least()),
        u32::from(wscale.unwrap_or(NO_WSCALE)),
        pace.map_or(0, Pace::bytes_per_s),
        pace.map_or(0, Pace::quantum),
        0,
    ];
    let mut bytes = [0; 32];
    for (place, word) in bytes.chunks_exact_mut(4).zip(words) {
        place.copy_from_slice(&word.to_ne_bytes());
    }
    bytes[24..].copy_from_slice(&pace.map_or(0, |pace| pace.depth().as_nanos()).to_ne_bytes());
    bytes
}

/// `struct guard_wait`: a flow, and until when its sender waits.
pub(crate) fn wait(bytes: &[u8]) -> Option<(FlowKey, Time)> {
    let until = bytes.get(FLOW_BYTES..)?.first_chunk()?;
    Some((flow_of(bytes)?, Time::from_nanos(u64::from_ne_bytes(*until))))
}

/// The part of `struct guard_promise` needed to repeat its last ACK.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Promised {
    pub(crate) is_waiting: bool,
    pub(crate) next_seq: u32,
    /// Protocol and TCI of a VLAN tag that is not among the headers; 0 if there is none.
    pub(crate) tag: [u16; 2],
    pub(crate) ip: usize,
    pub(crate) transport: usize,
    pub(crate) headers: Vec<u8>,
}

/// `guard_promise.at_ns`.
pub(crate) fn decided_at(promise: &[u8]) -> Option<Time> {
    promise.get(8..16)?.try_into().ok().map(|bytes| Time::from_nanos(u64::from_ne_bytes(bytes)))
}

pub(crate) fn promised(bytes: &[u8]) -> Option<Promised> {
    const BEFORE_SCALE: usize = 28;
    const UP_TO_HEADERS: usize = 26;
    let mut read = Reader(bytes.get(BEFORE_SCALE..).filter(|rest| rest.len() >= UP_TO_HEADERS)?);
    let (_scale, is_waiting, _unused, next_seq) = (read.u32(), read.u32(), read.u32(), read.u32());
    let tag = [read.u16(), read.u16()];
    let [ip, transport, end] = std::array::from_fn(|_| usize::from(read.u16()));
    let headers = read.0.get(..end)?.to_vec();
    Some(Promised { is_waiting: is_waiting != 0, next_seq, tag, ip, transport, headers })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_is_the_same_in_records_and_maps() {
        for (local, remote) in [("10.0.0.1:5001", "192.0.2.7:443"), ("[2001:db8::1]:22", "[2001:db8:ffff::2]:65535")] {
            let key = FlowKey::new(local.parse().unwrap(), remote.parse().unwrap(), 7);
            let mut record = [0u8; PACKET_BYTES];
            record[8..48].copy_from_slice(&flow(&key));
            assert_eq!(packet(&record).unwrap().flow, key);
        }
        assert_eq!(packet(&[0; PACKET_BYTES - 1]), None);
    }

    #[test]
    fn a_record_in_the_order_of_the_struct() {
        let mut record = Vec::new();
        record.extend(1_000_000_007u64.to_ne_bytes());
        record.extend([0u8; FLOW_BYTES]);
        [11u32, 22, 1448, 1514, 33, 44].iter().for_each(|word| record.extend(word.to_ne_bytes()));
        [3u16, 512].iter().for_each(|half| record.extend(half.to_ne_bytes()));
        record.extend([0x12, 7, 1, 1]);
        let packet = packet(&record).unwrap();
        assert_eq!(packet.at.as_nanos(), 1_000_000_007);
        assert_eq!((packet.seq, packet.ack, packet.payload, packet.wire), (11, 22, 1448, 1514));
        assert_eq!(packet.timestamps, Some(Timestamps { tsval: 33, tsecr: 44 }));
        assert_eq!((packet.segs, packet.window, packet.flags, packet.wscale), (3, 512, Flags(0x12), Some(7)));
        assert_eq!(packet.direction, Direction::Outgoing);
        record[77] = NO_WSCALE;
        assert_eq!(super::packet(&record).unwrap().wscale, None);
    }

    #[test]
    fn a_promise_in_the_order_of_the_struct() {
        let mut bytes = vec![0; 192];
        bytes[8..16].copy_from_slice(&77u64.to_ne_bytes());
        bytes[32..36].copy_from_slice(&1u32.to_ne_bytes());
        bytes[40..44].copy_from_slice(&9u32.to_ne_bytes());
        for (place, half) in bytes[44..54].chunks_exact_mut(2).zip([0x8100u16, 5, 14, 34, 54]) {
            place.copy_from_slice(&half.to_ne_bytes());
        }
        bytes[54] = 0xee;
        let last = promised(&bytes).unwrap();
        assert_eq!((last.is_waiting, last.next_seq, last.tag), (true, 9, [0x8100, 5]));
        assert_eq!((last.ip, last.transport, last.headers.len(), last.headers[0]), (14, 34, 54, 0xee));
        assert_eq!(decided_at(&bytes), Some(Time::from_nanos(77)));
        assert_eq!(promised(&bytes[..60]), None, "headers that are cut off");
        assert_eq!(promised(&bytes[..50]), None);
    }

    #[test]
    fn a_wait_in_the_order_of_the_struct() {
        let key = FlowKey::new("10.0.0.1:5001".parse().unwrap(), "192.0.2.7:443".parse().unwrap(), 7);
        let bytes = [&flow(&key)[..], &1_000_000_007u64.to_ne_bytes()].concat();
        assert_eq!(wait(&bytes), Some((key, Time::from_nanos(1_000_000_007))));
        assert_eq!(wait(&bytes[..47]), None);
    }

    #[test]
    fn targets_beyond_32_bits_are_the_largest() {
        let bytes = target(WindowTarget::from_bytes(1 << 40, 1448), Some(14));
        assert_eq!(bytes[..4], u32::MAX.to_ne_bytes());
        assert_eq!(bytes[4..8], 2896u32.to_ne_bytes());
        assert_eq!(bytes[8..12], 14u32.to_ne_bytes());
        assert_eq!(bytes[12..], [0; 20], "no pace");
        let paced = target(WindowTarget::from_bytes(20_000, 1448).paced(8.0), None);
        assert_eq!(paced[12..16], 1_000_000u32.to_ne_bytes(), "bytes per second");
        assert_eq!(paced[16..20], 2896u32.to_ne_bytes(), "the quantum");
        assert_eq!(paced[24..], 30_000_000u64.to_ne_bytes(), "20 ms for the room, and the credit");
    }
}
