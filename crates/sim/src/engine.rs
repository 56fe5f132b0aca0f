//! The engine: builds a scenario's flows and hops, plays the events in order, and sums up.

use crate::config::{Config, FlowSpec};
use crate::flow::{Flow, FlowStats};
use crate::net::{HopStats, Net, SharedHop};
use crate::route::{Direction, Route, Stage};
use crate::run::{Factory, Outcome, Progress, SimError};
use crate::sampler::Sampler;
use crate::schedule::{Leaf, Schedule};
use crate::summary::{FlowSummary, LinkSummary, Summary};
use fairweir_cca::{Controller, Start};
use fairweir_units::{Dur, Time};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use std::ops::ControlFlow;

/// Events between two calls of the progress callback: about a millisecond of work.
const EVENTS_PER_PROGRESS: u64 = 1 << 15;
/// Bytes of headers in a data packet: 20 IP + 32 TCP with timestamps, for goodput.
const HEADER_BYTES: f64 = 52.0;

/// What a leaf of the schedule stands for, beyond flows (which come first).
#[derive(Clone, Copy, Debug)]
enum Stream {
    Stage { flow: usize, direction: Direction, stage: usize },
    Hop(usize),
}

#[derive(Debug)]
pub(crate) struct Engine<'a> {
    config: &'a Config,
    flows: Vec<Flow>,
    net: Net,
    /// Streams after the flows'.
    streams: Vec<Stream>,
    /// What a hop's tag stands for.
    tags: Vec<(usize, Direction, usize)>,
    sampler: Option<Sampler>,
    /// Delivered packets of each flow when the warm-up ended.
    base: Vec<Baseline>,
    events: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Baseline {
    delivered: u64,
    lost: u64,
    delivered_ce: u64,
}

/// A component's own random stream: its kind and index choose the stream of the scenario's seed.
fn stream_of(seed: u64, kind: u64, index: usize) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(kind << 48 | index as u64);
    rng
}

const CONTROLLER_STREAM: u64 = 1;
const HOP_STREAM: u64 = 2;
const ELEMENT_STREAM: u64 = 3;

