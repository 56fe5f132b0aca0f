//! Training examples: features that a receiver can observe, with labels that it cannot observe.
//!
//! **Source**: CMU-CS-24-129 §5.1, §5.2 and A.3: a flow's throughput over 8 minimum RTTs, and the number of flows with
//! arrivals in that time. With the link rate B and N flows the share is B/N, as in the report. The report's prototype
//! uses the arrival rate as B, so an idle link is not detected.

use crate::receiver::Receiver;
use fairweir_guard::{FlowId, Limits, Packet, Plan, Row, Table, catalogue};
use fairweir_scenario::{Config, Observer, PacketEvent};
use fairweir_segments::{EPOCH, HEADERS, SegmentSink, Wire, flow_of, receiver_address};
use fairweir_tcp::{Segment, Side};
use fairweir_units::{Dur, Time, mbps};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::VecDeque;
use std::net::IpAddr;
use std::ops::ControlFlow;

/// Length of a label's window, in minimum RTTs.
const WINDOW: u64 = 8;

/// Selection of arrivals that become examples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    /// Time in the run from which examples are recorded.
    pub from: Time,
    /// One of this many later arrivals, chosen at random, becomes an example.
    pub one_in: u32,
    /// Seed of the selection.
    pub seed: u64,
}

/// Examples, one per row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// The values of all features in the catalog's order, row after row; NaN where unknown.
    pub values: Vec<f64>,
    /// Index of the flow in the scenario.
    pub flow: Vec<u32>,
    /// Time, ns since the start of the run.
    pub t_ns: Vec<u64>,
    /// The flow's throughput, Mbit/s of IP packets.
    pub mbps: Vec<f64>,
    /// Number of flows with arrivals in that time.
    pub active: Vec<u32>,
}

/// A flow's arrivals within the maximum window, each with the number of bytes before it.
#[derive(Debug, Default)]
struct History {
    arrivals: VecDeque<(Time, u64)>,
    total: u64,
}

impl History {
    fn add(&mut self, at: Time, bytes: u32, horizon: Time) {
        while self.arrivals.pop_front_if(|(then, _)| *then < horizon).is_some() {}
        self.arrivals.push_back((at, self.total));
        self.total += u64::from(bytes);
    }

    /// Returns the bytes that arrived after `from`.
    fn since(&self, from: Time) -> u64 {
        let index = self.arrivals.partition_point(|(then, _)| *then <= from);
        self.arrivals.get(index).map_or(0, |(_, before)| self.total - before)
    }
}

/// Source of the observed packets.
#[derive(Debug)]
enum Endpoints {
    /// A simulation with one receiver, and one sender per flow.
    Simulated,
    /// A capture with these receivers, one per flow.
    Captured(Vec<IpAddr>),
}

impl Endpoints {
    fn is_receiver(&self, address: IpAddr) -> bool {
        match self {
            Endpoints::Simulated => address == receiver_address(),
            Endpoints::Captured(receivers) => receivers.contains(&address),
        }
    }

    /// Returns the flow to whose data `segment` belongs.
    fn flow(&self, segment: &Segment) -> Option<usize> {
        match self {
            Endpoints::Simulated if segment.dst.address == receiver_address() => flow_of(segment.src.address),
            Endpoints::Simulated => None,
            Endpoints::Captured(receivers) => receivers.iter().position(|address| *address == segment.dst.address),
        }
    }
}

/// Records examples of a run's flows, as observed by their receiver.
#[derive(Debug)]
pub struct Examples {
    sampling: Sampling,
    rng: ChaCha8Rng,
    mss: u32,
    endpoints: Endpoints,
    start: Option<Time>,
    table: Table,
    row: Row,
    histories: Vec<History>,
    longest: Dur,
    rows: Rows,
}

impl Examples {
    /// Creates an observer of a run of `config` that records examples.
    pub fn watch(config: &Config, sampling: Sampling) -> Wire<Examples> {
        let mss = (config.packet.0 as u32).saturating_sub(HEADERS);
        let examples = Examples::new(Endpoints::Simulated, config.flows.len(), mss, sampling);
        Wire::new(config, Side::Receiver, Examples { start: Some(EPOCH), ..examples })
    }

