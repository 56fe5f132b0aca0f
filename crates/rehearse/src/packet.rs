//! Converts a captured segment to the receiver's view of a packet.

use fairweir_capture::Segment;
use fairweir_guard::{Direction, Flags, FlowKey, Packet, Timestamps};
use std::net::{IpAddr, SocketAddr};

/// `segment` as seen by a managed host's guard; `None` if neither end is managed. `is_managed` says which addresses
/// are; `mss` is the payload of a full segment, bytes: a super-packet counts as several.
pub fn guard_packet(segment: &Segment, is_managed: impl Fn(IpAddr) -> bool, mss: u32) -> Option<Packet> {
    let end = |endpoint: fairweir_capture::Endpoint| SocketAddr::new(endpoint.address, endpoint.port);
    let (direction, local, remote) = if is_managed(segment.dst.address) {
        (Direction::Incoming, segment.dst, segment.src)
    } else if is_managed(segment.src.address) {
        (Direction::Outgoing, segment.src, segment.dst)
    } else {
        return None;
    };
    let bit = |is_set: bool, flag: Flags| if is_set { flag.0 } else { 0 };
    let flags = Flags(
        bit(segment.flags.fin, Flags::FIN)
            | bit(segment.flags.syn, Flags::SYN)
            | bit(segment.flags.rst, Flags::RST)
            | bit(segment.flags.ack, Flags::ACK),
    );
    let segs = if segment.payload <= mss { 1 } else { segment.payload.div_ceil(mss.max(1)) };
    Some(Packet {
        at: segment.time,
        flow: FlowKey::new(end(local), end(remote), 0),
        direction,
        flags,
        seq: segment.seq,
        ack: segment.ack,
        window: segment.window,
        timestamps: segment.options.timestamps.map(|t| Timestamps { tsval: t.value, tsecr: t.echo }),
        payload: segment.payload,
        wire: segment.ip_bytes,
        segs: u16::try_from(segs).unwrap_or(u16::MAX),
        wscale: segment.options.window_scale,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairweir_capture::{Endpoint, Options, TimestampOption};
    use fairweir_units::Time;

    fn segment(src: [u8; 4], dst: [u8; 4]) -> Segment {
        let end = |address: [u8; 4], port| Endpoint { address: address.into(), port };
        let timestamps = Some(TimestampOption { value: 7, echo: 5 });
        Segment {
            frame: 1,
            time: Time::from_nanos(9),
            src: end(src, 80),
            dst: end(dst, 5001),
            seq: 100,
            ack: 200,
            flags: fairweir_capture::Flags { ack: true, fin: true, ..Default::default() },
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
        let coming = guard_packet(&segment([192, 0, 2, 1], [10, 0, 0, 1]), managed, 1448).unwrap();
        assert_eq!((coming.direction, coming.flow.local().port(), coming.segs), (Direction::Incoming, 5001, 2));
        assert_eq!(coming.timestamps, Some(Timestamps { tsval: 7, tsecr: 5 }));
        assert_eq!((coming.flags, coming.end()), (Flags::ACK.and(Flags::FIN), 2101));
        let going = guard_packet(&segment([10, 0, 0, 1], [192, 0, 2, 1]), managed, 1448).unwrap();
        assert_eq!((going.direction, going.flow.local().port()), (Direction::Outgoing, 80));
        assert_eq!(guard_packet(&segment([192, 0, 2, 1], [192, 0, 2, 2]), managed, 1448), None);
    }
}
