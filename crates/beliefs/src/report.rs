//! Converts a capture to beliefs about the path of each flow.

use crate::links::{Link, Sets, delivered_rate, judge_link};
use crate::place::Place;
use crate::{
    Aggregation, Belief, Bins, CcacBelief, Fate, Flow, Flows, LeftOut, Moment, Packet, Period, Pieces, QuicFlow,
};
use crate::{Interval, Limit, Verdict, View, groups, merge};
use fairweir_capture::{CaptureError, Counts, Reader, is_qlog, read_qlog};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::ops::ControlFlow;

/// Number of segments between two calls of the progress callback; reading them takes a few tens of milliseconds.
const SEGMENTS_A_CALL: u64 = 1 << 15;

/// Maximum number of flows reported individually; those that delivered most are chosen.
const MAX_FLOWS: usize = 1000;
/// Minimum number of data packets for beliefs. A flow with fewer packets than the initial window (RFC 6928) never
/// waits.
const MIN_PACKETS: usize = 10;

/// Report of a capture.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Counts of the file's packets.
    pub capture: Counts,
    /// Flows with captured acknowledgements, ordered by delivered data, largest first.
    pub flows: Vec<FlowReport>,
    /// Bottlenecks of these flows.
    pub links: Vec<LinkReport>,
    /// Number of flows without captured acknowledgements. The fates of their packets are unknown.
    pub flows_without_acks: usize,
    /// Counts of data that were not analyzed.
    pub left_out: LeftOut,
}

/// A bottleneck and its flows.
#[derive(Clone, Debug, Serialize)]
pub struct LinkReport {
    /// Numbers of the flows: each is the flow's position in the report's list, from 1.
    pub flows: Vec<usize>,
    /// Beliefs about the bottleneck.
    #[serde(flatten)]
    pub link: Link,
}

/// Beliefs about a flow's path.
#[derive(Clone, Debug, Serialize)]
pub struct FlowReport {
    /// Source, as `address:port`.
    pub src: String,
    /// Destination.
    pub dst: String,
    /// Position of the capture.
    pub view: View,
    /// Frame number of the first packet.
    pub first_frame: u64,
    /// Packets sent.
    pub packets: usize,
    /// Packets retransmitted before they were acknowledged.
    pub lost_packets: usize,
    /// IP packets that were acknowledged, bytes.
    pub delivered_bytes: u64,
    /// Number of the flow's bottleneck in the report's list, from 1; `None` if undetermined.
    pub link: Option<usize>,
    /// Waiting time of the flow's packets, if the capture can show it.
    pub queue: Option<Waiting>,
    /// Propagation delay, ns: from the minimum that any model allows to the minimum RTT. A model's own upper bound may
    /// be lower: packets of a burst that a bucket passes leave sooner than behind a constant link.
    pub rtprop_ns: Option<Interval>,
    /// The CBR-delay model's belief set, from all flows of its link; `None` if no packet was delivered, no rate
    /// explains them, or the capture has no queue ahead.
    pub cbr_delay: Option<Belief>,
    /// The flow, cut at the changes of its link's rate; `None` if there are no changes and the belief sets hold for the
    /// whole flow.
    pub pieces: Option<Pieces>,
    /// The CCAC model's bounds over time; they restart with each piece.
    pub shrinking: Vec<Moment>,
    /// ACK aggregation.
    pub aggregation: Option<Aggregation>,
    /// The flow's limiting factors over time.
    pub limits: Vec<Period>,
    /// Time series.
    pub series: Bins,
    /// The CCAC model's belief set for the same jitter; `None` if the CBR-delay model has no belief set.
    pub ccac: Option<CcacBelief>,
    /// Verdicts on the models, those with fewest behaviors first; empty without a belief set.
    pub models: Vec<Verdict>,
}

/// Waiting time of a flow's packets: RTT minus the RTT of an empty path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Waiting {
    /// RTT of the empty path: the minimum RTT, or less if other flows of the link observed a shorter queue, ns.
    pub rtt_min_ns: u64,
    /// Median of the waiting time, ns.
    pub median_ns: u64,
    /// 95th percentile of the waiting time, ns.
    pub p95_ns: u64,
}

impl Waiting {
    /// `empty`: an RTT without queueing, ns, that other flows of the link show to be possible.
    fn new(packets: &[Packet], empty: u64) -> Option<Waiting> {
        let mut rtts: Vec<u64> = packets.iter().filter_map(Packet::rtt).collect();
        rtts.sort_unstable();
        let least = empty.min(*rtts.first()?);
        let at = |percent: usize| rtts[rtts.len() * percent / 100] - least;
        Some(Waiting { rtt_min_ns: least, median_ns: at(50), p95_ns: at(95) })
    }
}

