//! A capture to what may be believed of each flow's path.

use crate::{
    Aggregation, Belief, Bins, CcacBelief, Fate, Flow, Flows, Moment, Packet, Parts, Period, Pieces, QuicFlow, Record,
    Slice, TokenBucket, Verdict, View,
};
use crate::{aggregation, cut, explain, explain_ccac, judge, policer, shaper, shrink};
use fairweir_capture::{CaptureError, Counts, Reader, is_qlog, read_qlog};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::ops::ControlFlow;

/// The jitter at the true rate by that at the rate that needs least.
const FITTED: f64 = 1.25;
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
    /// The flow cut at the changes of its link's rate; `None`: there are none to tell, and the sets above are the flow's.
    /// With changes no one path explains it, and those sets are `None`.
    pub pieces: Option<Pieces>,
    /// The CCAC model's bounds over time, from one piece's beginning to its end.
    pub shrinking: Vec<Moment>,
    /// A token bucket that explains what a constant link does not.
    pub token_bucket: Option<TokenBucket>,
    /// Acknowledgements that came in bursts.
    pub aggregation: Option<Aggregation>,
    /// What limited it when, in the order of time.
    pub limits: Vec<Period>,
    /// It over time.
    pub series: Bins,
    /// The CCAC model's belief set for the same jitter; `None` without one of the CBR-delay model.
    pub ccac: Option<CcacBelief>,
    /// Which models explain the flow, fewest behaviours first; empty without a belief set.
    pub models: Vec<Verdict>,
}

/// What was read of a flow.
struct Told {
    src: String,
    dst: String,
    view: View,
    packets: Vec<Packet>,
    delivered_bytes: u64,
    limits: Vec<Period>,
    series: Bins,
}

impl From<Flow> for Told {
    fn from(flow: Flow) -> Told {
        Told {
            src: flow.src.to_string(),
            dst: flow.dst.to_string(),
            view: flow.view,
            delivered_bytes: flow.delivered_bytes,
            limits: flow.periods(),
            series: flow.bins().clone(),
            packets: flow.packets,
        }
    }
}

impl Told {
    /// A connection of a qlog: what limited it cannot be told from packet numbers.
    fn of_quic(number: usize, flow: QuicFlow) -> Told {
        Told {
            src: format!("qlog trace {}", number + 1),
            dst: "its peer".to_owned(),
            view: View::Sender,
            delivered_bytes: flow.delivered_bytes,
            limits: Vec::new(),
            series: flow.bins().clone(),
            packets: flow.packets,
        }
    }
}

impl FlowReport {
    fn new(flow: Told, resolution_ns: f64) -> FlowReport {
        let curves = Record::new(&flow.packets);
        let record = curves.as_ref();
        let parts = record.and_then(Parts::new);
        let largest = flow.packets.iter().map(|packet| packet.bytes).max().unwrap_or(0);
        let whole = explain(&flow.packets, |simplest| assumed_jitter(simplest, largest));
        // one rate is enough where its jitter is no larger than R (thesis section 4.1.1)
        let is_enough = |belief: &Belief| belief.simplest.jitter_least_ns() <= belief.simplest.rtprop_most_ns;
        let pieces = match &whole {
            Some(belief) if is_enough(belief) => None,
            _ => parts.as_ref().and_then(cut),
        };
        let shaper = parts.as_ref().and_then(|parts| shaper(&flow.packets, parts));
        let cbr_delay = whole.filter(|_| pieces.is_none());
        let ccac = cbr_delay.as_ref().and_then(|belief| explain_ccac(record?, belief.jitter_assumed_ns));
        let models = record.zip(cbr_delay.as_ref()).map_or_else(Vec::new, |(record, belief)| {
            // thesis section 4.1.1: jitter may be as large as R, and no larger
            let most = belief.simplest.rtprop_most_ns;
            judge(record, belief, resolution_ns, most)
        });
        let jitter = match (&cbr_delay, &pieces) {
            (Some(belief), _) => belief.jitter_assumed_ns,
            (None, Some(pieces)) => pieces.jitter_assumed_ns,
            (None, None) => 0.0,
        };
        let frames = pieces.iter().flat_map(|pieces| &pieces.pieces).map(|piece| (piece.from_frame, piece.to_frame));
        let frames: Vec<_> = frames.collect();
        let shrinking = record.map_or_else(Vec::new, |record| shrink(record, jitter, &frames));
        drop(curves); // larger than the packets, and what follows needs as much
        let token_bucket = shaper.or_else(|| policer(&flow.packets, cbr_delay.as_ref()?));
        let aggregation = cbr_delay.as_ref().and_then(|belief| aggregation(&flow.packets, &belief.simplest));
        FlowReport {
            src: flow.src,
            dst: flow.dst,
            view: flow.view,
            first_frame: flow.packets.first().map_or(0, |packet| packet.frame.into()),
            packets: flow.packets.len(),
            lost_packets: flow.packets.iter().filter(|packet| packet.fate == Fate::Lost).count(),
            delivered_bytes: flow.delivered_bytes,
            token_bucket,
            aggregation,
            pieces,
            shrinking,
            models,
            ccac,
            cbr_delay,
            limits: flow.limits,
            series: flow.series,
        }
    }
}

