//! A TCP segment as it was seen on the wire.

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

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        SocketAddr::new(self.address, self.port).fmt(f)
    }
}

/// TCP header flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Flags {
    /// Opens a direction.
    pub syn: bool,
    /// Closes a direction.
    pub fin: bool,
    /// Resets the connection.
    pub rst: bool,
    /// The acknowledgement number counts.
    pub ack: bool,
    /// The sender has no more data to send at present (PSH).
    pub psh: bool,
    /// The receiver saw congestion marked (RFC 3168).
    pub ece: bool,
    /// The sender has answered such a mark.
    pub cwr: bool,
}

/// The two bits of ECN in IP's header (RFC 3168).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
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

/// TSval and TSecr (RFC 7323), in the sender's units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TimestampOption {
    /// The sender's clock.
    pub value: u32,
    /// The latest value received from the other side.
    pub echo: u32,
}

/// Up to four blocks of sequence numbers (RFC 2018), each from its first byte to the one after its last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SackBlocks {
    blocks: [(u32, u32); 4],
    len: u8,
}

impl SackBlocks {
    /// The blocks, most recently changed first.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.blocks[..usize::from(self.len)].iter().copied()
    }
    /// Whether there is no block.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// Adds a block; a fifth has no room in a header, and is dropped.
    pub fn push(&mut self, block: (u32, u32)) {
        if let Some(slot) = self.blocks.get_mut(usize::from(self.len)) {
            *slot = block;
            self.len += 1;
        }
    }
}

/// The options that concern the path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Options {
    /// Maximum segment that the sender of this accepts, bytes.
    pub mss: Option<u16>,
    /// Window scale: a shift, at most 14.
    pub window_scale: Option<u8>,
    /// Selective acknowledgements may be sent.
    pub sack_permitted: bool,
    /// Timestamps.
    pub timestamps: Option<TimestampOption>,
    /// Data that arrived above the acknowledgement number.
    pub sack: SackBlocks,
}

/// A TCP segment: of the wire, or a super-packet that a network card will cut into several (TSO) or has joined (GRO).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
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
    /// Acknowledgement number; counts only with `flags.ack`.
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
        self.seq
            .wrapping_add(self.payload)
            .wrapping_add(u32::from(self.flags.syn))
            .wrapping_add(u32::from(self.flags.fin))
    }
}