/// Data read for a flow.
struct ReadFlow {
    src: String,
    dst: String,
    place: Place,
    packets: Vec<Packet>,
    delivered_bytes: u64,
    limits: Vec<Period>,
    series: Bins,
}

impl From<Flow> for ReadFlow {
    fn from(flow: Flow) -> ReadFlow {
        ReadFlow {
            src: flow.src.to_string(),
            dst: flow.dst.to_string(),
            place: flow.place,
            delivered_bytes: flow.delivered_bytes,
            limits: flow.periods(),
            series: flow.bins().clone(),
            packets: flow.packets,
        }
    }
}

/// The link's beliefs as they apply to one flow.
struct OfFlow {
    /// Index of the link.
    link: Option<usize>,
    /// The flow's RTT without a queue, as the link's other flows show it, ns.
    empty: u64,
    sets: Sets,
}

impl ReadFlow {
    /// Creates the flow's report from the link's beliefs.
    fn report(self, sets: Option<OfFlow>) -> FlowReport {
        let OfFlow { link, empty, sets } =
            sets.unwrap_or_else(|| OfFlow { link: None, empty: u64::MAX, sets: Sets::default() });
        let rtprop_ns = rtprop(&sets, &self.packets).filter(|_| self.place.has_queue_ahead);
        FlowReport {
            rtprop_ns,
            view: self.place.view,
            first_frame: self.packets.first().map_or(0, |packet| packet.frame.into()),
            packets: self.packets.len(),
            lost_packets: self.packets.iter().filter(|packet| packet.fate == Fate::Lost).count(),
            queue: self.place.has_queue_ahead.then(|| Waiting::new(&self.packets, empty)).flatten(),
            src: self.src,
            dst: self.dst,
            delivered_bytes: self.delivered_bytes,
            link,
            cbr_delay: sets.cbr_delay,
            ccac: sets.ccac,
            models: sets.models,
            pieces: sets.pieces,
            shrinking: sets.shrinking,
            aggregation: sets.aggregation,
            limits: tellable(self.limits, self.place.view),
            series: self.series,
        }
    }

    /// Converts a connection of a qlog. Packet numbers do not show what limited it.
    fn of_quic(number: usize, flow: QuicFlow) -> ReadFlow {
        ReadFlow {
            src: format!("qlog trace {}", number + 1),
            dst: "its peer".to_owned(),
            place: Place { view: View::Sender, has_queue_ahead: true, round_trip_ns: 0 },
            delivered_bytes: flow.delivered_bytes,
            limits: Vec::new(),
            series: flow.bins().clone(),
            packets: flow.packets,
        }
    }
}

/// Removes limits that a capture at this position cannot determine. If hosts' response times are as long as the path's
/// RTT, it is not visible which event triggered a packet. If the capture is not at the sender, the ACK clock is not
/// visible.
fn tellable(periods: Vec<Period>, view: View) -> Vec<Period> {
    let is_unclear = |limit: Limit| match view {
        View::Sender | View::Unknown => false,
        View::Between | View::Receiver => matches!(limit, Limit::Window | Limit::Pacing),
        View::Short => matches!(limit, Limit::Window | Limit::Pacing | Limit::Application),
    };
    let mut out: Vec<Period> = Vec::with_capacity(periods.len());
    for mut period in periods {
        if is_unclear(period.limit) {
            period.limit = Limit::Unknown;
        }
        match out.last_mut() {
            Some(last) if last.limit == period.limit => {
                (last.to_ns, last.last_frame) = (period.to_ns, period.last_frame)
            }
            _ => out.push(period),
        }
    }
    out
}

/// Range of a flow's propagation delay over all belief sets, ns.
fn rtprop(sets: &Sets, packets: &[Packet]) -> Option<Interval> {
    let least = packets.iter().filter_map(Packet::rtt).min()? as f64;
    let (cbr_delay, ccac) = (sets.cbr_delay.as_ref(), sets.ccac.as_ref());
    let of_models = [cbr_delay.map(|belief| belief.rtprop_ns.lo), ccac.map(|belief| belief.rtprop_ns.lo)];
    let lowest = of_models.into_iter().flatten().reduce(f64::min).unwrap_or(0.0);
    Some(Interval { lo: lowest.min(least), hi: Some(least) })
}

