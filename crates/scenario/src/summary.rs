//! Results of a run: numbers per flow and per link, and optionally a time series.

use crate::HEADER_BYTES;
use fairweir_units::Bytes;
use serde::Serialize;

/// Summary of a run; rates and delays exclude the warm-up.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// One per flow, in the scenario's order.
    pub flows: Vec<FlowSummary>,
    /// One per link, in the scenario's order.
    pub links: Vec<LinkSummary>,
    /// Data packets delivered and acknowledged in the whole run.
    pub packets: u64,
    /// Events handled in the whole run.
    pub events: u64,
}

/// Statistics of a delay, ms. Without samples they are zero here, and null in JSON, where a zero could be mistaken for
/// a measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(into = "Sampled")]
pub struct DelayStats {
    /// Number of samples.
    pub samples: u64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Minimum.
    pub min: f64,
    /// Median, to within 1 %.
    pub p50: f64,
    /// 95th percentile, to within 1 %.
    pub p95: f64,
    /// 99th percentile, to within 1 %.
    pub p99: f64,
    /// Maximum.
    pub max: f64,
}

/// Serialized form of `DelayStats`.
#[derive(Serialize)]
struct Sampled {
    samples: u64,
    mean: Option<f64>,
    min: Option<f64>,
    p50: Option<f64>,
    p95: Option<f64>,
    p99: Option<f64>,
    max: Option<f64>,
}

impl From<DelayStats> for Sampled {
    fn from(stats: DelayStats) -> Sampled {
        let written = |ms: f64| (stats.samples > 0).then_some(ms);
        Sampled {
            samples: stats.samples,
            mean: written(stats.mean),
            min: written(stats.min),
            p50: written(stats.p50),
            p95: written(stats.p95),
            p99: written(stats.p99),
            max: written(stats.max),
        }
    }
}

/// Summary of a flow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowSummary {
    /// The flow's id in the scenario.
    pub id: String,
    /// The controller's name.
    pub cca: String,
    /// Acknowledged data, each packet once (wire bytes), divided by the time the flow was active after the warm-up.
    pub throughput_mbps: f64,
    /// Throughput excluding headers, Mbps.
    pub goodput_mbps: f64,
    /// RTT samples.
    pub rtt_ms: DelayStats,
    /// RTT samples minus rtprop.
    pub qdelay_ms: DelayStats,
    /// Packets declared lost divided by packets lost or delivered; at most 1, even if a lost packet was sent during the
    /// warm-up.
    pub loss_rate: f64,
    /// Packets declared lost, each loss once; some may have been sent during the warm-up.
    pub lost_pkts: u64,
    /// Packets sent more than once.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Congestion-experienced marks divided by packets delivered; at most 1, though a packet that arrives twice may be
    /// marked twice.
    pub mark_rate: f64,
    /// Data packets sent, retransmissions included.
    pub sent_pkts: u64,
    /// Packets delivered and acknowledged.
    pub delivered_pkts: u64,
    /// Completion time of a finite flow, seconds after its start.
    pub completion_s: Option<f64>,
    /// Violated bounds of path elements (jitter of a virtual link beyond its bound).
    pub violations: u64,
}

/// Summary of a link.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkSummary {
    /// The link's name in the scenario.
    pub name: String,
    /// Bytes served divided by the bytes that the link could have served.
    pub utilization: f64,
    /// Time that packets waited for the link, transmission excluded.
    pub queue_ms: DelayStats,
    /// Packets dropped.
    pub drops: u64,
    /// Packets marked.
    pub marks: u64,
    /// Packets that arrived.
    pub arrivals: u64,
}

/// Returns the payload part of `throughput_mbps` for packets of size `packet`.
pub fn goodput_mbps(throughput_mbps: f64, packet: Bytes) -> f64 {
    throughput_mbps * packet.0.saturating_sub(HEADER_BYTES) as f64 / packet.0 as f64
}

/// Returns `part` divided by `whole`; 0 if `whole` is 0.
pub fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