/// The D that is granted to a path, ns: what its simplest explanation needs, with a quarter of it for what that explains
/// too well (it was chosen among all rates), and a packet's time, since a link serves packets whole and receivers
/// acknowledge every second.
fn assumed_jitter(simplest: &Slice, largest: u32) -> f64 {
    FITTED * simplest.jitter_least_ns() + f64::from(largest) * 1e9 / simplest.rate_bytes_per_s
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
    let mut source = BufReader::new(source);
    let first = source.fill_buf().map_err(|e| CaptureError::Read(e.to_string()))?;
    let read = if is_qlog(first) { connections(source, on_progress) } else { segments(source, on_progress) };
    let Some((capture, flows, flows_without_acks)) = read? else { return Ok(None) };
    let mut explained = Vec::with_capacity(flows.len());
    for flow in flows {
        if on_progress(capture.frames).is_break() {
            return Ok(None);
        }
        explained.push(FlowReport::new(flow, capture.resolution_ns as f64));
    }
    Ok(Some(Report { capture, flows: explained, flows_without_acks }))
}

/// Counts, flows with acknowledgements, how many have none; `None` if broken off.
type ReadFlows = Result<Option<(Counts, Vec<Told>, usize)>, CaptureError>;

fn segments(source: impl Read + Send, on_progress: &mut dyn FnMut(u64) -> ControlFlow<()>) -> ReadFlows {
    let mut reader = Reader::new(source)?;
    let mut flows = Flows::default();
    while let Some(segment) = reader.next_segment()? {
        flows.add(&segment);
        let counts = reader.counts();
        if counts.segments.is_multiple_of(SEGMENTS_A_CALL) && on_progress(counts.frames).is_break() {
            return Ok(None);
        }
    }
    let (known, unknown): (Vec<Flow>, Vec<Flow>) = flows.finish().into_iter().partition(|flow| flow.has_acks);
    Ok(Some((reader.counts(), known.into_iter().map(Told::from).collect(), unknown.len())))
}

fn connections(source: impl Read, on_progress: &mut dyn FnMut(u64) -> ControlFlow<()>) -> ReadFlows {
    let mut flows: BTreeMap<usize, QuicFlow> = BTreeMap::new();
    let mut is_broken = false;
    let counts = read_qlog(source, &mut |event, counts| {
        flows.entry(event.trace).or_insert_with(|| QuicFlow::new(event.time_ns)).add(&event);
        is_broken = counts.segments.is_multiple_of(SEGMENTS_A_CALL) && on_progress(counts.frames).is_break();
        !is_broken
    })?;
    if is_broken {
        return Ok(None);
    }
    flows.values_mut().for_each(QuicFlow::finish);
    let sending = flows.into_iter().filter(|(_, flow)| !flow.packets.is_empty());
    let (known, unknown): (Vec<_>, Vec<_>) = sending.partition(|(_, flow)| flow.has_acks());
    let told = known.into_iter().map(|(number, flow)| Told::of_quic(number, flow));
    Ok(Some((counts, told.collect(), unknown.len())))
}
