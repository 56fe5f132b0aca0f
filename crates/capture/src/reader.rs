//! The containers pcap and pcapng, read with the crate pcap-parser.

use crate::error::CaptureError;
use crate::link::Link;
use crate::net::{self, Other, Place};
use fairweir_tcp::Segment;
use fairweir_units::{NANOS_PER_SEC, Time};
use pcap_parser::pcapng::Block;
use pcap_parser::traits::PcapReaderIterator;
use pcap_parser::{PcapBlockOwned, PcapError, create_reader};
use serde::Serialize;
use std::io::Read;

/// Read-ahead buffer, bytes.
const BUFFER: usize = 1 << 20;
/// Maximum size of a block, bytes: BIG TCP packets have at most 512 KiB, and a pcapng block also has options.
const LARGEST_BLOCK: usize = 1 << 24;

/// Counts of a capture's packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Packets of any kind.
    pub frames: u64,
    /// TCP segments.
    pub segments: u64,
    /// Packets of unknown link layers.
    pub unknown_link: u64,
    /// Packets that are not IP, or not TCP.
    pub not_tcp: u64,
    /// Fragments of IP packets.
    pub fragments: u64,
    /// Packets that are truncated within their headers.
    pub cut: u64,
    /// Packets with inconsistent headers.
    pub malformed: u64,
    /// Packets without a time (pcapng's simple packets).
    pub untimed: u64,
    /// Packets with an earlier time than a packet before them.
    pub backward: u64,
    /// Resolution of the coarsest clock of the interfaces, ns.
    pub resolution_ns: u64,
    /// Whether the file ends within a packet.
    pub is_truncated: bool,
}

/// An interface of a pcapng section.
#[derive(Clone, Copy, Debug)]
struct Interface {
    link: Link,
    /// Clock units per second.
    per_second: u64,
    /// Offset added to its times, seconds.
    offset_s: i64,
}

/// Reads a capture segment by segment.
pub struct Reader<'a> {
    blocks: Box<dyn PcapReaderIterator + Send + 'a>,
    capacity: usize,
    interfaces: Vec<Interface>,
    counts: Counts,
    newest: Time,
}

impl std::fmt::Debug for Reader<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("interfaces", &self.interfaces).field("counts", &self.counts).finish()
    }
}

/// Result of processing a block of the container.
enum Step {
    Segment(Segment),
    Nothing,
}

