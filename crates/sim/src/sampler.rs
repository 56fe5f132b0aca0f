//! Records the time series.

use crate::flow::Flow;
use crate::net::Net;
use crate::watch::Watch;
use fairweir_scenario::{Config, HopCounts, Series};
use fairweir_units::{Dur, Rate, Time, mbps};

#[derive(Debug)]
pub(crate) struct Sampler {
    interval: Dur,
    due: Time,
    last: Time,
    series: Series,
    flows: Vec<FlowBase>,
    links: Vec<HopCounts>,
}

/// Counters at the end of the last interval.
#[derive(Clone, Copy, Debug, Default)]
struct FlowBase {
    delivered: u64,
    lost: u64,
    rtt: RttSum,
}

/// Number and sum of RTT samples so far, modulo the type's range. The base of an interval may be below zero, i.e. wrap
/// around.
#[derive(Clone, Copy, Debug, Default)]
struct RttSum {
    ns: u128,
    samples: u64,
}

impl RttSum {
    fn of(flow: &Flow) -> RttSum {
        let (ns, samples) = flow.stats.rtt.total();
        RttSum { ns, samples }
    }

    fn since(self, base: RttSum) -> RttSum {
        RttSum { ns: self.ns.wrapping_sub(base.ns), samples: self.samples.wrapping_sub(base.samples) }
    }
}

impl Sampler {
    /// Creates a sampler; flows number their packets from `first_packet`.
    pub(crate) fn new(interval: Dur, config: &Config, first_packet: u64) -> Sampler {
        Sampler {
            interval,
            due: Time::ZERO + interval,
            last: Time::ZERO,
            series: Series::default(),
            flows: vec![FlowBase { delivered: first_packet, ..FlowBase::default() }; config.flows.len()],
            links: vec![HopCounts::default(); config.links.len()],
        }
    }

    pub(crate) fn due(&self) -> Time {
        self.due
    }

    /// Adjusts the bases of the current interval before the flows' histograms are reset, so that the interval continues
    /// across the reset.
    pub(crate) fn carry_over(&mut self, flows: &[Flow]) {
        for (flow, base) in flows.iter().zip(&mut self.flows) {
            base.rtt = RttSum::default().since(RttSum::of(flow).since(base.rtt));
        }
    }

    /// Closes the interval that ends at `now`.
    pub(crate) fn sample<W: Watch>(&mut self, now: Time, flows: &[Flow], net: &mut Net<W>) {
        let length = now.since(self.last);
        if length == Dur::ZERO {
            return;
        }
        self.sample_flows(now, length, flows);
        let hops = net.hops.iter_mut().map(|hop| &mut hop.metered);
        self.series.links.sample(now, length, hops, &mut self.links);
        self.last = now;
        self.due += self.interval;
    }

    fn sample_flows(&mut self, now: Time, length: Dur, flows: &[Flow]) {
        let rows = &mut self.series.flows;
        for (index, (flow, base)) in flows.iter().zip(&mut self.flows).enumerate() {
            let sender = flow.sender();
            let rtt = RttSum::of(flow);
            let RttSum { ns, samples } = rtt.since(base.rtt);
            let rtt_ms = ns as f64 / 1e6 / samples as f64;
            rows.t_ns.push(now.as_nanos());
            rows.flow.push(index as u32);
            rows.throughput_mbps.push(mbps(flow.wire_bytes(flow.delivered() - base.delivered).0, length));
            rows.cwnd_bytes.push(flow.cwnd().0);
            rows.inflight_bytes.push(flow.wire_bytes(sender.inflight()).0);
            rows.pacing_rate_mbps
                .push(flow.pacing_rate().map_or(f64::NAN, |rate| Rate::from_bytes_per_sec(rate).as_mbps_f64()));
            rows.rtt_ms.push(if samples == 0 { f64::NAN } else { rtt_ms });
            rows.lost_pkts.push(sender.lost - base.lost);
            *base = FlowBase { delivered: flow.delivered(), lost: sender.lost, rtt };
        }
    }

    pub(crate) fn finish(self) -> Series {
        self.series
    }
}
