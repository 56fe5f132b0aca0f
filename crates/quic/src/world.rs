//! The event loop: hosts and the network on one virtual clock.

use crate::ambient;
use crate::endpoint::{Datagram, Ecn, Ends, Fault, IP_UDP_BYTES};
use crate::host::{Host, Wakes};
use crate::record::{Received, Record};
use crate::trace::Trace;
use fairweir_path::{self as path, Direction, TieKey, Ties};
use fairweir_program::Refusal;
use fairweir_scenario::Config;
use fairweir_scenario::relay::{Frame, Item, Relay, Release, packet};
use fairweir_units::{Dur, Time};
use serde_json::Value;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::ControlFlow;

/// Events between two calls of the caller's watch.
const WATCH_EVERY: u64 = 1_000;

/// Outcome of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    /// Completed, with the record.
    Complete(Value),
    /// Interrupted.
    Interrupted,
}

/// A datagram in the network, and what its flow's receiver had when it left.
#[derive(Debug, Default)]
struct Carried {
    datagram: Datagram,
    received: Received,
}

struct World<'a> {
    config: &'a Config,
    relay: Relay,
    /// Sender and receiver of each flow, in turn.
    hosts: Vec<Host>,
    /// Time, rank and index of hosts; an entry holds if it has the time at which its host is due.
    due: BinaryHeap<Reverse<(Time, u32, usize)>>,
    ties: Ties,
    /// Indexed by frame.
    carried: Vec<Carried>,
    free: Vec<Frame>,
    /// Per flow.
    received: Vec<Received>,
    /// Data packets that entered, per flow: their numbers.
    sent: Vec<u64>,
    record: Record,
    trace: Trace,
    events: u64,
}

/// Runs `config` with the `ends` of its flows, in order; `watch` receives the time reached and can interrupt the run.
///
/// # Errors
/// If a stack fails or does not let the run proceed.
pub fn play(
    config: &Config,
    ends: Vec<Ends>,
    watch: &mut dyn FnMut(Time) -> ControlFlow<()>,
) -> Result<Ending, Refusal> {
    let mut world = World::new(config, ends);
    if world.run(watch)?.is_break() {
        return Ok(Ending::Interrupted);
    }
    world.finish().map(Ending::Complete)
}

