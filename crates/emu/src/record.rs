//! Results of the emulator.

use fairweir_scenario::LinkSummary;
use fairweir_scenario::recorder::{FlowRecord, MeasuredSeries};
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
