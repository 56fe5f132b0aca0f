//! IP and TCP headers of a packet.

use crate::link::Link;
use etherparse::{IpNumber, LaxNetSlice};
use fairweir_tcp::{Ecn, Endpoint, Flags, Options, Segment};
use fairweir_units::Time;
use std::net::IpAddr;

/// Size of the TCP header without options, bytes.
const TCP_HEADER: usize = 20;
/// Size of the IPv6 header without extensions, bytes.
const IPV6_HEADER: usize = 40;

/// Kinds of packets that are not TCP segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Other {
    /// Unknown link layer.
    Link,
    /// The packet is not IP, or not TCP.
    Protocol,
    /// A fragment other than the first, or a first fragment that is truncated.
    Fragment,
    /// The captured bytes end within the headers.
    Cut,
    /// The headers are inconsistent.
    Malformed,
}

/// Position of a packet in a capture.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub frame: u64,
    pub time: Time,
    /// The packet's length on the wire, link layer included, bytes.
    pub wire_bytes: u32,
}

/// Parses a captured packet.
pub(crate) fn segment(link: Link, packet: &[u8], place: Place) -> Result<Segment, Other> {
    if let Link::Unknown(_) = link {
        return Err(Other::Link);
    }
    let sliced = link.slice(packet).ok_or(Other::Cut)?;
    let net = match sliced.net {
        Some(net) => net,
        None if sliced.stop_err.is_some() => return Err(Other::Cut),
        None => return Err(Other::Protocol),
    };
    let (src, dst, ecn, stated, start): (IpAddr, IpAddr, u8, usize, &[u8]) = match &net {
        LaxNetSlice::Ipv4(ip) => {
            let header = ip.header();
            let ecn = header.ecn().value();
            let total = usize::from(header.total_len());
            (header.source_addr().into(), header.destination_addr().into(), ecn, total, header.slice())
        }
        LaxNetSlice::Ipv6(ip) => {
            let header = ip.header();
            // a length of 0 means that the length does not fit (BIG TCP), or that the network card sets it
            let total = match usize::from(header.payload_length()) {
                0 => 0,
                payload => IPV6_HEADER + payload,
            };
            let ecn = header.traffic_class() & 3;
            (header.source_addr().into(), header.destination_addr().into(), ecn, total, header.slice())
        }
        _ => return Err(Other::Protocol),
    };
    let payload = net.ip_payload_ref().ok_or(Other::Protocol)?;
    if payload.fragmented {
        return Err(Other::Fragment);
    }
    if payload.ip_number != IpNumber::TCP {
        return Err(if sliced.stop_err.is_some() && payload.payload.is_empty() { Other::Cut } else { Other::Protocol });
    }
    let tcp = payload.payload;
    let before_ip = distance(packet, start);
    let ip_headers = distance(start, tcp);
    let ip_bytes = match stated {
        0 => (place.wire_bytes as usize).saturating_sub(before_ip),
        stated => stated,
    };
    let header = tcp.get(..TCP_HEADER).ok_or(Other::Cut)?;
    let tcp_header = usize::from(header[12] >> 4) * 4;
    if tcp_header < TCP_HEADER || ip_headers + tcp_header > ip_bytes {
        return Err(Other::Malformed);
    }
    let short = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    let long = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    Ok(Segment {
        frame: place.frame,
        time: place.time,
        src: Endpoint { address: src, port: short(0) },
        dst: Endpoint { address: dst, port: short(2) },
        seq: long(4),
        ack: long(8),
        flags: Flags(header[13]),
        window: short(14),
        payload: (ip_bytes - ip_headers - tcp_header) as u32,
        ip_bytes: ip_bytes as u32,
        ecn: [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][usize::from(ecn & 3)],
        options: Options::parse(&tcp[TCP_HEADER..tcp.len().min(tcp_header)]),
    })
}

/// Returns the number of bytes of `whole` before `part`, which is in `whole` or in the bytes after it.
fn distance(whole: &[u8], part: &[u8]) -> usize {
    part.as_ptr() as usize - whole.as_ptr() as usize
}