impl<'a> World<'a> {
    fn new(config: &'a Config, ends: Vec<Ends>) -> World<'a> {
        let wake = config.host.wake;
        let ties = Ties::new(config.seed);
        let mut hosts = Vec::new();
        for (flow, (spec, ends)) in config.flows.iter().zip(ends).enumerate() {
            for (side, endpoint) in [ends.sender, ends.receiver].into_iter().enumerate() {
                // Hosts do not wake at the same time.
                let spread = u64::from(ties.rank(TieKey((2 * flow + side) as u32), Time::ZERO));
                let phase = wake.mul_ratio(spread, 1 << 32);
                let start = if side == 0 { spec.start } else { Time::NEVER };
                hosts.push(Host::new(endpoint, Wakes::new(wake, phase), start));
            }
        }
        let mut world = World {
            config,
            relay: Relay::new(config),
            due: BinaryHeap::new(),
            ties,
            carried: Vec::new(),
            free: Vec::new(),
            received: vec![Received::default(); config.flows.len()],
            sent: vec![0; config.flows.len()],
            record: Record::new(config),
            trace: Trace::default(),
            events: 0,
            hosts,
        };
        (0..world.hosts.len()).for_each(|host| world.schedule(host));
        world
    }

    /// Runs to the end, or until `watch` breaks.
    fn run(&mut self, watch: &mut dyn FnMut(Time) -> ControlFlow<()>) -> Result<ControlFlow<()>, Refusal> {
        let end = Time::ZERO + self.config.duration;
        loop {
            let host = self.next_host();
            let next = host.map_or(Time::NEVER, |(at, _)| at).min(self.relay.next_event()).min(end);
            while self.record.due() <= next {
                let due = self.record.due();
                self.relay.advance(due);
                self.record.close(due, &mut self.relay, &self.hosts);
            }
            if next >= end {
                return Ok(ControlFlow::Continue(()));
            }
            // Arrivals first: a stack that runs now has read what arrived now.
            while let Some(release) = self.relay.next_release(next, next) {
                self.arrive(&release);
            }
            while let Some(frame) = self.relay.next_lost() {
                self.free.push(frame);
            }
            if let Some((at, index)) = self.next_host()
                && at <= next
            {
                self.due.pop();
                ambient::set(next);
                self.run_host(at, index).map_err(|fault| self.refuse(next, index, &fault))?;
            }
            self.events += 1;
            if self.events.is_multiple_of(WATCH_EVERY) && watch(next).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
    }

    /// Returns the host that is due next, and when.
    fn next_host(&mut self) -> Option<(Time, usize)> {
        while let Some(&Reverse((at, _, index))) = self.due.peek() {
            if self.hosts[index].due() == at {
                return Some((at, index));
            }
            self.due.pop();
        }
        None
    }

    fn schedule(&mut self, index: usize) {
        let at = self.hosts[index].due();
        if at.is_set() {
            let rank = self.ties.rank(TieKey((index / 2) as u32), at);
            self.due.push(Reverse((at, rank, index)));
        }
    }

    fn run_host(&mut self, now: Time, index: usize) -> Result<(), Fault> {
        let mut left = Vec::new();
        self.hosts[index].run(now, |datagram| left.push(datagram))?;
        for datagram in left {
            self.depart(now, index, datagram)?;
        }
        if index.is_multiple_of(2) {
            self.record.note(now, index / 2, self.hosts[index].endpoint().stage());
        }
        self.schedule(index);
        Ok(())
    }

    /// `datagram` of host `index` enters the network.
    fn depart(&mut self, now: Time, index: usize, datagram: Datagram) -> Result<(), Fault> {
        let (flow, direction) = (index / 2, Direction::BOTH[index % 2]);
        let bytes = datagram.payload.len() as u64 + IP_UDP_BYTES;
        if bytes > self.config.packet.0 {
            return Err(Fault(format!(
                "sent a datagram of {bytes} B with its headers: the scenario's packets have {} B",
                self.config.packet.0
            )));
        }
        self.trace.add(now, bytes);
        let number = self.sent[flow];
        if direction == Direction::Data {
            self.sent[flow] += 1;
            self.record.on_send(flow);
        }
        let is_capable = self.config.flows[flow].ecn && datagram.ecn == Ecn::Ect;
        let ecn = if is_capable { path::Ecn::Ect0 } else { path::Ecn::NotEct };
        let item = Item::new(flow, direction, packet(number, bytes, now, ecn), 1);
        let carried = Carried { datagram, received: self.received[flow] };
        let frame = match self.free.pop() {
            Some(frame) => {
                self.carried[frame as usize] = carried;
                frame
            }
            None => {
                self.carried.push(carried);
                (self.carried.len() - 1) as Frame
            }
        };
        self.relay.arrive(now, frame, item);
        Ok(())
    }

    /// A datagram leaves the network.
    fn arrive(&mut self, release: &Release) {
        let item = &release.item;
        let flow = item.flow;
        let Carried { mut datagram, received } = std::mem::take(&mut self.carried[release.frame as usize]);
        self.free.push(release.frame);
        datagram.ecn = match (item.is_marked, item.packet.ecn.is_capable()) {
            (true, _) => Ecn::Ce,
            (false, true) => Ecn::Ect,
            (false, false) => Ecn::NotEct,
        };
        let to = match item.direction {
            Direction::Data => {
                let so_far = &mut self.received[flow];
                so_far.packets += 1;
                so_far.bytes += item.packet.bytes.0;
                so_far.marked += u64::from(item.is_marked);
                2 * flow + 1
            }
            Direction::Ack => {
                self.record.on_ack(release.at, flow, item.packet.sent, received);
                2 * flow
            }
        };
        let before = self.hosts[to].due();
        self.hosts[to].deliver(release.at, datagram);
        if self.hosts[to].due() != before {
            self.schedule(to);
        }
    }

    fn refuse(&self, now: Time, host: usize, fault: &Fault) -> Refusal {
        let flow = &self.config.flows[host / 2];
        let side = ["sender", "receiver"][host % 2];
        Refusal::new(format!("flow `{}`: `{}` at {now}: the {side} {fault}", flow.id, flow.cca))
    }

    fn finish(self) -> Result<Value, Refusal> {
        for (flow, spec) in self.config.flows.iter().enumerate() {
            self.check_life(flow).map_err(|reason| Refusal::new(format!("flow `{}`: {reason}", spec.id)))?;
        }
        self.record.finish(self.config, &self.relay, &self.hosts, self.events, &self.trace)
    }

    /// Rejects a flow whose stack, rather than its path, prevented it from starting.
    fn check_life(&self, flow: usize) -> Result<(), String> {
        let spec = &self.config.flows[flow];
        let lasted = (Time::ZERO + self.config.duration).since(spec.start);
        if lasted < Dur::from_secs(1) + spec.rtprop + spec.rtprop + spec.rtprop {
            return Ok(());
        }
        let is_lossless = self.relay.dropped(flow) == [0, 0];
        if self.sent[flow] == 0 {
            return Err(format!("`{}` never sent a datagram", spec.cca));
        }
        if is_lossless && !self.hosts[2 * flow].endpoint().stage().is_established {
            return Err(format!("`{}` never completed its handshake, though no datagram was lost", spec.cca));
        }
        Ok(())
    }
}
