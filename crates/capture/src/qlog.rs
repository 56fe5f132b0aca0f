//! qlog: a QUIC endpoint's log of its packets (draft-ietf-quic-qlog-main-schema, -quic-events), as JSON or JSON-SEQ
//! (RFC 7464). Only packets of the application data space are used, because packets of the handshake provide little
//! information about the path.

mod event;

use crate::error::CaptureError;
use crate::reader::Counts;
use event::{Clock, Common, Logged, What};
use serde::Deserialize;
use std::io::{BufRead, BufReader, Read};

/// Maximum size of a qlog in one JSON document, which is held in memory, bytes.
const LARGEST_DOCUMENT: u64 = 1 << 28;
/// Maximum size of a JSON-SEQ record, which contains one event, bytes.
const LARGEST_RECORD: u64 = 1 << 24;
/// The first byte of each record (RFC 7464).
const RECORD: u8 = 0x1e;

/// Event at an endpoint.
#[derive(Clone, Debug, PartialEq)]
pub enum QuicWhat {
    /// The endpoint sent an ack-eliciting packet.
    Sent {
        /// Packet number.
        number: u64,
        /// Size of the QUIC packet without UDP and IP headers, bytes.
        bytes: u32,
    },
    /// An acknowledgement arrived.
    Acked {
        /// Packet numbers, both ends included.
        ranges: Vec<(u64, u64)>,
        /// The receiver's reported ACK delay, ns.
        delay_ns: Option<u64>,
    },
    /// The endpoint declared a packet lost.
    Lost {
        /// Packet number.
        number: u64,
    },
    /// The endpoint logged its state of loss recovery.
    Metrics {
        /// Bytes sent that are neither acknowledged nor lost.
        inflight_bytes: Option<u64>,
    },
}

/// An event that concerns the path.
#[derive(Clone, Debug, PartialEq)]
pub struct QuicEvent {
    /// The event's number in the file: the first is 1.
    pub frame: u64,
    /// Index of the trace, one per connection, from 0.
    pub trace: usize,
    /// Time, ns since 1970 or since the trace's origin.
    pub time_ns: u64,
    /// The event.
    pub what: QuicWhat,
}

/// Returns whether a file that begins with these bytes is JSON or JSON-SEQ.
pub fn is_qlog(first: &[u8]) -> bool {
    let text = first.iter().find(|byte| !byte.is_ascii_whitespace());
    matches!(text, Some(b'{' | &RECORD))
}

/// A JSON document, or the first record of a JSON-SEQ.
#[derive(Deserialize)]
struct Document {
    qlog_version: Option<String>,
    qlog_format: Option<String>,
    traces: Option<Vec<Trace>>,
    trace: Option<Trace>,
}

#[derive(Deserialize)]
struct Trace {
    #[serde(default)]
    common_fields: Common,
    event_fields: Option<serde::de::IgnoredAny>,
    #[serde(default)]
    events: Vec<Logged>,
}

fn refuse(reason: impl Into<String>) -> CaptureError {
    CaptureError::Qlog { reason: reason.into() }
}

/// Reads a qlog to its end.
///
/// # Parameters
/// `on_event`: called for each event that concerns the path; if it returns false, reading ends.
///
/// # Errors
/// If the file is not JSON or not a qlog, has no named events, or is too large for one document.
pub fn read_qlog(
    source: impl Read,
    on_event: &mut dyn FnMut(QuicEvent, Counts) -> bool,
) -> Result<Counts, CaptureError> {
    let mut source = BufReader::new(source);
    let first = source.fill_buf().map_err(|e| CaptureError::Read(e.to_string()))?;
    let is_sequence = first.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&RECORD);
    let mut log = Log { counts: Counts { resolution_ns: 1_000_000, ..Counts::default() }, on_event };
    match is_sequence {
        true => log.sequence(source)?,
        false => log.document(source)?,
    }
    Ok(log.counts)
}

struct Log<'a> {
    counts: Counts,
    on_event: &'a mut dyn FnMut(QuicEvent, Counts) -> bool,
}

