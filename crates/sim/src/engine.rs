//! The engine: builds a scenario's flows and hops, processes the events in order, and computes the summary.

use crate::arrivals::Arrivals;
use crate::flow::{Flow, FlowStats};
use crate::item::StageId;
use crate::net::{Net, SharedHop};
use crate::outcome::{Factory, Outcome, Progress, SimError};
use crate::route::Route;
use crate::sampler::Sampler;
use crate::schedule::{Leaf, Schedule};
use crate::stage::{Place, Stage};
use crate::watch::Watch;
use fairweir_cca::{Controller, Interests, Recovery, Start};
use fairweir_path::{Direction, Ecn, Lane, Visit};
use fairweir_scenario::{
    Config, FlowSpec, FlowSummary, Histogram, HopCounts, Summary, Timing, controller_seed, controller_stream,
    goodput_mbps, hop_timings, network, ratio,
};
use fairweir_units::{Dur, Time, mbps};

/// Events between two calls of the progress callback: about a millisecond of work.
const EVENTS_PER_PROGRESS: u64 = 1 << 15;

/// Meaning of a leaf of the schedule. The first leaves are the flows; this describes the leaves after them.
#[derive(Clone, Copy, Debug)]
enum Stream {
    /// The head packet of a stage reaches the stage's hop.
    Stage(StageAt),
    /// A hop that decides on leave (when it has transmitted a packet) dequeues its head packet.
    Service(usize),
    /// A hop processes a batch of arrivals.
    Batch(usize),
}

/// Position of a stage: hop number `k` of a flow's lane (one direction of its path).
#[derive(Clone, Copy, Debug)]
struct StageAt {
    flow: usize,
    direction: Direction,
    k: usize,
}

#[derive(Debug)]
pub(crate) struct Engine<'a, W> {
    config: &'a Config,
    flows: Vec<Flow>,
    net: Net<W>,
    /// Streams that come after the streams of the flows.
    streams: Vec<Stream>,
    /// Indexed by [`StageId`].
    stages: Vec<StageAt>,
    sampler: Option<Sampler>,
    base: Baseline,
    /// Number of each flow's first packet: 0 except in tests of runs that cross 2^32.
    first_packet: u64,
    events: u64,
}

/// Counters at the end of the warm-up.
#[derive(Debug)]
struct Baseline {
    flows: Vec<FlowBaseline>,
    hops: Vec<HopCounts>,
}

#[derive(Clone, Copy, Debug, Default)]
struct FlowBaseline {
    delivered: u64,
    lost: u64,
    delivered_ce: u64,
}

