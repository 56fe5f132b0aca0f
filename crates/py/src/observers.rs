//! Observers of a run: the record of packets, and a capture.

use fairweir_capture::Writer;
use fairweir_scenario::{Config, Observer, PacketEvent, PacketLog};
use fairweir_segments::{SegmentSink, Wire};
use fairweir_tcp::{Segment, Side};
use std::fs::File;
use std::io::{self, BufWriter};
use std::ops::ControlFlow;

/// Writes segments to a file until a write fails.
pub struct Pcap {
    writer: Writer<BufWriter<File>>,
    failure: Option<io::Error>,
}

impl SegmentSink for Pcap {
    fn take(&mut self, segment: &Segment) -> ControlFlow<()> {
        match self.writer.segment(segment) {
            Ok(()) => ControlFlow::Continue(()),
            Err(e) => {
                self.failure = Some(e);
                ControlFlow::Break(())
            }
        }
    }
}

/// All observers of one run.
pub struct Observers {
    /// The record of packets.
    pub log: Option<PacketLog>,
    capture: Option<Wire<Pcap>>,
}

impl Observers {
    /// Creates observers with or without a record of packets.
    pub fn with_log(log: Option<PacketLog>) -> Observers {
        Observers { log, capture: None }
    }

    /// Adds a capture of a run of `config`, written to `path`.
    pub fn capture(&mut self, config: &Config, path: &str, side: Side) -> io::Result<()> {
        let writer = Writer::new(BufWriter::new(File::create(path)?))?;
        self.capture = Some(Wire::new(config, side, Pcap { writer, failure: None }));
        Ok(())
    }

    /// Returns whether there is no observer.
    pub fn is_empty(&self) -> bool {
        self.log.is_none() && self.capture.is_none()
    }

    /// Ends the capture, if there is one.
    pub fn finish_capture(&mut self) -> io::Result<()> {
        let Some(capture) = self.capture.take() else { return Ok(()) };
        let Pcap { writer, failure } = capture.finish();
        match failure {
            Some(e) => Err(e),
            None => writer.finish().map(drop),
        }
    }
}

impl Observer for Observers {
    fn on_packet(&mut self, event: PacketEvent) {
        if let Some(log) = &mut self.log {
            log.on_packet(event);
        }
        if let Some(capture) = &mut self.capture {
            capture.on_packet(event);
        }
    }

    fn is_done(&self) -> bool {
        self.log.as_ref().is_some_and(PacketLog::is_full) || self.capture.as_ref().is_some_and(Wire::is_done)
    }
}
