//! Quantities of a run on which tests set bounds. The first flow of a run is the one under test.

use fairweir_scenario::Summary;
use std::ops::RangeInclusive;

/// A quantity of a run.
#[derive(Clone, Debug)]
pub struct Metric {
    pub(crate) name: &'static str,
    pub(crate) unit: &'static str,
    /// The values that it can have; intervals are limited to them.
    pub(crate) range: RangeInclusive<f64>,
    pub(crate) value: fn(&Summary) -> Option<f64>,
}

impl Metric {
    /// Creates a metric. `value` returns `None` if a run has no sample of it.
    ///
    /// ```
    /// use fairweir_testing::{Dumbbell, Flow, Metric};
    ///
    /// const RETRANSMITS: Metric =
    ///     Metric::new("retransmits", "packets", 0.0..=f64::INFINITY, |run| Some(run.flows[0].retransmits as f64));
    /// Dumbbell::new("12Mbps", "20ms").alone(&Flow::named("reno")).assert(&RETRANSMITS, ..500.0);
    /// ```
    pub const fn new(
        name: &'static str,
        unit: &'static str,
        range: RangeInclusive<f64>,
        value: fn(&Summary) -> Option<f64>,
    ) -> Metric {
        Metric { name, unit, range, value }
    }
}

const FRACTION: RangeInclusive<f64> = 0.0..=1.0;
const POSITIVE: RangeInclusive<f64> = 0.0..=f64::INFINITY;

/// Bytes that the link served divided by the bytes that it could have served, by all flows.
pub const UTILIZATION: Metric = Metric::new("utilization", "", FRACTION, |run| Some(run.links[0].utilization));

/// Throughput of the flow under test.
pub const THROUGHPUT_MBPS: Metric =
    Metric::new("throughput", "Mbps", POSITIVE, |run| Some(run.flows[0].throughput_mbps));

/// Throughput of the flow under test divided by that of all flows.
pub const SHARE: Metric = Metric::new("share", "", FRACTION, |run| {
    let all: f64 = run.flows.iter().map(|flow| flow.throughput_mbps).sum();
    (all > 0.0).then(|| run.flows[0].throughput_mbps / all)
});

/// Jain's fairness index of the throughputs.
pub const JAIN: Metric = Metric::new("Jain's index", "", FRACTION, |run| {
    let (sum, squares) =
        run.flows.iter().map(|flow| flow.throughput_mbps).fold((0.0, 0.0), |(s, q), x| (s + x, q + x * x));
    (squares > 0.0).then(|| sum * sum / (run.flows.len() as f64 * squares))
});

/// Mean time that packets of all flows waited for the link.
pub const QUEUE_MEAN_MS: Metric = Metric::new("mean queueing delay", "ms", POSITIVE, |run| {
    let queue = run.links[0].queue_ms;
    (queue.samples > 0).then_some(queue.mean)
});

/// 95th percentile of the time that packets of all flows waited for the link, to within 1 %.
pub const QUEUE_P95_MS: Metric = Metric::new("p95 of the queueing delay", "ms", POSITIVE, |run| {
    let queue = run.links[0].queue_ms;
    (queue.samples > 0).then_some(queue.p95)
});

/// 95th percentile of RTT minus rtprop of the flow under test, to within 1 %: the queue, jitter, transmission times and
/// delayed ACKs.
pub const QDELAY_P95_MS: Metric = Metric::new("p95 of RTT - rtprop", "ms", POSITIVE, |run| {
    let qdelay = run.flows[0].qdelay_ms;
    (qdelay.samples > 0).then_some(qdelay.p95)
});

/// Packets of the flow under test that were lost, divided by those lost or delivered.
pub const LOSS_RATE: Metric = Metric::new("loss rate", "", FRACTION, |run| Some(run.flows[0].loss_rate));

/// Retransmission timeouts of the flow under test in the whole run.
pub const TIMEOUTS: Metric = Metric::new("timeouts", "", POSITIVE, |run| Some(run.flows[0].timeouts as f64));