impl<'a> Reader<'a> {
    /// Opens a capture.
    ///
    /// # Errors
    /// If it is empty, or neither pcap nor pcapng.
    pub fn new(source: impl Read + Send + 'a) -> Result<Reader<'a>, CaptureError> {
        let blocks = create_reader(BUFFER, source).map_err(|error| match error {
            PcapError::Eof => CaptureError::Empty,
            PcapError::ReadError => CaptureError::Read("the first bytes".to_owned()),
            _ => CaptureError::Format,
        })?;
        Ok(Reader { blocks, capacity: BUFFER, interfaces: Vec::new(), counts: Counts::default(), newest: Time::ZERO })
    }

    /// Returns the counts so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Returns the next TCP segment; `None` at the end.
    ///
    /// # Errors
    /// If the capture is damaged, or reading fails.
    pub fn next_segment(&mut self) -> Result<Option<Segment>, CaptureError> {
        loop {
            let damaged = CaptureError::Damaged { frame: self.counts.frames };
            match self.blocks.next() {
                Ok((length, block)) => {
                    let step = take(&block, &mut self.interfaces, &mut self.counts);
                    self.blocks.consume(length);
                    if let Step::Segment(segment) = step {
                        self.counts.segments += 1;
                        self.counts.backward += u64::from(segment.time < self.newest);
                        self.newest = self.newest.max(segment.time);
                        return Ok(Some(segment));
                    }
                }
                Err(PcapError::Eof) => return Ok(None),
                Err(PcapError::UnexpectedEof) => {
                    self.counts.is_truncated = true;
                    return Ok(None);
                }
                Err(PcapError::Incomplete(_)) => {
                    if self.blocks.reader_exhausted() {
                        self.counts.is_truncated = true;
                        return Ok(None);
                    }
                    self.refill()?;
                }
                Err(PcapError::BufferTooSmall) => self.grow()?,
                Err(PcapError::ReadError) => {
                    return Err(CaptureError::Read(format!("after frame {}", self.counts.frames)));
                }
                Err(_) => return Err(damaged),
            }
        }
    }

    fn refill(&mut self) -> Result<(), CaptureError> {
        let before = self.blocks.data().len();
        match self.blocks.refill() {
            Ok(()) => {}
            Err(PcapError::BufferTooSmall) => return self.grow(),
            Err(_) => return Err(CaptureError::Read(format!("after frame {}", self.counts.frames))),
        }
        // the buffer is full and there is no new data: the block is larger than the buffer
        if self.blocks.data().len() == before && !self.blocks.reader_exhausted() {
            self.grow()?;
        }
        Ok(())
    }

    fn grow(&mut self) -> Result<(), CaptureError> {
        self.capacity *= 2;
        if self.capacity > LARGEST_BLOCK || !self.blocks.grow(self.capacity) {
            return Err(CaptureError::TooLarge { frame: self.counts.frames, limit: LARGEST_BLOCK });
        }
        self.blocks.refill().map_err(|_| CaptureError::Damaged { frame: self.counts.frames })
    }
}

fn take(block: &PcapBlockOwned<'_>, interfaces: &mut Vec<Interface>, counts: &mut Counts) -> Step {
    match block {
        PcapBlockOwned::LegacyHeader(header) => {
            let per_second = if header.is_nanosecond_precision() { NANOS_PER_SEC } else { 1_000_000 };
            // the upper bits are the length of a frame check sequence
            let link = Link::of(header.network.0 & 0x0fff_ffff);
            counts.resolution_ns = NANOS_PER_SEC / per_second;
            *interfaces = vec![Interface { link, per_second, offset_s: 0 }];
            Step::Nothing
        }
        PcapBlockOwned::Legacy(packet) => {
            counts.frames += 1;
            let Some(interface) = interfaces.first() else { return refuse(Other::Malformed, counts) };
            let units = u64::from(packet.ts_sec) * interface.per_second + u64::from(packet.ts_usec);
            packet_of(*interface, units, packet.data, packet.caplen, packet.origlen, counts)
        }
        PcapBlockOwned::NG(Block::SectionHeader(_)) => {
            interfaces.clear();
            Step::Nothing
        }
        PcapBlockOwned::NG(Block::InterfaceDescription(description)) => {
            let per_second = description.ts_resolution().unwrap_or(1_000_000).max(1);
            counts.resolution_ns = counts.resolution_ns.max(NANOS_PER_SEC.div_ceil(per_second));
            interfaces.push(Interface {
                link: Link::of(description.linktype.0),
                per_second,
                offset_s: description.if_tsoffset,
            });
            Step::Nothing
        }
        PcapBlockOwned::NG(Block::EnhancedPacket(packet)) => {
            counts.frames += 1;
            let Some(interface) = interfaces.get(packet.if_id as usize) else {
                return refuse(Other::Malformed, counts);
            };
            let units = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
            packet_of(*interface, units, packet.data, packet.caplen, packet.origlen, counts)
        }
        PcapBlockOwned::NG(Block::SimplePacket(_)) => {
            counts.frames += 1;
            counts.untimed += 1;
            Step::Nothing
        }
        PcapBlockOwned::NG(_) => Step::Nothing,
    }
}

fn packet_of(
    interface: Interface,
    units: u64,
    data: &[u8],
    captured: u32,
    wire_bytes: u32,
    counts: &mut Counts,
) -> Step {
    // pcapng pads packets to four bytes
    let packet = &data[..data.len().min(captured as usize)];
    let time = time_of(interface, units);
    match net::segment(interface.link, packet, Place { frame: counts.frames, time, wire_bytes }) {
        Ok(segment) => Step::Segment(segment),
        Err(other) => refuse(other, counts),
    }
}

fn time_of(interface: Interface, units: u64) -> Time {
    let ns = i128::from(units) * i128::from(NANOS_PER_SEC) / i128::from(interface.per_second);
    let ns = ns + i128::from(interface.offset_s) * i128::from(NANOS_PER_SEC);
    // `Time::NEVER` is not a valid time
    Time::from_nanos(ns.clamp(0, i128::from(u64::MAX - 1)) as u64)
}

fn refuse(other: Other, counts: &mut Counts) -> Step {
    *match other {
        Other::Link => &mut counts.unknown_link,
        Other::Protocol => &mut counts.not_tcp,
        Other::Fragment => &mut counts.fragments,
        Other::Cut => &mut counts.cut,
        Other::Malformed => &mut counts.malformed,
    } += 1;
    Step::Nothing
}

#[cfg(test)]
mod tests;