    /// Creates a reader of a capture with the given `receivers`, one per flow. Full segments have `mss` bytes; time
    /// starts with the first segment.
    pub fn of_capture(receivers: Vec<IpAddr>, mss: u32, sampling: Sampling) -> Examples {
        let flows = receivers.len();
        Examples::new(Endpoints::Captured(receivers), flows, mss, sampling)
    }

    fn new(endpoints: Endpoints, flows: usize, mss: u32, sampling: Sampling) -> Examples {
        let plan = Plan::new(catalogue());
        let limits = Limits { open: flows, per_source: usize::MAX, needs_proof: false, ..Limits::default() };
        let row = Row::for_plan(&plan);
        Examples {
            sampling,
            rng: ChaCha8Rng::seed_from_u64(sampling.seed),
            mss,
            endpoints,
            start: None,
            table: Table::new(limits, [0; 16], plan),
            row,
            histories: (0..flows).map(|_| History::default()).collect(),
            longest: Dur::ZERO,
            rows: Rows::default(),
        }
    }

    /// Returns the examples.
    pub fn rows(self) -> Rows {
        self.rows
    }

    fn note(&mut self, id: FlowId, flow: usize, start: Time, segment: &Segment) {
        let Some(min_rtt) = self.table.get(id).and_then(|flow| flow.monitor().rtt().min()) else { return };
        self.longest = self.longest.max(min_rtt);
        let horizon = back(segment.time, self.longest * WINDOW);
        self.histories[flow].add(segment.time, segment.ip_bytes, horizon);
        let is_wanted = segment.time.since(start) >= self.sampling.from.since(Time::ZERO);
        if is_wanted && self.rng.next_u32().is_multiple_of(self.sampling.one_in.max(1)) {
            self.keep(id, flow, segment.time.since(start), segment.time, min_rtt * WINDOW);
        }
    }

    /// Records an example at time `now` (`at` after the start), whose label covers the preceding `window`.
    fn keep(&mut self, id: FlowId, flow: usize, at: Dur, now: Time, window: Dur) {
        let from = back(now, window);
        let is_young = self.table.get(id).is_none_or(|flow| back(now, flow.monitor().age()) > from);
        if is_young {
            return;
        }
        let active = self.histories.iter().filter(|history| history.since(from) > 0).count();
        let bytes = self.histories[flow].since(from);
        self.table.fill(id, &mut self.row);
        self.rows.values.extend(self.row.iter().map(|value| value.unwrap_or(f64::NAN)));
        self.rows.flow.push(flow as u32);
        self.rows.t_ns.push(at.as_nanos());
        self.rows.mbps.push(mbps(bytes, now.since(from)));
        self.rows.active.push(active as u32);
    }
}

fn back(from: Time, by: Dur) -> Time {
    Time::from_nanos(from.as_nanos().saturating_sub(by.as_nanos()))
}

impl SegmentSink for Examples {
    fn take(&mut self, segment: &Segment) -> ControlFlow<()> {
        let start = *self.start.get_or_insert(segment.time);
        if let Some(packet) = Packet::of_segment(segment, |address| self.endpoints.is_receiver(address), self.mss)
            && let Some(id) = self.table.observe(&packet)
            && let Some(flow) = self.endpoints.flow(segment)
        {
            self.note(id, flow, start, segment);
        }
        ControlFlow::Continue(())
    }
}

/// Examples of flows whose windows a guard sets.
#[derive(Debug)]
pub struct HeldExamples {
    /// Applies the policies.
    pub receiver: Receiver,
    /// Records the examples.
    pub examples: Wire<Examples>,
}

impl Observer for HeldExamples {
    fn on_packet(&mut self, event: PacketEvent) {
        self.receiver.on_packet(event);
        self.examples.on_packet(event);
    }

    fn edge(&mut self, flow: u32, cum: u64) -> Option<u64> {
        self.receiver.edge(flow, cum)
    }
}
