//! Results of the emulator.

use fairweir_scenario::{DelayStats, LinkSeries, LinkSummary};
use fairweir_units::Time;
use serde::Serialize;

/// Measurements of the emulator in a run. Flows and links are in the scenario's order; counts are from the warm-up's
/// end to the run's.
#[derive(Clone, Debug, PartialEq)]
pub struct EmulatorRecord {
    /// Accuracy of the emulation.
    pub accuracy: Accuracy,
    /// Per flow.
    pub flows: Vec<FlowRecord>,
    /// Per link.
    pub links: Vec<LinkSummary>,
    /// Data packets delivered and acknowledged in the whole run.
    pub delivered_pkts: u64,
    /// Present if [`fairweir_scenario::Config::interval`] is.
    pub series: Option<MeasuredSeries>,
    /// Time at which the run ended, at most its duration.
    pub end: Time,
}

/// Traffic between one sender and its receiver, as seen at the sender's side of the network.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowRecord {
    /// From a data packet's entry into the network to the delivery of the ACK that newly covers it; packets sent more
    /// than once give no sample.
    pub rtt_ms: DelayStats,
    /// RTT minus the scenario's rtprop, ms.
    pub qdelay_ms: DelayStats,
    /// Data packets sent, retransmissions included.
    pub sent_pkts: u64,
    /// Of these, retransmissions.
    pub retransmits: u64,
    /// Packets delivered and acknowledged, each once.
    pub delivered_pkts: u64,
    /// Wire bytes of these.
    pub delivered_bytes: u64,
    /// Data packets that arrived with a congestion-experienced mark of this network.
    pub marked_pkts: u64,
    /// Data packets that the network lost.
    pub dropped_pkts: u64,
    /// ACKs and other packets from the receiver that the network lost.
    pub dropped_acks: u64,
    /// Violated bounds of path elements.
    pub violations: u64,
    /// Time when the flow's first data packet entered the network.
    pub first_sent: Option<Time>,
    /// Time of the last ACK of new data.
    pub last_delivered: Option<Time>,
}

/// Time series measured in the network: one row per interval and flow (interval by interval, flows in order), and the
/// links' as in the simulator.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MeasuredSeries {
    /// End of the interval, ns.
    pub t_ns: Vec<u64>,
    /// Index of the flow in the scenario.
    pub flow: Vec<u32>,
    /// Data acknowledged in the interval.
    pub throughput_mbps: Vec<f64>,
    /// Mean RTT sample in the interval; NaN without one.
    pub rtt_ms: Vec<f64>,
    /// Per link.
    pub links: LinkSeries,
}

/// Accuracy of the emulation, and whether the run can be judged.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Accuracy {
    /// Actual minus intended time at which packets left the emulator.
    pub release_error_us: ReleaseError,
    /// Lateness of the emulator's wake-ups: about the delay with which an arrival is read.
    pub wake_error_us: ReleaseError,
    /// Frames that the emulator released.
    pub packets: u64,
    /// Limit on `release_error_us.p99`.
    pub budget_us: f64,
    /// Whether the budget was met and nothing else failed.
    pub judged: bool,
    /// Reason if not; otherwise empty.
    pub reason: String,
    /// `mtu` or `tso`.
    pub mode: &'static str,
    /// CPU time of the emulator's thread by the run's time; a receiver's TCP runs on it too.
    pub cpu_fraction: f64,
    /// Frames that a device refused or that belonged to no flow.
    pub strays: u64,
}

/// Percentiles of a lateness, µs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ReleaseError {
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    /// Maximum.
    pub max: f64,
}