impl Log<'_> {
    fn document(&mut self, source: impl Read) -> Result<(), CaptureError> {
        let mut text = Vec::new();
        source.take(LARGEST_DOCUMENT + 1).read_to_end(&mut text).map_err(|e| CaptureError::Read(e.to_string()))?;
        if text.len() as u64 > LARGEST_DOCUMENT {
            return Err(refuse(format!("one document of more than {LARGEST_DOCUMENT} bytes: log as JSON-SEQ")));
        }
        let document: Document = serde_json::from_slice(&text).map_err(|e| refuse(e.to_string()))?;
        drop(text);
        known_version(&document)?;
        for (number, trace) in document.traces.into_iter().flatten().enumerate() {
            let mut clock = clock(&trace)?;
            for event in &trace.events {
                if !self.take(event, number, &mut clock) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn sequence(&mut self, mut source: impl BufRead) -> Result<(), CaptureError> {
        let mut clock: Option<Clock> = None;
        let mut record = Vec::new();
        loop {
            record.clear();
            let read = (&mut source).take(LARGEST_RECORD).read_until(RECORD, &mut record);
            let length = read.map_err(|e| CaptureError::Read(e.to_string()))?;
            if length == 0 {
                return Ok(());
            }
            if length as u64 == LARGEST_RECORD {
                return Err(refuse(format!("a record of more than {LARGEST_RECORD} bytes")));
            }
            let is_last = record.last() != Some(&RECORD);
            let text = record.strip_suffix(&[RECORD]).unwrap_or(&record).trim_ascii();
            if text.is_empty() {
                continue;
            }
            let Some(clock) = &mut clock else {
                let head: Document = serde_json::from_slice(text).map_err(|e| refuse(e.to_string()))?;
                known_version(&head)?;
                let Some(trace) = &head.trace else { return Err(refuse("the first record has no `trace`")) };
                clock = Some(self::clock(trace)?);
                continue;
            };
            match serde_json::from_slice::<Logged>(text) {
                Ok(event) => {
                    if !self.take(&event, 0, clock) {
                        return Ok(());
                    }
                }
                Err(_) if is_last => self.counts.is_truncated = true,
                Err(_) => {
                    self.counts.frames += 1;
                    self.counts.malformed += 1;
                }
            }
        }
    }

    /// Processes an event; returns false if the reader wants no more.
    fn take(&mut self, event: &Logged, trace: usize, clock: &mut Clock) -> bool {
        self.counts.frames += 1;
        let Some(time_ns) = clock.at(event) else {
            self.counts.untimed += 1;
            return true;
        };
        if time_ns % 1_000_000 != 0 {
            // times since 1970 in floats of milliseconds have a resolution of about 1 us
            self.counts.resolution_ns = 1000;
        }
        let whats = match event.what() {
            What::Path(whats) => whats,
            What::Other => {
                self.counts.not_tcp += 1;
                return true;
            }
            What::Malformed => {
                self.counts.malformed += 1;
                return true;
            }
        };
        self.counts.segments += 1;
        self.counts.backward += u64::from(clock.went_back());
        let (frame, counts) = (self.counts.frames, self.counts);
        whats.into_iter().all(|what| (self.on_event)(QuicEvent { frame, trace, time_ns, what }, counts))
    }
}

fn known_version(document: &Document) -> Result<(), CaptureError> {
    if document.qlog_version.is_none() && document.qlog_format.is_none() {
        return Err(refuse("it has no `qlog_version`"));
    }
    match document.traces.is_none() && document.trace.is_none() {
        true => Err(refuse("it has no `traces`")),
        false => Ok(()),
    }
}

fn clock(trace: &Trace) -> Result<Clock, CaptureError> {
    if trace.event_fields.is_some() {
        return Err(refuse("its events are rows without names (`event_fields`), as before version 0.3"));
    }
    Clock::new(&trace.common_fields).ok_or_else(|| {
        refuse(format!("unknown `time_format`: `{}`", trace.common_fields.time_format.as_deref().unwrap_or_default()))
    })
}

#[cfg(test)]
mod tests;
