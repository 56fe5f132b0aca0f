//! The bytes in flight and the pacing rate, which quiche reports only in its qlog.

use fairweir_units::Rate;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Keys in the metrics of qlog. quiche's pacing rate is in bytes per second.
const INFLIGHT: &[u8] = b"\"bytes_in_flight\":";
const PACING_RATE: &[u8] = b"\"pacing_rate\":";

/// Reads the newest values from the log that is written to it, an event at a time.
#[derive(Clone, Debug, Default)]
pub(super) struct Gauge {
    inflight: Arc<AtomicU64>,
    pacing_rate: Arc<AtomicU64>,
    /// The part of an incomplete event that was written.
    event: Vec<u8>,
}

impl Gauge {
    /// Returns the bytes in flight.
    pub(super) fn inflight(&self) -> u64 {
        self.inflight.load(Relaxed)
    }

    /// Returns the pacing rate; none if there was no value.
    pub(super) fn pacing_rate(&self) -> Option<Rate> {
        Some(self.pacing_rate.load(Relaxed)).filter(|&rate| rate > 0).map(Rate::from_bytes_per_sec)
    }

    fn read(&mut self) {
        for (key, value) in [(INFLIGHT, &self.inflight), (PACING_RATE, &self.pacing_rate)] {
            if let Some(number) = number_after(key, &self.event) {
                value.store(number, Relaxed);
            }
        }
        self.event.clear();
    }
}

/// Returns the whole number that follows `key` in `text`, if `key` is there.
fn number_after(key: &[u8], text: &[u8]) -> Option<u64> {
    let start = text.windows(key.len()).position(|part| part == key)? + key.len();
    let digits = text[start..].iter().take_while(|byte| byte.is_ascii_digit());
    Some(digits.fold(0, |value, digit| 10 * value + u64::from(digit - b'0')))
}

impl Write for Gauge {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.event.extend_from_slice(line);
            if line.ends_with(b"\n") {
                self.read();
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_value_is_read_however_the_log_is_cut() {
        let log = b"{\"data\":{\"bytes_in_flight\":1200,\"pacing_rate\":7}}\n{\"time\":2}\n{\"data\":{\"cwnd\":9,\"bytes_in_flight\":34";
        let mut gauge = Gauge::default();
        let reader = gauge.clone();
        assert_eq!((reader.inflight(), reader.pacing_rate()), (0, None));
        for part in log.chunks(7) {
            gauge.write_all(part).unwrap();
        }
        assert_eq!((reader.inflight(), reader.pacing_rate()), (1_200, Some(Rate::from_bytes_per_sec(7))));
        gauge.write_all(b"56}}\n").unwrap();
        assert_eq!(reader.inflight(), 3_456);
    }
}