impl<'a> Engine<'a> {
    pub(crate) fn new(config: &'a Config, factory: &Factory<'_>) -> Result<Engine<'a>, SimError> {
        let waiting: usize =
            config.flows.iter().map(|f| f.path.len() - usize::from(f.ingress.is_empty()) + f.ack_path.len()).sum();
        let hops: Vec<SharedHop> = config
            .links
            .iter()
            .enumerate()
            .map(|(index, spec)| SharedHop::new(spec, stream_of(config.seed, HOP_STREAM, index)))
            .collect();
        let deciding = hops.iter().filter(|hop| hop.hop.decides_on_leave()).count();
        let leaves = config.flows.len() + waiting + deciding;
        let mut engine = Engine {
            config,
            flows: Vec::with_capacity(config.flows.len()),
            net: Net { hops, schedule: Schedule::new(leaves, config.seed) },
            streams: Vec::new(),
            tags: Vec::new(),
            sampler: config.interval.map(|interval| Sampler::new(interval, config)),
            base: vec![Baseline::default(); config.flows.len()],
            events: 0,
        };
        for index in 0..engine.net.hops.len() {
            if engine.net.hops[index].hop.decides_on_leave() {
                let leaf = engine.add_stream(Stream::Hop(index));
                engine.net.hops[index].leaf = Some(leaf);
            }
        }
        for (index, spec) in config.flows.iter().enumerate() {
            engine.add_flow(index, spec, factory)?;
        }
        Ok(engine)
    }

    fn add_stream(&mut self, stream: Stream) -> Leaf {
        self.streams.push(stream);
        self.config.flows.len() + self.streams.len() - 1
    }

    fn add_flow(&mut self, index: usize, spec: &FlowSpec, factory: &Factory<'_>) -> Result<(), SimError> {
        let controller = self.controller(index, spec, factory)?;
        let mut elements = 0;
        let mut route = Route::new(self.config, spec, index, || {
            elements += 1;
            stream_of(self.config.seed, ELEMENT_STREAM, index << 8 | elements)
        });
        for (direction, hops) in [(Direction::Data, &spec.path), (Direction::Ack, &spec.ack_path)] {
            for (k, &hop) in hops.iter().enumerate() {
                // Packets reach the first hop as they are sent, unless something lies before it.
                let is_immediate = direction == Direction::Data && k == 0 && spec.ingress.is_empty();
                let leaf = if is_immediate {
                    Leaf::MAX
                } else {
                    self.add_stream(Stream::Stage { flow: index, direction, stage: k })
                };
                let stage = Stage::new(hop, leaf, self.tags.len() as u32);
                self.tags.push((index, direction, k));
                match direction {
                    Direction::Data => route.stages.push(stage),
                    Direction::Ack => route.ack_stages.push(stage),
                }
            }
        }
        route.settle(&self.net);
        let rng = stream_of(self.config.seed, CONTROLLER_STREAM, index);
        let flow = Flow::new(self.config, spec, controller, route, rng);
        self.net.schedule.set(index, flow.first_event());
        self.flows.push(flow);
        Ok(())
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
            seed: self.config.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ index as u64,
        };
        factory(spec, &start).map_err(|source| SimError::Build { flow: spec.id.clone(), source })
    }

    pub(crate) fn run(mut self, progress: &mut Progress<'_>) -> Result<Outcome, SimError> {
        let flows = self.flows.len();
        let end = Time::ZERO + self.config.duration;
        let mut next_control = self.next_control(Time::ZERO);
        loop {
            let (now, leaf) = self.net.schedule.first();
            if now >= next_control {
                if next_control >= end {
                    break;
                }
                self.control(next_control);
                next_control = self.next_control(next_control);
                continue;
            }
            self.events += 1;
            if self.events.is_multiple_of(EVENTS_PER_PROGRESS)
                && let ControlFlow::Break(()) = progress(now)
            {
                return Err(SimError::Interrupted { at: now });
            }
            if leaf < flows {
                let flow = &mut self.flows[leaf];
                flow.on_event(now, &mut self.net);
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
                Stream::Hop(hop) => self.service(hop, leaf, now),
            }
        }
        if let Some(sampler) = &mut self.sampler {
            sampler.sample(end, &self.flows, &mut self.net);
        }
        let summary = self.summary();
        Ok(Outcome { summary, series: self.sampler.map(Sampler::finish) })
    }

    /// A hop whose queue decides on leave takes its head packet.
    fn service(&mut self, hop: usize, leaf: Leaf, now: Time) {
        let shared = &mut self.net.hops[hop];
        let departure = shared.hop.service(now);
        if let Some(departure) = &departure {
            shared.count(departure.sojourn, &departure.packet, departure.verdict);
        }
        self.net.schedule.set(leaf, shared.hop.service_at());
        if let Some(departure) = departure {
            let (flow, direction, stage) = self.tags[departure.tag as usize];
            self.flows[flow].route.released(direction, stage, departure.verdict, &mut self.net);
        }
    }

    /// The end of the warm-up, and the time series' intervals.
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

    /// When the engine itself has something to do after `now`: end of warm-up, of an interval, of the run.
    fn next_control(&self, now: Time) -> Time {
        let end = Time::ZERO + self.config.duration;
        let warmup = Time::ZERO + self.config.warmup;
        let warmup = if warmup > now { warmup } else { Time::NEVER };
        self.sampler.as_ref().map_or(Time::NEVER, Sampler::due).min(warmup).min(end)
    }

    fn end_warmup(&mut self) {
        for (flow, base) in self.flows.iter_mut().zip(&mut self.base) {
            let sender = flow.sender();
            *base = Baseline { delivered: sender.delivered, lost: sender.lost, delivered_ce: sender.delivered_ce };
            flow.stats = FlowStats::new();
        }
        for hop in &mut self.net.hops {
            hop.stats = HopStats::new();
        }
        if let Some(sampler) = &mut self.sampler {
            sampler.rebase();
        }
    }

    fn summary(&self) -> Summary {
        Summary {
            flows: (0..self.flows.len()).map(|i| self.flow_summary(i)).collect(),
            links: (0..self.net.hops.len()).map(|i| self.link_summary(i)).collect(),
            packets: self.flows.iter().map(|flow| flow.sender().delivered).sum(),
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
            // Packets taken in just before the end are served after it: no more than all of the link is used.
            utilization: ratio(hop.stats.served.0, possible.0).min(1.0),
            queue_ms: hop.stats.wait.stats_less(Dur::ZERO),
            drops: hop.stats.drops,
            marks: hop.stats.marks,
            arrivals: hop.stats.wait.total().1 + hop.stats.drops,
        }
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// `bytes` over `time`, Mbps.
pub(crate) fn mbps(bytes: u64, time: Dur) -> f64 {
    if time == Dur::ZERO { 0.0 } else { bytes as f64 * 8e-6 / time.as_secs_f64() }
}
