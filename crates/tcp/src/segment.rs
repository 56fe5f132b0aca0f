//! A TCP segment as it was seen on the wire.

use crate::{Flags, Options};
use fairweir_units::Time;
use serde::Serialize;
use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// A host and port.
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

/// The two bits of ECN in IP's header (RFC 3168).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotEct,
    /// ECT(0).
    Ect0,
    /// ECT(1): L4S.
    Ect1,
    /// Congestion experienced: marked.
    Ce,
}

/// A TCP segment: of the wire, or a super-packet that a network card will cut into several (TSO) or has joined (GRO).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The packet's number in the file, as Wireshark counts: the first is 1.
    pub frame: u64,
    /// Capture time, ns since 1970 (or since the capture's reference).
    pub time: Time,
    /// Source.
    pub src: Endpoint,
    /// Destination.
    pub dst: Endpoint,
    /// Sequence number of the first byte (of SYN, if it has one); wraps.
    pub seq: u32,
    /// Acknowledgement number; counts only with [`Flags::ACK`].
    pub ack: u32,
    /// Flags.
    pub flags: Flags,
    /// The receive window, not yet scaled.
    pub window: u16,
    /// TCP payload, bytes; of the wire, also where the capture holds the headers only.
    pub payload: u32,
    /// IP packet with all headers, bytes.
    pub ip_bytes: u32,
    /// ECN bits of IP's header.
    pub ecn: Ecn,
    /// TCP's options, as far as they were captured.
    pub options: Options,
}

impl Segment {
    /// Sequence number after the segment: SYN and FIN count for one each.
    pub fn end_seq(&self) -> u32 {
        self.seq.wrapping_add(self.payload).wrapping_add(self.flags.sequence_numbers())
    }
}
