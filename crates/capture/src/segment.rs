//! A TCP segment as it was seen on the wire.

use fairweir_units::Time;
use serde::Serialize;
use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// A host and its port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Endpoint {
    /// IPv4 or IPv6.
    pub address: IpAddr,
    /// TCP's.
    pub port: u16,
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        SocketAddr::new(self.address, self.port).fmt(f)
    }
}

/// The bits of TCP's header that say what a segment does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Flags {
    /// Opens a direction.
    pub syn: bool,
    /// Closes a direction.
    pub fin: bool,
    /// Breaks the connection off.
    pub rst: bool,
    /// The acknowledgement number counts.
    pub ack: bool,
    /// The sender has no more to send for now.
    pub psh: bool,
    /// The receiver saw congestion marked (RFC 3168).
    pub ece: bool,
    /// The sender has answered such a mark.
    pub cwr: bool,
}

/// The two bits of ECN in IP's header (RFC 3168).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum Ecn {
    /// Not capable of it.
    #[default]
    NotEct,
    /// ECT(0).
    Ect0,
    /// ECT(1): L4S.
    Ect1,
    /// Marked.
    Ce,
}

/// TSval and TSecr (RFC 7323), in the units of whoever sent them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TimestampOption {
    /// The sender's clock.
    pub value: u32,
    /// The newest of the other side's that it has seen.
    pub echo: u32,
}

/// Up to four blocks of sequence numbers (RFC 2018), each from its first byte to the one behind its last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SackBlocks {
    blocks: [(u32, u32); 4],
    len: u8,
}

impl SackBlocks {
    /// The blocks, the one that changed last first.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.blocks[..usize::from(self.len)].iter().copied()
    }
    /// Whether there are none.
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

/// The options that say something of the path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Options {
    /// Largest segment that the sender of this wants, bytes.
    pub mss: Option<u16>,
    /// Window scale: a shift, at most 14.
    pub window_scale: Option<u8>,
    /// Selective acknowledgements may be sent.
    pub sack_permitted: bool,
    /// Timestamps.
    pub timestamps: Option<TimestampOption>,
    /// What arrived beyond the acknowledgement number.
    pub sack: SackBlocks,
}

/// A TCP segment: of the wire, or a super-packet that a network card will cut into several (TSO) or has joined (GRO).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Segment {
    /// The packet's number in the file, as Wireshark counts: the first is 1.
    pub frame: u64,
    /// When it was captured, ns since 1970 (or since whatever the capture counts from).
    pub time: Time,
    /// Who sent it.
    pub src: Endpoint,
    /// To whom.
    pub dst: Endpoint,
    /// Sequence number of the first byte (of SYN, if it has one); wraps.
    pub seq: u32,
    /// Acknowledgement number; counts only with `flags.ack`.
    pub ack: u32,
    /// What the segment does.
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
    /// Sequence number behind the segment: SYN and FIN count for one each.
    pub fn end_seq(&self) -> u32 {
        self.seq
            .wrapping_add(self.payload)
            .wrapping_add(u32::from(self.flags.syn))
            .wrapping_add(u32::from(self.flags.fin))
    }
}
