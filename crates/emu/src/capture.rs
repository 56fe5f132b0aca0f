//! Capture of packet headers at one of the devices. The forwarding thread buffers the packets, and another thread with
//! normal priority writes them.

use crate::EmuError;
use fairweir_capture::Writer;
use fairweir_path::Direction;
use fairweir_tcp::Side;
use fairweir_units::{Dur, During, Time};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{SystemTime, UNIX_EPOCH};

/// Bytes passed to the writing thread at once: about 8,000 packets.
const CHUNK: usize = 1 << 20;

/// Destination of a capture.
#[derive(Clone, Debug)]
pub struct CaptureTo {
    /// A pcap file; an existing one is overwritten.
    pub file: PathBuf,
    /// Side of the capture.
    pub side: Side,
}

/// Collects bytes into chunks and passes them to the writing thread.
#[derive(Debug)]
struct Chunks {
    open: Vec<u8>,
    full: Sender<Vec<u8>>,
}

impl Write for Chunks {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.open.len() + bytes.len() > CHUNK {
            self.flush()?;
        }
        self.open.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let full = std::mem::replace(&mut self.open, Vec::with_capacity(CHUNK));
        // Sending fails only if the writing thread has ended with an error, which `finish` returns.
        let _ = self.full.send(full);
        Ok(())
    }
}

/// A capture in progress.
#[derive(Debug)]
pub(crate) struct Capture {
    side: Side,
    /// The run's start, as the time since 1970.
    zero: Time,
    packets: Writer<Chunks>,
    writing: JoinHandle<io::Result<()>>,
    file: PathBuf,
}

impl Capture {
    /// Creates the file and starts the thread that writes it.
    pub(crate) fn start(to: &CaptureTo) -> Result<Capture, EmuError> {
        let action = || format!("write the capture {}", to.file.display());
        let file = File::create(&to.file).during(action)?;
        let (full, chunks) = channel();
        let writing = Builder::new().name("capture".into()).spawn(move || write_all(file, &chunks)).during(action)?;
        let packets = Writer::new(Chunks { open: Vec::with_capacity(CHUNK), full }).during(action)?;
        Ok(Capture { side: to.side, zero: Time::ZERO, packets, writing, file: to.file.clone() })
    }

    /// Marks the start of the run.
    pub(crate) fn go(&mut self) {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.zero = Time::from_nanos(since.as_nanos() as u64);
    }

    /// Records a packet if it passes this capture's side: sent from its namespace or delivered to it, at `now`.
    pub(crate) fn note(&mut self, now: Time, passage: Passage, packet: &[u8]) {
        if passage.side() == self.side {
            let at = self.zero + Dur::from_nanos(now.as_nanos());
            let length = u32::from(ip_bytes(packet).unwrap_or(packet.len() as u16));
            // Writing to chunks does not fail.
            let _ = self.packets.packet(at, packet, length);
        }
    }

    /// Waits until all packets are written.
    pub(crate) fn finish(self) -> Result<(), EmuError> {
        let action = |path: &Path| format!("write the capture {}", path.display());
        drop(self.packets.finish().during(|| action(&self.file))?);
        let written = self.writing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok(written.during(|| action(&self.file))?)
    }
}

/// How a packet passes a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passage {
    /// Sent from a namespace, in this direction.
    Sent(Direction),
    /// Delivered to a namespace, in this direction.
    Delivered(Direction),
}

impl Passage {
    fn side(self) -> Side {
        match self {
            Passage::Sent(Direction::Data) | Passage::Delivered(Direction::Ack) => Side::Sender,
            Passage::Sent(Direction::Ack) | Passage::Delivered(Direction::Data) => Side::Receiver,
        }
    }
}

fn write_all(mut file: File, chunks: &Receiver<Vec<u8>>) -> io::Result<()> {
    chunks.iter().try_for_each(|chunk| file.write_all(&chunk))?;
    file.flush()
}

/// Returns the packet's length from its IPv4 header, which is also correct for super-packets.
fn ip_bytes(packet: &[u8]) -> Option<u16> {
    let length = packet.get(2..4)?;
    Some(u16::from_be_bytes([length[0], length[1]])).filter(|&bytes| usize::from(bytes) >= packet.len().min(20))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairweir_capture::{Reader, SNAPLEN};

    fn packet(length: u16) -> Vec<u8> {
        let mut packet = vec![0; usize::from(length)];
        packet[0] = 0x45;
        packet[2..4].copy_from_slice(&length.to_be_bytes());
        (packet[9], packet[12], packet[16], packet[32]) = (6, 10, 10, 0x50);
        packet
    }

    #[test]
    fn one_side_is_recorded_in_the_order_of_time() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("a.pcap");
        let mut capture = Capture::start(&CaptureTo { file: file.clone(), side: Side::Sender }).expect("a file");
        capture.go();
        let (data, ack) = (packet(1500), packet(40));
        let many = 20_000u64;
        for i in 0..many {
            capture.note(Time::from_nanos(i * 1000), Passage::Sent(Direction::Data), &data);
            capture.note(Time::from_nanos(i * 1000 + 1), Passage::Delivered(Direction::Data), &data);
            capture.note(Time::from_nanos(i * 1000 + 2), Passage::Delivered(Direction::Ack), &ack);
        }
        capture.finish().expect("all is written");
        let bytes = std::fs::read(&file).expect("a capture");
        assert_eq!(bytes.len() as u64, 24 + many * (2 * 16 + SNAPLEN as u64 + 40));
        let mut reader = Reader::new(bytes.as_slice()).expect("a capture");
        let mut lengths = Vec::new();
        while let Some(segment) = reader.next_segment().expect("a segment") {
            lengths.push(segment.ip_bytes);
        }
        assert_eq!(lengths, [1500, 40].repeat(many as usize));
        assert_eq!(reader.counts().backward, 0);
    }

    #[test]
    fn a_file_that_cannot_be_made_is_named() {
        let to = CaptureTo { file: "/no/such/folder/a.pcap".into(), side: Side::Sender };
        let message = Capture::start(&to).expect_err("no folder").to_string();
        assert!(message.starts_with("write the capture /no/such/folder/a.pcap: No such file"), "{message}");
    }
}
