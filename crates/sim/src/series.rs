//! Time series of a run, one row per interval and flow (or link), as columns.

/// One row per interval and flow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowSeries {
    /// End of the interval, ns.
    pub t_ns: Vec<u64>,
    /// Index of the flow in the scenario.
    pub flow: Vec<u32>,
    /// Data acknowledged in the interval.
    pub throughput_mbps: Vec<f64>,
    /// cwnd at its end.
    pub cwnd_bytes: Vec<u64>,
    /// In flight at its end.
    pub inflight_bytes: Vec<u64>,
    /// Pacing rate at its end; NaN where the controller does not pace.
    pub pacing_rate_mbps: Vec<f64>,
    /// Mean RTT sample in the interval; NaN without one.
    pub rtt_ms: Vec<f64>,
    /// Packets declared lost in the interval.
    pub lost_pkts: Vec<u64>,
}

/// One row per interval and link.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkSeries {
    /// End of the interval, ns.
    pub t_ns: Vec<u64>,
    /// Index of the link in the scenario.
    pub link: Vec<u32>,
    /// Bytes in the hop at its end.
    pub queue_bytes: Vec<u64>,
    /// Bytes taken in during the interval, as a rate.
    pub arrival_rate_mbps: Vec<f64>,
    /// Packets refused in the interval.
    pub drops: Vec<u64>,
    /// Packets marked in the interval.
    pub marks: Vec<u64>,
}

/// The time series of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Per flow.
    pub flows: FlowSeries,
    /// Per link.
    pub links: LinkSeries,
}
