//! Errors of reading a capture.

use fairweir_units::Hint;
use std::borrow::Cow;

/// Errors that make a whole capture unreadable. Single packets that cannot be parsed are only counted.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The file is empty.
    #[error("the capture is empty")]
    Empty,
    /// The file is neither pcap nor pcapng nor JSON.
    #[error("not a pcap or pcapng capture, nor a qlog")]
    Format,
    /// A block is inconsistent, so the rest of the file cannot be parsed.
    #[error("the capture is damaged after frame {frame}")]
    Damaged {
        /// The last frame that was read; 0 if there is none.
        frame: u64,
    },
    /// A packet is larger than all packets that Linux generates.
    #[error("the packet after frame {frame} is larger than {limit} bytes")]
    TooLarge {
        /// The last frame that was read.
        frame: u64,
        /// Maximum size of a packet, bytes.
        limit: usize,
    },
    /// The file is JSON but not a qlog, or a qlog with an unknown structure.
    #[error("unreadable qlog: {reason}")]
    Qlog {
        /// Description of the damage.
        reason: String,
    },
    /// An I/O error.
    #[error("read error: {0}")]
    Read(String),
}

impl CaptureError {
    /// Returns instructions to record a readable capture.
    pub fn hint(&self) -> &'static str {
        match self {
            CaptureError::Empty => "capture with `tcpdump -w FILE tcp`, and stop it with ctrl-c so that it writes all",
            CaptureError::Format => "compressed captures must be unpacked first; other formats: `editcap -F pcapng`",
            CaptureError::Damaged { .. } => "`editcap FILE NEW` keeps the packets before the damage",
            CaptureError::TooLarge { .. } => "capture headers only: `tcpdump -s 128`",
            CaptureError::Qlog { .. } => {
                "qlog 0.3 or later, JSON or JSON-SEQ, of the data's sender; a document that was cut off cannot be read, JSON-SEQ can"
            }
            CaptureError::Read(_) => "is it a regular file, and may you read it?",
        }
    }
}

impl Hint for CaptureError {
    fn hint(&self) -> Option<Cow<'_, str>> {
        Some(CaptureError::hint(self).into())
    }
}
