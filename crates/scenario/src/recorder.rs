//! Turns counters into the record: the warm-up's cut, the time series, the summary.

use crate::relay::Relay;
pub use crate::tally::{FlowCounts, Meter, Tally};
use crate::{Config, DelayStats, FlowSummary, Histogram, HopCounts, LinkSeries, LinkSummary, goodput_mbps, ratio};
use fairweir_units::{Dur, Time, mbps};

/// All parts of a run's record except the emulation's accuracy.
#[derive(Debug)]
pub struct Recorder<M> {
    warmup: Time,
    end: Time,
    interval: Option<Dur>,
    rtprops: Vec<Dur>,
    link_names: Vec<String>,
    /// Per flow.
    pub meters: Vec<M>,
    /// When the recorder next has something to do; [`Time::NEVER`] after the end.
    due: Time,
    /// End of the interval that is open.
    interval_end: Time,
    /// End of the last closed interval.
    closed: Time,
    /// Counters at the end of the warm-up.
    base: Snapshot,
    /// Counters and RTT sums at the end of the last interval.
    last: Snapshot,
    series: MeasuredSeries,
    /// Set when the run's end is reached; later packets do not count.
    recorded: Option<Recorded>,
}

#[derive(Clone, Debug, Default)]
struct Snapshot {
    at: Time,
    flows: Vec<FlowSnapshot>,
    hops: Vec<HopCounts>,
}

#[derive(Clone, Copy, Debug, Default)]
struct FlowSnapshot {
    counts: FlowCounts,
    dropped: [u64; 2],
    rtt: (Dur, u64),
}

impl<M: Meter> Recorder<M> {
    /// The recorder of a run of `config`, whose flows `meters` measure.
    pub fn new(config: &Config, meters: Vec<M>) -> Recorder<M> {
        let start = Snapshot {
            at: Time::ZERO,
            flows: vec![FlowSnapshot::default(); config.flows.len()],
            hops: vec![HopCounts::default(); config.links.len()],
        };
        let mut recorder = Recorder {
            warmup: Time::ZERO + config.warmup,
            end: Time::ZERO + config.duration,
            interval: config.interval,
            rtprops: config.flows.iter().map(|flow| flow.rtprop).collect(),
            link_names: config.links.iter().map(|link| link.name.clone()).collect(),
            meters,
            due: Time::ZERO,
            interval_end: config.interval.map_or(Time::NEVER, |interval| Time::ZERO + interval),
            closed: Time::ZERO,
            base: start.clone(),
            last: start,
            series: MeasuredSeries::default(),
            recorded: None,
        };
        recorder.due = recorder.next_due(Time::ZERO);
        recorder
    }

    /// Time at which [`Recorder::close`] is next due; [`Time::NEVER`] after the end.
    pub fn due(&self) -> Time {
        self.due
    }

    /// The warm-up, an interval or the run ends at `at`, to which `relay` has advanced.
    pub fn close(&mut self, at: Time, relay: &mut Relay) {
        // First the interval: the warm-up's end starts RTT samples afresh.
        if at == self.interval_end || (at == self.end && self.interval.is_some()) {
            self.end_interval(at, relay);
        }
        if at == self.warmup && at > Time::ZERO {
            self.end_warmup(at, relay);
        }
        self.due = self.next_due(at);
        if at >= self.end {
            self.recorded = Some(self.record(at, relay));
            self.due = Time::NEVER;
        }
    }

    fn next_due(&self, now: Time) -> Time {
        let warmup = if self.warmup > now { self.warmup } else { Time::NEVER };
        self.interval_end.min(warmup).min(self.end)
    }

    fn end_warmup(&mut self, at: Time, relay: &mut Relay) {
        self.base = self.snapshot(at, relay);
        self.meters.iter_mut().for_each(|meter| meter.tally_mut().rtt = Histogram::new());
        relay.hops.iter_mut().for_each(|hop| hop.wait = Histogram::new());
        self.last.flows.iter_mut().for_each(|flow| flow.rtt = Default::default());
    }

    fn snapshot(&self, at: Time, relay: &Relay) -> Snapshot {
        let flow = |(index, meter): (usize, &M)| FlowSnapshot {
            counts: meter.tally().counts,
            dropped: relay.dropped(index),
            rtt: meter.tally().rtt_total(),
        };
        Snapshot {
            at,
            flows: self.meters.iter().enumerate().map(flow).collect(),
            hops: relay.hops.iter().map(|hop| hop.counts).collect(),
        }
    }

