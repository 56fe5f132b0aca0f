//! Results of an emulator.

use fairweir_scenario::LinkSummary;
use fairweir_scenario::recorder::{FlowRecord, MeasuredSeries};
use fairweir_units::Time;
use serde::Serialize;

/// An emulator's measurements of a run. Flows and links are in the scenario's order. Counts cover the time from the end
/// of the warm-up to the end of the run.
#[derive(Clone, Debug, PartialEq)]
pub struct EmulatorRecord {
    /// Accuracy of the emulation.
    pub accuracy: Accuracy,
    /// Measurements of each flow.
    pub flows: Vec<FlowRecord>,
    /// Measurements of each link.
    pub links: Vec<LinkSummary>,
    /// Number of data packets delivered and acknowledged in the whole run.
    pub delivered_pkts: u64,
    /// Time series; present if [`fairweir_scenario::Config::interval`] is set.
    pub series: Option<MeasuredSeries>,
    /// Time at which the run ended, at most its duration.
    pub end: Time,
}

/// Accuracy of the emulation, and whether the run can be judged.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Accuracy {
    /// Release error: actual minus intended time at which packets left the emulator, µs.
    pub release_error_us: ReleaseError,
    /// Lateness of the emulator's wake-ups, µs; arriving packets are read with about this delay.
    pub wake_error_us: ReleaseError,
    /// Frames that the emulator released.
    pub packets: u64,
    /// Limit on `release_error_us.p99`, µs.
    pub budget_us: f64,
    /// Whether the budget was met and no other failure occurred.
    pub judged: bool,
    /// Why the run is not judged; empty if it is judged.
    pub reason: String,
    /// `mtu` or `tso`.
    pub mode: &'static str,
    /// CPU time of the emulator's thread divided by the duration of the run. The thread also runs receiving TCPs.
    pub cpu_fraction: f64,
    /// Frames that a device rejected or that belonged to no flow.
    pub strays: u64,
    /// Longest time for which the emulator's thread, which also runs receiving TCPs, stalled in each second of the run: the
    /// largest lateness of a release or a wake-up, µs. A stall counts in the second in which it ends.
    pub stalls_us: Vec<f64>,
    /// Times of the hosts' answers, µs.
    pub host_us: HostAnswers,
}

/// Times that hosts take to answer a packet, from its intended release on. Answers after more than 2 ms wait for
/// something else and do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct HostAnswers {
    /// From a data packet to its ACK.
    pub receiver: Answers,
    /// From an ACK to the next data packet, which may wait for the pace of the flow.
    pub sender: Answers,
}

/// Times of a host's answers, µs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Answers {
    /// Number of answers.
    pub samples: u64,
    /// Mean; 0 without samples.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 99th percentile.
    pub p99: f64,
}

/// ReleaseError of a lateness, µs.
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
