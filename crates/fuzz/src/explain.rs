//! Untrusted captures: containers with arbitrary content, segments in any order, logs.

use arbitrary::{Arbitrary, Unstructured};
use fairweir_beliefs::{FlowReport, Interval, report};
use std::ops::ControlFlow;

/// Header of a pcap file: times in ns, raw IP.
const HEAD: [u8; 24] = [0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 0, 0, 101, 0, 0, 0];
/// Maximum number of segments of a generated capture.
const SEGMENTS: usize = 400;
/// Size of the IPv4 and TCP headers without options, bytes.
const HEADERS: u32 = 40;
/// Size of the SACK option with one block and two bytes of padding, bytes.
const SACK: u32 = 12;

/// Reads `bytes` as a capture: it must be rejected with a hint, or explained.
///
/// # Panics
/// If the capture is neither rejected with a hint nor explained, or if beliefs are inconsistent.
pub fn explain(bytes: &[u8]) {
    match report(bytes, &mut |_| ControlFlow::Continue(())) {
        Err(e) => assert!(!e.to_string().is_empty() && !e.hint().is_empty()),
        Ok(explained) => {
            let explained = explained.expect("nothing broke it off");
            explained.flows.iter().for_each(consistent);
            serde_json::to_string(&explained).expect("a document");
        }
    }
}

/// Reads `bytes` as segments of a connection, in an order and at times that no host would produce.
///
/// # Panics
/// If the segments are not read and explained.
pub fn segments(bytes: &[u8]) {
    let mut made = HEAD.to_vec();
    let mut source = Unstructured::new(bytes);
    let mut at = 0;
    for _ in 0..SEGMENTS {
        let Ok(segment) = Segment::arbitrary(&mut source) else { break };
        at = segment.write(at, &mut made);
        if source.is_empty() {
            break;
        }
    }
    explain(&made);
}

/// Checks that lower bounds of beliefs do not exceed upper bounds.
fn consistent(flow: &FlowReport) {
    assert!(flow.lost_packets <= flow.packets);
    if let Some(belief) = &flow.cbr_delay {
        [belief.rate_bytes_per_s, belief.rtprop_ns, belief.buffer_bytes].into_iter().for_each(ordered);
        assert!(belief.jitter_assumed_ns >= 0.0);
    }
    if let Some(belief) = &flow.ccac {
        [belief.rate_bytes_per_s(), belief.rtprop_ns, belief.buffer_bytes].into_iter().for_each(ordered);
    }
    for pair in flow.pieces.iter().flat_map(|pieces| pieces.pieces.windows(2)) {
        assert!(pair[0].from_ns <= pair[1].from_ns, "{pair:?}");
    }
}

fn ordered(range: Interval) {
    assert!(range.lo.is_finite() && range.hi.is_none_or(|hi| hi.is_finite() && hi >= range.lo), "{range:?}");
}

/// A segment of either end.
#[derive(Arbitrary, Debug)]
struct Segment {
    is_data: bool,
    /// Time since the previous segment, ns; usually the clock advances.
    pause: u32,
    goes_back: Option<u16>,
    /// Sequence number in units that let segments overlap.
    seq: u8,
    payload: u16,
    ack: u8,
    flags: u8,
    window: u16,
    sack: Option<(u8, u8)>,
    wraps: bool,
}

impl Segment {
    /// Appends the segment to `out`, where the previous segment has the time `before` (ns); returns the segment's time.
    fn write(&self, before: u64, out: &mut Vec<u8>) -> u64 {
        let back = self.goes_back.map_or(0, |back| u64::from(back) << 10);
        let at = (before + u64::from(self.pause % 50_000_000)).saturating_sub(back);
        let number = |n: u8| {
            let start: u32 = if self.wraps { u32::MAX - 20_000 } else { 1 };
            start.wrapping_add(u32::from(n) * 1000)
        };
        let payload = if self.is_data { u32::from(self.payload) % 20_000 } else { 0 };
        let options = if self.sack.is_some() { SACK } else { 0 };
        let (captured, wire) = (HEADERS + options, HEADERS + options + payload);
        for word in [(at / 1_000_000_000) as u32, (at % 1_000_000_000) as u32, captured, wire] {
            out.extend(word.to_le_bytes());
        }
        let (src, dst) = if self.is_data { (1, 2) } else { (2, 1) };
        out.extend([0x45, 0]);
        out.extend((wire as u16).to_be_bytes());
        out.extend([0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, src, 10, 0, 0, dst, 0, src, 0, dst]);
        out.extend(number(self.seq).to_be_bytes());
        out.extend(number(self.ack).to_be_bytes());
        out.extend([((5 + options / 4) as u8) << 4, self.flags | 16]);
        out.extend(self.window.to_be_bytes());
        out.extend([0; 4]);
        if let Some((left, right)) = self.sack {
            out.extend([5, 10]);
            out.extend(number(left).to_be_bytes());
            out.extend(number(right).to_be_bytes());
            out.extend([1, 1]);
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The beginning of a qlog; any event may come after it.
    const QLOG: &str = r#"{"qlog_version":"0.3","traces":[{"events":["#;

    proptest! {
        #[test]
        fn any_bytes_are_explained_or_refused(body in proptest::collection::vec(any::<u8>(), 0..600), begins in 0u8..3) {
            let head: &[u8] = [&HEAD[..], QLOG.as_bytes(), b"\n\r\r\n"][usize::from(begins)];
            explain(&[head, &body].concat());
        }

        #[test]
        fn any_segments_are_explained(bytes in proptest::collection::vec(any::<u8>(), 0..4000)) {
            segments(&bytes);
        }

        #[test]
        fn any_events_are_explained_or_refused(
            events in proptest::collection::vec((0u32..1000, 0u32..40, 0u32..40, 0u8..3), 0..60),
        ) {
            let event = |&(ms, one, other, kind): &(u32, u32, u32, u8)| match kind {
                0 => format!(r#"{{"time":{ms},"name":"x:packet_sent","data":{{"header":{{"packet_number":{one}}},"raw":{{"length":{other}00}}}}}}"#),
                1 => format!(r#"{{"time":{ms},"name":"x:packet_received","data":{{"frames":[{{"frame_type":"ack","acked_ranges":[[{one},{other}]]}}]}}}}"#),
                _ => format!(r#"{{"time":{ms},"name":"x:packet_lost","data":{{"header":{{"packet_number":{one}}}}}}}"#),
            };
            let events: Vec<String> = events.iter().map(event).collect();
            explain(format!("{QLOG}{}]}}]}}", events.join(",")).as_bytes());
        }
    }
}
