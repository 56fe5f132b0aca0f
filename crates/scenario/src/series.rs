//! Time series of a run, one row per interval and flow (or link), as columns.

use crate::{HopCounts, MeteredHop};
use fairweir_units::{Dur, Time, mbps};

/// One row per interval and flow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowSeries {
    /// End of the interval, ns.
    pub t_ns: Vec<u64>,
    /// Index of the flow in the scenario.
    pub flow: Vec<u32>,
    /// Throughput (acknowledged data) in the interval.
    pub throughput_mbps: Vec<f64>,
    /// cwnd at the end of the interval.
    pub cwnd_bytes: Vec<u64>,
    /// Inflight at the end of the interval.
    pub inflight_bytes: Vec<u64>,
    /// Pacing rate at the end of the interval; NaN if the controller does not pace.
    pub pacing_rate_mbps: Vec<f64>,
    /// Mean RTT sample in the interval; NaN without samples.
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
    /// Bytes in the hop at the end of the interval.
    pub queue_bytes: Vec<u64>,
    /// Bytes accepted during the interval, as a rate.
    pub arrival_rate_mbps: Vec<f64>,
    /// Packets dropped in the interval.
    pub drops: Vec<u64>,
    /// Packets marked in the interval.
    pub marks: Vec<u64>,
}

impl LinkSeries {
    /// Adds a row for each of `hops` for the interval of `length` that ends at `at`. `last` contains the counters at
    /// the start of the interval, and is set to those at its end.
    pub fn sample<'a>(
        &mut self,
        at: Time,
        length: Dur,
        hops: impl Iterator<Item = &'a mut MeteredHop>,
        last: &mut [HopCounts],
    ) {
        for (index, (hop, last)) in hops.zip(last).enumerate() {
            let counts = hop.counts - *last;
            self.t_ns.push(at.as_nanos());
            self.link.push(index as u32);
            self.queue_bytes.push(hop.hop.backlog(at).bytes.0);
            self.arrival_rate_mbps.push(mbps(counts.served_bytes, length));
            self.drops.push(counts.drops);
            self.marks.push(counts.marks);
            *last = hop.counts;
        }
    }
}

/// The time series of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Per flow.
    pub flows: FlowSeries,
    /// Per link.
    pub links: LinkSeries,
}
