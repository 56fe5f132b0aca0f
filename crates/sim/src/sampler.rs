//! Records the time series.

use crate::config::Config;
use crate::engine::mbps;
use crate::flow::Flow;
use crate::net::Net;
use crate::series::Series;
use fairweir_units::{Dur, Time};

#[derive(Debug)]
pub(crate) struct Sampler {
    interval: Dur,
    due: Time,
    last: Time,
    series: Series,
    flows: Vec<FlowBase>,
    links: Vec<LinkBase>,
}

/// Counters at the end of the last interval.
#[derive(Clone, Copy, Debug, Default)]
struct FlowBase {
    delivered: u64,
    lost: u64,
    rtt: (Dur, u64),
}

#[derive(Clone, Copy, Debug, Default)]
struct LinkBase {
    served: u64,
    drops: u64,
    marks: u64,
}

impl Sampler {
    pub(crate) fn new(interval: Dur, config: &Config) -> Sampler {
        Sampler {
            interval,
            due: Time::ZERO + interval,
            last: Time::ZERO,
            series: Series::default(),
            flows: vec![FlowBase::default(); config.flows.len()],
            links: vec![LinkBase::default(); config.links.len()],
        }
    }

    pub(crate) fn due(&self) -> Time {
        self.due
    }

    /// The statistics behind histograms and link counters were reset.
    pub(crate) fn rebase(&mut self) {
        self.flows.iter_mut().for_each(|base| base.rtt = Default::default());
        self.links.iter_mut().for_each(|base| *base = LinkBase::default());
    }

    /// Closes the interval that ends at `now`.
    pub(crate) fn sample(&mut self, now: Time, flows: &[Flow], net: &mut Net) {
        let length = now.since(self.last);
        if length == Dur::ZERO {
            return;
        }
        self.sample_flows(now, length, flows);
        self.sample_links(now, length, net);
        self.last = now;
        self.due += self.interval;
    }

    fn sample_flows(&mut self, now: Time, length: Dur, flows: &[Flow]) {
        let rows = &mut self.series.flows;
        for (index, (flow, base)) in flows.iter().zip(&mut self.flows).enumerate() {
            let sender = flow.sender();
            let rtt = flow.stats.rtt.total();
            let samples = rtt.1 - base.rtt.1;
            let rtt_ms = rtt.0.saturating_sub(base.rtt.0).as_millis_f64() / samples as f64;
            rows.t_ns.push(now.as_nanos());
            rows.flow.push(index as u32);
            rows.throughput_mbps.push(mbps(flow.wire_bytes(sender.delivered - base.delivered).0, length));
            rows.cwnd_bytes.push(flow.cwnd().0);
            rows.inflight_bytes.push(flow.wire_bytes(sender.inflight()).0);
            rows.pacing_rate_mbps.push(flow.pacing_rate().map_or(f64::NAN, |rate| rate as f64 * 8e-6));
            rows.rtt_ms.push(if samples == 0 { f64::NAN } else { rtt_ms });
            rows.lost_pkts.push(sender.lost - base.lost);
            *base = FlowBase { delivered: sender.delivered, lost: sender.lost, rtt };
        }
    }

    fn sample_links(&mut self, now: Time, length: Dur, net: &mut Net) {
        let rows = &mut self.series.links;
        for (index, (hop, base)) in net.hops.iter_mut().zip(&mut self.links).enumerate() {
            let new = LinkBase { served: hop.stats.served.0, drops: hop.stats.drops, marks: hop.stats.marks };
            rows.t_ns.push(now.as_nanos());
            rows.link.push(index as u32);
            rows.queue_bytes.push(hop.hop.backlog(now).bytes.0);
            rows.arrival_rate_mbps.push(mbps(new.served - base.served, length));
            rows.drops.push(new.drops - base.drops);
            rows.marks.push(new.marks - base.marks);
            *base = new;
        }
    }

    pub(crate) fn finish(self) -> Series {
        self.series
    }
}