    fn end_interval(&mut self, at: Time, relay: &mut Relay) {
        let length = at.since(self.closed);
        if length == Dur::ZERO {
            return;
        }
        let now = self.snapshot(at, relay);
        let rows = &mut self.series;
        for (index, (new, old)) in now.flows.iter().zip(&self.last.flows).enumerate() {
            let samples = new.rtt.1 - old.rtt.1;
            let rtt_ms = new.rtt.0.saturating_sub(old.rtt.0).as_millis_f64() / samples as f64;
            rows.t_ns.push(at.as_nanos());
            rows.flow.push(index as u32);
            let bytes = new.counts.delivered_bytes - old.counts.delivered_bytes;
            rows.throughput_mbps.push(mbps(bytes, length));
            rows.rtt_ms.push(if samples == 0 { f64::NAN } else { rtt_ms });
        }
        self.series.links.sample(at, length, relay.hops.iter_mut(), &mut self.last.hops);
        self.last = now;
        self.closed = at;
        self.interval_end = self.interval.map_or(Time::NEVER, |interval| at + interval);
    }

    /// Whether an interval of the time series ends when [`Recorder::close`] is next due.
    pub fn samples_next(&self) -> bool {
        self.interval.is_some() && (self.due == self.interval_end || self.due == self.end) && self.due > self.closed
    }

    /// Returns the record: of the whole run, or of one stopped at `now`.
    pub fn finish(mut self, now: Time, relay: &Relay) -> Recorded {
        match self.recorded.take() {
            Some(recorded) => recorded,
            None => self.record(now, relay),
        }
    }

    fn record(&mut self, at: Time, relay: &Relay) -> Recorded {
        let total = self.snapshot(at, relay);
        Recorded {
            flows: (0..self.meters.len()).map(|flow| self.flow_record(flow, &total, relay)).collect(),
            links: self.link_summaries(at, relay),
            delivered_pkts: total.flows.iter().map(|flow| flow.counts.delivered).sum(),
            series: self.interval.map(|_| std::mem::take(&mut self.series)),
            end: at,
        }
    }

    fn flow_record(&self, flow: usize, total: &Snapshot, relay: &Relay) -> FlowRecord {
        let (meter, new, old) = (self.meters[flow].tally(), &total.flows[flow], &self.base.flows[flow]);
        let counts = new.counts - old.counts;
        FlowRecord {
            rtt_ms: meter.rtt.stats_less(Dur::ZERO),
            qdelay_ms: meter.rtt.stats_less(self.rtprops[flow]),
            sent_pkts: counts.sent,
            retransmits: counts.retransmits,
            delivered_pkts: counts.delivered,
            delivered_bytes: counts.delivered_bytes,
            marked_pkts: counts.marked,
            dropped_pkts: new.dropped[0] - old.dropped[0],
            dropped_acks: new.dropped[1] - old.dropped[1],
            violations: relay.violations(flow),
            first_sent: meter.first_sent,
            last_delivered: meter.last_delivered,
        }
    }

    fn link_summaries(&self, to: Time, relay: &Relay) -> Vec<LinkSummary> {
        let links = relay.hops.iter().zip(&self.link_names).zip(&self.base.hops);
        links.map(|((hop, name), &base)| hop.summary(name, base, self.base.at, to)).collect()
    }
}

/// Result of [`Recorder::finish`].
#[derive(Debug)]
pub struct Recorded {
    /// Per flow.
    pub flows: Vec<FlowRecord>,
    /// Per link.
    pub links: Vec<LinkSummary>,
    /// Data packets delivered and acknowledged in the whole run.
    pub delivered_pkts: u64,
    /// Present if [`Config::interval`] is.
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

/// Numbers that only a flow's sender has, since the warm-up's end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderCounts {
    /// Packets declared lost.
    pub lost: u64,
    /// Timeouts.
    pub timeouts: u64,
    /// Whether all bytes of a transfer of known length were acknowledged.
    pub is_complete: bool,
}

impl FlowRecord {
    /// Returns the summary of flow number `index` of `config` in a run that ended at `end`.
    pub fn summary(&self, config: &Config, index: usize, end: Time, sender: SenderCounts) -> FlowSummary {
        let spec = &config.flows[index];
        let completed_at = self.last_delivered.filter(|_| sender.is_complete);
        // Throughput counts from the first data, not from the handshake.
        let began = self.first_sent.unwrap_or(spec.start);
        let from = (Time::ZERO + config.warmup).max(began);
        let until = end.min(spec.stop.unwrap_or(Time::NEVER)).min(completed_at.unwrap_or(Time::NEVER));
        let throughput_mbps = mbps(self.delivered_bytes, until.since(from));
        FlowSummary {
            id: spec.id.clone(),
            cca: spec.cca.clone(),
            throughput_mbps,
            goodput_mbps: goodput_mbps(throughput_mbps, config.packet),
            rtt_ms: self.rtt_ms,
            qdelay_ms: self.qdelay_ms,
            loss_rate: ratio(sender.lost, sender.lost + self.delivered_pkts),
            lost_pkts: sender.lost,
            retransmits: self.retransmits,
            timeouts: sender.timeouts,
            mark_rate: ratio(self.marked_pkts, self.delivered_pkts),
            sent_pkts: self.sent_pkts,
            delivered_pkts: self.delivered_pkts,
            completion_s: completed_at.map(|at| at.since(began).as_secs_f64()),
            violations: self.violations,
        }
    }
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
