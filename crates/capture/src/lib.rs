//! Captures of packets as TCP segments: pcap and pcapng, a packet at a time, in memory that does not grow with the file;
//! and qlog, what a QUIC endpoint wrote of its packets.
//!
//! [`Reader`] takes anything that can be read. What is no TCP segment is counted in [`Counts`], never passed over in
//! silence; a file that ends within a packet ends there, and [`Counts::is_truncated`] says so.
#![forbid(unsafe_code)]

mod error;
mod link;
mod net;
mod options;
mod qlog;
mod reader;
mod segment;
mod writer;

pub use error::CaptureError;
pub use link::Link;
pub use qlog::{QuicEvent, QuicWhat, is_qlog, read_qlog};
pub use reader::{Counts, Reader};
pub use segment::{Ecn, Endpoint, Flags, Options, SackBlocks, Segment, TimestampOption};
pub use writer::{SNAPLEN, Writer};
