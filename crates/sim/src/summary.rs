//! What a run leaves behind: numbers per flow and per link, and on request a time series.

use serde::Serialize;

/// Summary of a run; rates and delays count from the warm-up's end.
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

/// Statistics of a delay, ms. Without samples they are zero here and null in JSON, where a zero would be a claim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(into = "Sampled")]
pub struct DelayStats {
    /// Number of samples.
    pub samples: u64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Smallest.
    pub min: f64,
    /// Median, to within 1 %.
    pub p50: f64,
    /// 95th percentile, to within 1 %.
    pub p95: f64,
    /// 99th percentile, to within 1 %.
    pub p99: f64,
    /// Largest.
    pub max: f64,
}

/// How `DelayStats` is written.
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

/// One flow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowSummary {
    /// As the scenario names it.
    pub id: String,
    /// The controller's name.
    pub cca: String,
    /// Data acknowledged, each packet once, over the time the flow was active after the warm-up (wire bytes).
    pub throughput_mbps: f64,
    /// The same without headers.
    pub goodput_mbps: f64,
    /// RTT samples.
    pub rtt_ms: DelayStats,
    /// RTT samples less rtprop.
    pub qdelay_ms: DelayStats,
    /// Packets declared lost, by packets lost or delivered: at most 1, also when a loss was sent before the warm-up's end.
    pub loss_rate: f64,
    /// Packets declared lost, each loss once; some may have been sent before the warm-up's end.
    pub lost_pkts: u64,
    /// Packets sent more than once.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Congestion-experienced marks, by packets delivered; at most 1, though a packet that arrives twice may be marked
    /// twice.
    pub mark_rate: f64,
    /// Data packets sent, retransmissions included.
    pub sent_pkts: u64,
    /// Packets delivered and acknowledged.
    pub delivered_pkts: u64,
    /// When a finite flow was done, seconds after its start.
    pub completion_s: Option<f64>,
    /// Promises that path elements could not keep (virtual link beyond its bound).
    pub violations: u64,
}

/// One link.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkSummary {
    /// As the scenario names it.
    pub name: String,
    /// Bytes served by bytes that could have been.
    pub utilization: f64,
    /// Time that packets waited for the link, transmission excluded.
    pub queue_ms: DelayStats,
    /// Packets refused.
    pub drops: u64,
    /// Packets marked.
    pub marks: u64,
    /// Packets that arrived.
    pub arrivals: u64,
}