/// Reads a capture to its end and explains its flows. Returns `None` if `on_progress` interrupted it.
///
/// # Parameters
/// `on_progress`: called periodically, and before each flow, with the number of frames read.
///
/// # Errors
/// Returns an error if the capture is empty, of an unknown format or damaged, or if reading fails.
pub fn report(
    source: impl Read + Send,
    on_progress: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> Result<Option<Report>, CaptureError> {
    let mut source = BufReader::new(source);
    let first = source.fill_buf().map_err(|e| CaptureError::Read(e.to_string()))?;
    let read = if is_qlog(first) { connections(source, on_progress) } else { segments(source, on_progress) };
    let Some((capture, flows, flows_without_acks, left_out)) = read? else { return Ok(None) };
    let Some((flows, links)) = explain_all(flows, capture.resolution_ns as f64, &mut || on_progress(capture.frames))
    else {
        return Ok(None);
    };
    Ok(Some(Report { capture, flows, links, flows_without_acks, left_out }))
}

/// Explains flows, with those that share a bottleneck together; `None` if interrupted.
fn explain_all(
    mut flows: Vec<ReadFlow>,
    resolution: f64,
    go_on: &mut dyn FnMut() -> ControlFlow<()>,
) -> Option<(Vec<FlowReport>, Vec<LinkReport>)> {
    flows.sort_by_key(|flow| std::cmp::Reverse(flow.delivered_bytes));
    let telling: Vec<usize> =
        (0..flows.len()).filter(|&i| flows[i].packets.len() >= MIN_PACKETS && flows[i].place.has_queue_ahead).collect();
    let packets: Vec<&[Packet]> = telling.iter().map(|&i| flows[i].packets.as_slice()).collect();
    let (mut links, mut sets): (Vec<LinkReport>, BTreeMap<usize, OfFlow>) = (Vec::new(), BTreeMap::new());
    for group in groups(&packets) {
        if go_on().is_break() {
            return None;
        }
        let members: Vec<&[Packet]> = group.members.iter().map(|&(i, _)| packets[i]).collect();
        let judged = match members[..] {
            [only] => judge_link(&members, only, resolution),
            _ => judge_link(&members, &merge(&packets, &group), resolution),
        };
        let Some((mut link, of_link)) = judged else { continue };
        link.propagation_spread_ns = group.members.iter().map(|&(_, later)| later).max().unwrap_or(0);
        let least = |packets: &[Packet]| packets.iter().filter_map(Packet::rtt).min();
        let seen = group.members.iter().filter_map(|&(i, later)| Some(least(packets[i])?.saturating_sub(later)));
        let empty = seen.min().unwrap_or(u64::MAX / 2);
        let numbers: Vec<usize> = group.members.iter().map(|&(i, _)| telling[i]).collect();
        for &(i, later) in &group.members {
            let sets_of_flow = of_link.clone().with_propagation(later as f64);
            let of_flow = OfFlow { link: Some(links.len() + 1), empty: empty + later, sets: sets_of_flow };
            sets.insert(telling[i], of_flow);
        }
        links.push(LinkReport { flows: numbers.iter().map(|i| i + 1).collect(), link });
    }
    for (i, flow) in flows.iter().enumerate() {
        if flow.packets.len() >= MIN_PACKETS
            && !flow.place.has_queue_ahead
            && let Some(link) = delivered_rate(&flow.packets, flow.place.round_trip_ns)
        {
            sets.insert(i, OfFlow { link: Some(links.len() + 1), empty: u64::MAX, sets: Sets::default() });
            links.push(LinkReport { flows: vec![i + 1], link });
        }
    }
    let reports = flows.into_iter().enumerate().map(|(i, flow)| flow.report(sets.remove(&i))).collect();
    Some((reports, links))
}

/// Counts of the file, flows with acknowledgements, number of flows without, counts of the data left out; `None` if
/// interrupted.
type ReadFlows = Result<Option<(Counts, Vec<ReadFlow>, usize, LeftOut)>, CaptureError>;

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
    let (flows, left_out) = flows.finish(MAX_FLOWS);
    let (known, unknown): (Vec<Flow>, Vec<Flow>) = flows.into_iter().partition(|flow| flow.has_acks);
    Ok(Some((reader.counts(), known.into_iter().map(ReadFlow::from).collect(), unknown.len(), left_out)))
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
    let flows = known.into_iter().map(|(number, flow)| ReadFlow::of_quic(number, flow));
    Ok(Some((counts, flows.collect(), unknown.len(), LeftOut::default())))
}
