//! The engine: builds a scenario's flows and hops, processes the events in order, and computes the summary.

use crate::arrivals::Arrivals;
use crate::flow::{Flow, FlowStats};
use crate::net::{HopStats, Net, SharedHop};
use crate::outcome::{Factory, Outcome, Progress, SimError};
use crate::route::{Direction, Place, Route, Stage};
use crate::sampler::Sampler;
use crate::schedule::{Leaf, Schedule};
use crate::watch::Watch;
use fairweir_cca::{Controller, Start};
use fairweir_scenario::{
    Config, FlowSpec, FlowSummary, LinkSummary, Summary, Timing, controller_stream, element_stream, hop_stream,
    hop_timings, mbps, ratio,
};
use fairweir_units::{Dur, Time};

/// Events between two calls of the progress callback: about a millisecond of work.
const EVENTS_PER_PROGRESS: u64 = 1 << 15;
/// Bytes of headers in a data packet: 20 IP + 32 TCP with timestamps, for goodput.
const HEADER_BYTES: f64 = 52.0;

/// Meaning of a schedule leaf that is not a flow (flows have the first leaves).
#[derive(Clone, Copy, Debug)]
enum Stream {
    Stage {
        flow: usize,
        direction: Direction,
        stage: usize,
    },
    /// A hop that decides on leave dequeues its head packet.
    Service(usize),
    /// A hop processes a batch of arrivals.
    Batch(usize),
}

#[derive(Debug)]
pub(crate) struct Engine<'a, W> {
    config: &'a Config,
    flows: Vec<Flow>,
    net: Net<W>,
    /// Streams that follow those of the flows.
    streams: Vec<Stream>,
    /// Tie-break id of the next stream.
    next_name: u32,
    /// Flow, direction and stage of each tag.
    tags: Vec<(usize, Direction, usize)>,
    sampler: Option<Sampler>,
    /// Counters of each flow when the warm-up ended.
    base: Vec<Baseline>,
    /// Number of each flow's first packet: 0 except in tests of runs that cross 2^32.
    first_packet: u64,
    events: u64,
}

/// A hop on a flow's path.
#[derive(Clone, Copy, Debug)]
struct Visit {
    direction: Direction,
    stage: usize,
    hop: usize,
    /// Packets reach it at the time they are sent: it is the first hop, with no delay before it.
    is_immediate: bool,
}

fn visits(spec: &FlowSpec) -> impl Iterator<Item = Visit> + '_ {
    [(Direction::Data, &spec.path), (Direction::Ack, &spec.ack_path)].into_iter().flat_map(move |(direction, hops)| {
        hops.iter().enumerate().map(move |(stage, &hop)| {
            let is_immediate = direction == Direction::Data && stage == 0 && spec.ingress.is_empty();
            Visit { direction, stage, hop, is_immediate }
        })
    })
}

#[derive(Clone, Copy, Debug, Default)]
struct Baseline {
    delivered: u64,
    lost: u64,
    delivered_ce: u64,
}

