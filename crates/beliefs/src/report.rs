//! A capture to what may be believed of each flow's path.

use crate::{Belief, Bins, Fate, Flow, Flows, Period, RateBounds, View, explain, rate_bounds};
use fairweir_capture::{CaptureError, Counts, Reader};
use serde::Serialize;
use std::io::Read;
use std::ops::ControlFlow;

/// D is assumed to be at most this many times the least that explains the flow.
const JITTER_FACTOR: f64 = 2.0;
/// Segments between two calls of the progress callback: some ten milliseconds of reading.
const SEGMENTS_A_CALL: u64 = 1 << 15;

/// What a capture held and what its flows say.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// What the file held.
    pub capture: Counts,
    /// Flows whose acknowledgements were captured, in the order of their first data.
    pub flows: Vec<FlowReport>,
    /// Flows of which no acknowledgement was captured: nothing is known of their packets' fates.
    pub flows_without_acks: usize,
}

/// What a flow says of its path.
#[derive(Clone, Debug, Serialize)]
pub struct FlowReport {
    /// Who sends, as `address:port`.
    pub src: String,
    /// To whom.
    pub dst: String,
    /// Where the capture was taken.
    pub view: View,
    /// The first packet's number in the file.
    pub first_frame: u64,
    /// Packets sent.
    pub packets: usize,
    /// Those that were sent again before they were acknowledged.
    pub lost_packets: usize,
    /// IP packets that were acknowledged, bytes.
    pub delivered_bytes: u64,
    /// The CBR-delay model's belief set; `None` if nothing was delivered or no rate explains the flow.
    pub cbr_delay: Option<Belief>,
    /// The CCAC model's bounds, for the same jitter and the time of a packet on the link, which that model has in its
    /// jitter; `None` without a belief set.
    pub ccac: Option<RateBounds>,
    /// What limited it when, in the order of time.
    pub limits: Vec<Period>,
    /// It over time.
    pub series: Bins,
}

impl FlowReport {
    fn new(flow: &Flow) -> FlowReport {
        let cbr_delay = explain(&flow.packets, |least| JITTER_FACTOR * least);
        let ccac = cbr_delay.as_ref().and_then(|belief| {
            let largest = flow.packets.iter().map(|packet| packet.bytes).max().unwrap_or(0);
            let transmission_ns = f64::from(largest) / belief.rate_bytes_per_s.lo * 1e9;
            rate_bounds(&flow.packets, (belief.jitter_assumed_ns + transmission_ns).ceil() as u64)
        });
        FlowReport {
            src: flow.src.to_string(),
            dst: flow.dst.to_string(),
            view: flow.view,
            first_frame: flow.first_frame,
            packets: flow.packets.len(),
            lost_packets: flow.packets.iter().filter(|packet| packet.fate == Fate::Lost).count(),
            delivered_bytes: flow.delivered_bytes,
            ccac,
            cbr_delay,
            limits: flow.periods(),
            series: flow.bins().clone(),
        }
    }
}

/// Reads a capture to its end and explains its flows; `None` if `on_progress` broke it off.
///
/// # Parameters
/// `on_progress`: called now and then, and before each flow, with the number of frames read.
///
/// # Errors
/// If the capture is empty, foreign or damaged, or cannot be read on.
pub fn report(
    source: impl Read + Send,
    on_progress: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> Result<Option<Report>, CaptureError> {
    let mut reader = Reader::new(source)?;
    let mut flows = Flows::default();
    while let Some(segment) = reader.next_segment()? {
        flows.add(&segment);
        let counts = reader.counts();
        if counts.segments.is_multiple_of(SEGMENTS_A_CALL) && on_progress(counts.frames).is_break() {
            return Ok(None);
        }
    }
    let capture = reader.counts();
    let (known, unknown): (Vec<Flow>, Vec<Flow>) = flows.finish().into_iter().partition(|flow| flow.has_acks);
    let mut explained = Vec::with_capacity(known.len());
    for flow in &known {
        if on_progress(capture.frames).is_break() {
            return Ok(None);
        }
        explained.push(FlowReport::new(flow));
    }
    Ok(Some(Report { capture, flows: explained, flows_without_acks: unknown.len() }))
}
