//! A captured TCP segment.

use crate::{Flags, Options};
use fairweir_units::Time;
use serde::Serialize;
use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// An endpoint: address and port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Endpoint {
    /// IPv4 or IPv6.
    pub address: IpAddr,
    /// TCP port.
    pub port: u16,
}

impl From<Endpoint> for SocketAddr {
    fn from(endpoint: Endpoint) -> SocketAddr {
        SocketAddr::new(endpoint.address, endpoint.port)
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        SocketAddr::from(*self).fmt(f)
    }
}

/// The two ECN bits of the IP header (RFC 3168).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotEct,
    /// ECT(0).
    Ect0,
    /// ECT(1), used by L4S.
    Ect1,
    /// Congestion experienced (CE): marked.
    Ce,
}

/// A TCP segment: either a segment as sent on the wire, or a super-packet that a network card will split (TSO) or has
/// merged (GRO).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The packet's number in the file, as in Wireshark: the first packet has number 1.
    pub frame: u64,
    /// Capture time, ns since 1970 (or since the capture's reference).
    pub time: Time,
    /// Source.
    pub src: Endpoint,
    /// Destination.
    pub dst: Endpoint,
    /// Sequence number of the first byte, or of the SYN if there is one; wraps.
    pub seq: u32,
    /// Acknowledgement number; valid only with [`Flags::ACK`].
    pub ack: u32,
    /// Flags.
    pub flags: Flags,
    /// The receive window as in the header, not scaled.
    pub window: u16,
    /// TCP payload on the wire, bytes, even if the capture contains only the headers.
    pub payload: u32,
    /// Size of the IP packet with all headers, bytes.
    pub ip_bytes: u32,
    /// ECN bits of the IP header.
    pub ecn: Ecn,
    /// TCP options, as far as they were captured.
    pub options: Options,
}

impl Segment {
    /// Returns the sequence number after the segment; SYN and FIN count as one each.
    pub fn end_seq(&self) -> u32 {
        self.seq.wrapping_add(self.payload).wrapping_add(self.flags.sequence_numbers())
    }
}