impl<'a, W: Watch> Engine<'a, W> {
    pub(crate) fn new(config: &'a Config, factory: &Factory<'_>, watch: W) -> Result<Engine<'a, W>, SimError> {
        Engine::with_timings(config, factory, &hop_timings(config), 0, watch)
    }

    /// Builds the engine for `config`. A hop that decides on arrival and has a timing processes its arrivals in
    /// batches. Flows number their packets from `first_packet`.
    fn with_timings(
        config: &'a Config,
        factory: &Factory<'_>,
        timings: &[Option<Timing>],
        first_packet: u64,
        watch: W,
    ) -> Result<Engine<'a, W>, SimError> {
        let (hops, lanes) = network(config);
        let mut streams = Vec::new();
        let flows = config.flows.len();
        let hops: Vec<SharedHop> = hops
            .into_iter()
            .zip(timings)
            .enumerate()
            .map(|(index, (metered, timing))| {
                let next = Leaf(flows + streams.len());
                let mut shared = SharedHop { metered, leaf: None, arrivals: None };
                if shared.metered.hop.decides_on_leave() {
                    streams.push(Stream::Service(index));
                    shared.leaf = Some(next);
                } else if let Some(timing) = *timing {
                    streams.push(Stream::Batch(index));
                    shared.arrivals = Some(Arrivals::new(next, timing));
                }
                shared
            })
            .collect();
        let visits = lanes.iter().flatten().flat_map(Lane::visits);
        let own = visits.filter(|visit| visit.tie.is_some() && hops[visit.hop].arrivals.is_none()).count();
        let mut schedule = Schedule::new(flows + streams.len() + own, config.seed);
        for hop in &hops {
            if let (Some(leaf), Some(tie)) = (hop.leaf, hop.metered.tie) {
                schedule.set_tie_key(leaf, tie);
            }
        }
        let mut engine = Engine {
            config,
            flows: Vec::with_capacity(flows),
            sampler: config.interval.map(|interval| Sampler::new(interval, config, first_packet)),
            base: Baseline {
                flows: vec![FlowBaseline { delivered: first_packet, ..FlowBaseline::default() }; flows],
                hops: vec![HopCounts::default(); hops.len()],
            },
            net: Net { hops, schedule, watch },
            streams,
            stages: Vec::new(),
            first_packet,
            events: 0,
        };
        for (index, lanes) in lanes.into_iter().enumerate() {
            engine.add_flow(index, lanes, factory)?;
        }
        Ok(engine)
    }

    fn add_flow(&mut self, index: usize, lanes: [Lane; 2], factory: &Factory<'_>) -> Result<(), SimError> {
        let (config, leaf) = (self.config, Leaf(index));
        let spec = &config.flows[index];
        let controller = self.controller(index, spec, factory)?;
        let [data, acks] = lanes;
        let data_stages = self.stages_of(index, Direction::Data, &data);
        let ack_stages = self.stages_of(index, Direction::Ack, &acks);
        let lanes = [(data, data_stages), (acks, ack_stages)];
        let codepoints = codepoints(spec.ecn, &controller.interests());
        let route = Route::new(config, spec, codepoints, self.first_packet, leaf, lanes, &self.net);
        let rng = controller_stream(config.seed, index);
        let flow = Flow::new(config, spec, self.first_packet, controller, route, rng);
        self.net.schedule.set(leaf, flow.first_event());
        self.flows.push(flow);
        Ok(())
    }

    /// Returns the stages through which packets of `flow` reach the hops of `lane`.
    fn stages_of(&mut self, flow: usize, direction: Direction, lane: &Lane) -> Vec<Stage> {
        let stage = |(k, visit): (usize, &Visit)| {
            let at = StageAt { flow, direction, k };
            let place = match visit.tie {
                None => Place::Immediate,
                Some(tie) if self.net.hops[visit.hop].arrivals.is_some() => Place::AtHop(tie),
                Some(tie) => {
                    let leaf = Leaf(self.config.flows.len() + self.streams.len());
                    self.streams.push(Stream::Stage(at));
                    self.net.schedule.set_tie_key(leaf, tie);
                    Place::Own(leaf)
                }
            };
            self.stages.push(at);
            Stage::new(StageId(self.stages.len() as u32 - 1), visit.hop, place)
        };
        lane.visits().iter().enumerate().map(stage).collect()
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
            seed: controller_seed(self.config.seed, index),
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
                self.flush_arrivals(next_control);
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
            if leaf.0 < flows {
                let flow = &mut self.flows[leaf.0];
                flow.on_event(now, is_ack, &mut self.net);
                if let Some(misbehaviour) = flow.misbehaviour() {
                    let (flow, reason) = (self.config.flows[leaf.0].id.clone(), misbehaviour.0.clone());
                    return Err(SimError::Controller { flow, at: now, reason });
                }
                continue;
            }
            match self.streams[leaf.0 - flows] {
                Stream::Stage(StageAt { flow, direction, k }) => {
                    self.flows[flow].route.arrive(direction, k, now, &mut self.net);
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

    /// Dequeues the head packet of a hop whose queue decides on leave.
    fn service(&mut self, hop: usize, leaf: Leaf, now: Time) {
        let shared = &mut self.net.hops[hop];
        let departure = shared.metered.service(now, |_| 1);
        self.net.schedule.set(leaf, shared.metered.hop.service_at());
        if let Some(departure) = departure {
            let StageAt { flow, direction, k } = self.stages[departure.tag as usize];
            self.flows[flow].route.released(direction, k, (now, departure.verdict), &mut self.net);
        }
    }

    /// Processes all arrivals of a hop up to `until`. No further packet can reach the hop before this time.
    fn take_batch(&mut self, hop: usize, now: Time, until: Time) {
        let Some(arrivals) = &self.net.hops[hop].arrivals else { return };
        let limit = (now + arrivals.timing.lookahead).min(until);
        while self.take_arrival(hop, limit) {}
        self.reschedule_arrivals(hop);
    }

    /// Processes the next arrival of a hop if it is before `limit`.
    #[inline(always)]
    fn take_arrival(&mut self, hop: usize, limit: Time) -> bool {
        let Some(arrival) = self.net.hops[hop].arrivals.as_mut().and_then(|arrivals| arrivals.pop_before(limit)) else {
            return false;
        };
        let StageAt { flow, direction, k } = self.stages[arrival.stage.0 as usize];
        self.flows[flow].route.enter_batched(direction, k, arrival.item, &mut self.net);
        true
    }

    fn reschedule_arrivals(&mut self, hop: usize) {
        if let Some(arrivals) = &self.net.hops[hop].arrivals {
            self.net.schedule.set(arrivals.leaf, arrivals.due());
        }
    }

    /// Processes all arrivals before `limit` at all hops, in time order, before the state of the hops is read.
    fn flush_arrivals(&mut self, limit: Time) {
        let first = |net: &Net<W>, hop: usize| net.hops[hop].arrivals.as_ref().map_or(Time::NEVER, Arrivals::first_at);
        let hops = 0..self.net.hops.len();
        while let Some(hop) = hops.clone().min_by_key(|&hop| first(&self.net, hop)) {
            if !self.take_arrival(hop, limit) {
                break;
            }
        }
        hops.for_each(|hop| self.reschedule_arrivals(hop));
    }

    /// Handles the end of the warm-up and the ends of the time series' intervals.
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

    /// Returns the time of the engine's next action after `now`: the end of the warm-up, of an interval or of the run.
    fn next_control(&self, now: Time) -> Time {
        let end = Time::ZERO + self.config.duration;
        let warmup = Time::ZERO + self.config.warmup;
        let warmup = if warmup > now { warmup } else { Time::NEVER };
        self.sampler.as_ref().map_or(Time::NEVER, Sampler::due).min(warmup).min(end)
    }

    fn end_warmup(&mut self) {
        if let Some(sampler) = &mut self.sampler {
            sampler.carry_over(&self.flows);
        }
        for (flow, base) in self.flows.iter_mut().zip(&mut self.base.flows) {
            let sender = flow.sender();
            *base = FlowBaseline { delivered: flow.delivered(), lost: sender.lost, delivered_ce: sender.delivered_ce };
            flow.stats = FlowStats::new();
        }
        for (hop, base) in self.net.hops.iter_mut().zip(&mut self.base.hops) {
            hop.metered.wait = Histogram::new();
            *base = hop.metered.counts;
        }
    }

    fn summary(&self) -> Summary {
        let (from, to) = (Time::ZERO + self.config.warmup, Time::ZERO + self.config.duration);
        let links = self.net.hops.iter().zip(&self.config.links).zip(&self.base.hops);
        Summary {
            flows: (0..self.flows.len()).map(|i| self.flow_summary(i)).collect(),
            links: links.map(|((hop, spec), &base)| hop.metered.summary(&spec.name, base, from, to)).collect(),
            packets: self.flows.iter().map(|flow| flow.delivered() - self.first_packet).sum(),
            events: self.events,
        }
    }

    fn flow_summary(&self, index: usize) -> FlowSummary {
        let (spec, flow, base) = (&self.config.flows[index], &self.flows[index], &self.base.flows[index]);
        let (sender, stats) = (flow.sender(), &flow.stats);
        let end = Time::ZERO + self.config.duration;
        let from = (Time::ZERO + self.config.warmup).max(flow.start());
        let until = end.min(flow.stop()).min(flow.completed_at.unwrap_or(Time::NEVER));
        let active = until.since(from);
        let delivered = flow.delivered() - base.delivered;
        let lost = (sender.lost - base.lost).saturating_sub(stats.withdrawn);
        let throughput_mbps = mbps(flow.wire_bytes(delivered).0, active);
        FlowSummary {
            id: spec.id.clone(),
            cca: spec.cca.clone(),
            throughput_mbps,
            goodput_mbps: goodput_mbps(throughput_mbps, self.config.packet),
            rtt_ms: stats.rtt.stats_less(Dur::ZERO),
            qdelay_ms: stats.rtt.stats_less(spec.rtprop),
            loss_rate: ratio(lost, lost + delivered),
            lost_pkts: lost,
            retransmits: stats.retransmits,
            timeouts: stats.timeouts,
            mark_rate: ratio(sender.delivered_ce - base.delivered_ce, delivered).min(1.0),
            sent_pkts: stats.sent,
            delivered_pkts: delivered,
            completion_s: flow.completion().map(Dur::as_secs_f64),
            violations: flow.route.violations(),
        }
    }
}

/// Returns the ECN codepoints of a flow's new packets and of its retransmissions. TCP's retransmissions are not ECN-capable
/// (RFC 3168 §6.1.5), unless both ends have an algorithm that needs ECN (`tcp_ecn_send` of Linux's tcp_output.c); QUIC's
/// are new packets.
fn codepoints(has_ecn: bool, interests: &Interests) -> [Ecn; 2] {
    let new = match (has_ecn, interests.l4s) {
        (false, _) => Ecn::NotEct,
        (true, false) => Ecn::Ect0,
        (true, true) => Ecn::Ect1,
    };
    let is_plain_tcp = interests.recovery == Recovery::Tcp && !interests.exact_marks;
    [new, if is_plain_tcp { Ecn::NotEct } else { new }]
}

#[cfg(test)]
mod tests;
