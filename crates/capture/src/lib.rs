//! Reads captures as TCP segments. pcap and pcapng files are read one packet at a time, in memory that does not grow
//! with the file. qlog files contain the packets that a QUIC endpoint logged.
//!
//! [`Reader`] reads any source as [`fairweir_tcp::Segment`]s. Packets that are not TCP segments are counted in
//! [`Counts`]; a file that ends within a packet sets [`Counts::is_truncated`].
#![forbid(unsafe_code)]

mod error;
mod link;
mod net;
mod qlog;
mod reader;
mod writer;

pub use error::CaptureError;
pub use link::Link;
pub use qlog::{QuicEvent, QuicWhat, is_qlog, read_qlog};
pub use reader::{Counts, Reader};
pub use writer::{SNAPLEN, Writer};