impl<'a, W: Watch> Engine<'a, W> {
    pub(crate) fn new(config: &'a Config, factory: &Factory<'_>, watch: W) -> Result<Engine<'a, W>, SimError> {
        Engine::with_timings(config, factory, &hop_timings(config), 0, watch)
    }

    /// Builds the engine for `config`; a hop with a timing that decides on arrival takes its arrivals in batches. Flows
    /// number their packets from `first_packet`.
    fn with_timings(
        config: &'a Config,
        factory: &Factory<'_>,
        timings: &[Option<Timing>],
        first_packet: u64,
        watch: W,
    ) -> Result<Engine<'a, W>, SimError> {
        let mut hops: Vec<SharedHop> = config
            .links
            .iter()
            .enumerate()
            .map(|(index, spec)| SharedHop::new(spec, hop_stream(config.seed, index)))
            .collect();
        let mut streams = Vec::new();
        let flows = config.flows.len();
        for (index, (hop, timing)) in hops.iter_mut().zip(timings).enumerate() {
            let leaf = flows + streams.len();
            if hop.hop.decides_on_leave() {
                streams.push(Stream::Service(index));
                hop.leaf = Some(leaf);
            } else if let Some(timing) = *timing {
                streams.push(Stream::Batch(index));
                hop.arrivals = Some(Arrivals::new(leaf, timing));
            }
        }
        let own = config.flows.iter().flat_map(visits);
        let own = own.filter(|visit| !visit.is_immediate && hops[visit.hop].arrivals.is_none()).count();
        let leaves = flows + streams.len() + own;
        let mut engine = Engine {
            config,
            flows: Vec::with_capacity(flows),
            net: Net { hops, schedule: Schedule::new(leaves, config.seed), watch },
            streams,
            next_name: flows as u32,
            tags: Vec::new(),
            sampler: config.interval.map(|interval| Sampler::new(interval, config, first_packet)),
            base: vec![Baseline { delivered: first_packet, ..Baseline::default() }; flows],
            first_packet,
            events: 0,
        };
        for leaf in engine.net.hops.iter().filter_map(|hop| hop.leaf) {
            engine.net.schedule.rename(leaf, engine.next_name);
            engine.next_name += 1;
        }
        for (index, spec) in config.flows.iter().enumerate() {
            engine.add_flow(index, spec, factory)?;
        }
        Ok(engine)
    }

    fn add_flow(&mut self, index: usize, spec: &FlowSpec, factory: &Factory<'_>) -> Result<(), SimError> {
        let controller = self.controller(index, spec, factory)?;
        let mut elements = 0;
        let mut route = Route::new(self.config, spec, self.first_packet, index, || {
            elements += 1;
            element_stream(self.config.seed, index, elements)
        });
        for visit in visits(spec) {
            let stage = self.add_stage(index, &visit);
            match visit.direction {
                Direction::Data => route.stages.push(stage),
                Direction::Ack => route.ack_stages.push(stage),
            }
        }
        route.settle(&self.net);
        let rng = controller_stream(self.config.seed, index);
        let flow = Flow::new(self.config, spec, self.first_packet, controller, route, rng);
        self.net.schedule.set(index, flow.first_event());
        self.flows.push(flow);
        Ok(())
    }

    fn add_stage(&mut self, flow: usize, visit: &Visit) -> Stage {
        let Visit { direction, stage, hop, is_immediate } = *visit;
        let place = if is_immediate {
            Place::Immediate
        } else {
            let name = self.next_name;
            self.next_name += 1;
            if self.net.hops[hop].arrivals.is_some() {
                Place::AtHop { name }
            } else {
                let leaf = self.config.flows.len() + self.streams.len();
                self.streams.push(Stream::Stage { flow, direction, stage });
                self.net.schedule.rename(leaf, name);
                Place::Own(leaf)
            }
        };
        self.tags.push((flow, direction, stage));
        Stage::new(hop, place, self.tags.len() as u32 - 1)
    }

    fn controller(
        &self,
        index: usize,
        spec: &FlowSpec,
        factory: &Factory<'_>,
    ) -> Result<Box<dyn Controller>, SimError> {
        let start = Start {
            mss: self.config.packet,
            initial_cwnd: self.config.packet * spec.initial_cwnd,
            oracle_rtprop: spec.oracle_rtprop,
            first_packet: self.first_packet,
            seed: self.config.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ index as u64,
        };
        factory(spec, &start).map_err(|source| SimError::Build { flow: spec.id.clone(), source })
    }

    pub(crate) fn run(mut self, progress: &mut Progress<'_>) -> Result<Outcome, SimError> {
        let flows = self.flows.len();
        let end = Time::ZERO + self.config.duration;
        let mut next_control = self.next_control(Time::ZERO);
        loop {
            let (now, leaf, is_ack) = self.net.schedule.first();
            if now >= next_control {
                self.settle_arrivals(next_control);
                if next_control >= end {
                    break;
                }
                self.control(next_control);
                next_control = self.next_control(next_control);
                continue;
            }
            self.events += 1;
            if self.events.is_multiple_of(EVENTS_PER_PROGRESS) && (progress(now).is_break() || self.net.watch.is_done())
            {
                return Err(SimError::Interrupted { at: now });
            }
            if leaf < flows {
                let flow = &mut self.flows[leaf];
                flow.on_event(now, is_ack, &mut self.net);
                if let Some(misbehaviour) = flow.misbehaviour() {
                    let (flow, reason) = (self.config.flows[leaf].id.clone(), misbehaviour.0.clone());
                    return Err(SimError::Controller { flow, at: now, reason });
                }
                continue;
            }
            match self.streams[leaf - flows] {
                Stream::Stage { flow, direction, stage } => {
                    self.flows[flow].route.arrive(direction, stage, now, &mut self.net);
                }
                Stream::Service(hop) => self.service(hop, leaf, now),
                Stream::Batch(hop) => self.take_batch(hop, now, next_control),
            }
        }
        if let Some(sampler) = &mut self.sampler {
            sampler.sample(end, &self.flows, &mut self.net);
        }
        let summary = self.summary();
        Ok(Outcome { summary, series: self.sampler.map(Sampler::finish) })
    }

    /// A hop whose queue decides on leave dequeues its head packet.
    fn service(&mut self, hop: usize, leaf: Leaf, now: Time) {
        let shared = &mut self.net.hops[hop];
        let departure = shared.hop.service(now);
        if let Some(departure) = &departure {
            shared.count(departure.sojourn, &departure.packet, departure.verdict);
        }
        self.net.schedule.set(leaf, shared.hop.service_at());
        if let Some(departure) = departure {
            let (flow, direction, stage) = self.tags[departure.tag as usize];
            self.flows[flow].route.released(direction, stage, (now, departure.verdict), &mut self.net);
        }
    }

    /// A hop takes all arrivals up to `until`, a time before which no further packet can reach it.
    fn take_batch(&mut self, hop: usize, now: Time, until: Time) {
        let Some(arrivals) = &self.net.hops[hop].arrivals else { return };
        let limit = (now + arrivals.timing.lead).min(until);
        while self.take_arrival(hop, limit) {}
        self.reschedule_arrivals(hop);
    }

    /// A hop takes its next arrival if it is before `limit`.
    #[inline(always)]
    fn take_arrival(&mut self, hop: usize, limit: Time) -> bool {
        let Some(arrival) = self.net.hops[hop].arrivals.as_mut().and_then(|arrivals| arrivals.pop_before(limit)) else {
            return false;
        };
        let (flow, direction, stage) = self.tags[arrival.tag as usize];
        self.flows[flow].route.enter_batched(direction, stage, arrival.item, &mut self.net);
        true
    }

    fn reschedule_arrivals(&mut self, hop: usize) {
        if let Some(arrivals) = &self.net.hops[hop].arrivals {
            self.net.schedule.set(arrivals.leaf, arrivals.due());
        }
    }

    /// Handles all arrivals before `limit` at all hops in time order, because the state of the hops is about to be
    /// read.
    fn settle_arrivals(&mut self, limit: Time) {
        let first = |net: &Net<W>, hop: usize| net.hops[hop].arrivals.as_ref().map_or(Time::NEVER, Arrivals::first_at);
        let hops = 0..self.net.hops.len();
        while let Some(hop) = hops.clone().min_by_key(|&hop| first(&self.net, hop)) {
            if !self.take_arrival(hop, limit) {
                break;
            }
        }
        hops.for_each(|hop| self.reschedule_arrivals(hop));
    }

    /// Handles the end of the warm-up and of the time series' intervals.
    fn control(&mut self, now: Time) {
        if now == Time::ZERO + self.config.warmup {
            self.end_warmup();
        }
        if let Some(sampler) = &mut self.sampler
            && sampler.due() <= now
        {
            sampler.sample(now, &self.flows, &mut self.net);
        }
    }

    /// Time of the engine's own next action after `now`: end of warm-up, of an interval or of the run.
    fn next_control(&self, now: Time) -> Time {
        let end = Time::ZERO + self.config.duration;
        let warmup = Time::ZERO + self.config.warmup;
        let warmup = if warmup > now { warmup } else { Time::NEVER };
        self.sampler.as_ref().map_or(Time::NEVER, Sampler::due).min(warmup).min(end)
    }

    fn end_warmup(&mut self) {
        if let Some(sampler) = &mut self.sampler {
            sampler.carry_over(&self.flows, &self.net);
        }
        for (flow, base) in self.flows.iter_mut().zip(&mut self.base) {
            let sender = flow.sender();
            *base = Baseline { delivered: sender.delivered, lost: sender.lost, delivered_ce: sender.delivered_ce };
            flow.stats = FlowStats::new();
        }
        for hop in &mut self.net.hops {
            hop.stats = HopStats::new();
        }
    }

    fn summary(&self) -> Summary {
        Summary {
            flows: (0..self.flows.len()).map(|i| self.flow_summary(i)).collect(),
            links: (0..self.net.hops.len()).map(|i| self.link_summary(i)).collect(),
            packets: self.flows.iter().map(|flow| flow.sender().delivered - self.first_packet).sum(),
            events: self.events,
        }
    }

    fn flow_summary(&self, index: usize) -> FlowSummary {
        let (spec, flow, base) = (&self.config.flows[index], &self.flows[index], &self.base[index]);
        let (sender, stats) = (flow.sender(), &flow.stats);
        let end = Time::ZERO + self.config.duration;
        let from = (Time::ZERO + self.config.warmup).max(flow.start());
        let until = end.min(flow.stop()).min(flow.completed_at.unwrap_or(Time::NEVER));
        let active = until.since(from);
        let delivered = sender.delivered - base.delivered;
        let lost = sender.lost - base.lost;
        let throughput_mbps = mbps(flow.wire_bytes(delivered).0, active);
        let packet = self.config.packet.0 as f64;
        FlowSummary {
            id: spec.id.clone(),
            cca: spec.cca.clone(),
            throughput_mbps,
            goodput_mbps: throughput_mbps * (packet - HEADER_BYTES).max(0.0) / packet,
            rtt_ms: stats.rtt.stats_less(Dur::ZERO),
            qdelay_ms: stats.rtt.stats_less(spec.rtprop),
            loss_rate: ratio(lost, lost + delivered),
            lost_pkts: lost,
            retransmits: stats.retransmits,
            timeouts: stats.timeouts,
            mark_rate: ratio(sender.delivered_ce - base.delivered_ce, delivered).min(1.0),
            sent_pkts: stats.sent,
            delivered_pkts: delivered,
            completion_s: flow.completed_at.map(|at| at.since(flow.start()).as_secs_f64()),
            violations: flow.route.violations(),
        }
    }

    fn link_summary(&self, index: usize) -> LinkSummary {
        let (spec, hop) = (&self.config.links[index], &self.net.hops[index]);
        let (from, to) = (Time::ZERO + self.config.warmup, Time::ZERO + self.config.duration);
        let possible = hop.hop.link().mean_rate(from, to) * to.since(from);
        LinkSummary {
            name: spec.name.clone(),
            // Packets accepted just before the end are served after it, so utilization is capped at 1.
            utilization: ratio(hop.stats.served.0, possible.0).min(1.0),
            queue_ms: hop.stats.wait.stats_less(Dur::ZERO),
            drops: hop.stats.drops,
            marks: hop.stats.marks,
            arrivals: hop.stats.wait.total().1 + hop.stats.drops,
        }
    }
}

#[cfg(test)]
mod tests;
