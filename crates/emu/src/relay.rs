//! The network between the two devices: applies the path to a packet, independent of the clock.
//!
//! Pure: time comes in as an argument. A packet carries its *intended* time from element to element: it reaches a hop
//! at the time intended by the previous hop, however late it is processed, so lateness does not accumulate.
//!
//! The order of elements and the random streams are the simulator's (`fairweir_sim`): the same packets at the same
//! times leave both at the same times.

use crate::hop::MeteredHop;
use fairweir_path::{Chain, ElementConfig, Packet, Verdict};
use fairweir_scenario::{Config, FlowSpec, element_stream, hop_stream};
use fairweir_units::{Bytes, Dur, Time};
use rand_chacha::ChaCha8Rng;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Names a frame: an index into the caller's store.
pub(crate) type Frame = u32;

/// Odd constants with well-mixed bits, as in SplitMix64.
const MIX: u64 = 0x9E37_79B9_7F4A_7C15;
const MIX_FLOW: u64 = 0xBF58_476D_1CE4_E5B9;

/// Direction of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From the sender.
    Data,
    /// To the sender.
    Ack,
}

/// A packet in the network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    pub(crate) flow: usize,
    pub(crate) direction: Direction,
    pub(crate) packet: Packet,
    /// Number of packets that it represents on the wire.
    pub(crate) packets: u32,
    pub(crate) is_marked: bool,
    /// Number of hops reached.
    stage: usize,
}

impl Item {
    /// A packet that enters the network; for an ACK, the relay fills in [`Packet::sent`].
    pub(crate) fn new(flow: usize, direction: Direction, packet: Packet, packets: u32) -> Item {
        Item { flow, direction, packet, packets, is_marked: false, stage: 0 }
    }
}

/// A packet that leaves the network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Release {
    /// Intended time of departure.
    pub(crate) at: Time,
    pub(crate) frame: Frame,
    pub(crate) item: Item,
}

/// Time of a frame's next event. Ties are ordered by a seeded phase, frames of one flow by their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    at: Time,
    phase: u32,
    serial: u64,
    frame: Frame,
}

/// A flow's path in one direction.
#[derive(Debug)]
struct Way {
    before: Chain,
    hops: Vec<usize>,
    after: Chain,
    dropped: u64,
}

/// The network.
#[derive(Debug)]
pub(crate) struct Relay {
    pub(crate) hops: Vec<MeteredHop>,
    /// Hops that decide on leave.
    deciding: Vec<usize>,
    /// Per flow, for data and ACKs.
    ways: Vec<[Way; 2]>,
    /// When the data packet that left last had entered, per flow: an ACK is its echo.
    last_sent: Vec<Time>,
    /// Indexed by frame.
    items: Vec<Item>,
    /// Frames that have yet to reach a hop.
    coming: BinaryHeap<Reverse<Entry>>,
    /// Frames past the last hop.
    leaving: BinaryHeap<Reverse<Entry>>,
    /// Frames that were lost and not yet taken.
    lost: Vec<Frame>,
    serial: u64,
    seed: u64,
}

impl Way {
    fn pass(chain: &mut Chain, now: Time, item: &mut Item) -> Option<Time> {
        match chain.arrive(now, &item.packet) {
            Verdict::Deliver(at) => Some(at),
            Verdict::Mark(at) => {
                item.is_marked = true;
                Some(at)
            }
            Verdict::Drop => None,
        }
    }
}

impl Relay {
    /// The network of `config`, which must be valid.
    pub(crate) fn new(config: &Config) -> Relay {
        let hops: Vec<MeteredHop> = config
            .links
            .iter()
            .enumerate()
            .map(|(index, spec)| MeteredHop::new(spec, hop_stream(config.seed, index)))
            .collect();
        Relay {
            deciding: (0..hops.len()).filter(|&hop| hops[hop].hop.decides_on_leave()).collect(),
            hops,
            ways: config.flows.iter().enumerate().map(|(index, spec)| ways(config, index, spec)).collect(),
            last_sent: vec![Time::ZERO; config.flows.len()],
            items: Vec::new(),
            coming: BinaryHeap::new(),
            leaving: BinaryHeap::new(),
            lost: Vec::new(),
            serial: 0,
            seed: config.seed.wrapping_mul(MIX) | 1,
        }
    }

    /// `item` enters the network at `now`, which never decreases; `frame` must not be inside already.
    pub(crate) fn arrive(&mut self, now: Time, frame: Frame, item: Item) {
        self.advance(now);
        if frame as usize >= self.items.len() {
            self.items.resize(frame as usize + 1, item);
        }
        let slot = &mut self.items[frame as usize];
        *slot = item;
        if item.direction == Direction::Ack {
            slot.packet.sent = self.last_sent[item.flow];
        }
        let way = &mut self.ways[item.flow][item.direction as usize];
        match Way::pass(&mut way.before, now, slot) {
            Some(at) if way.hops.is_empty() => self.finish(at, frame),
            Some(at) if at <= now => self.enter(now, frame),
            Some(at) => self.push_coming(at, frame),
            None => self.lose(frame),
        }
    }

    /// Processes events inside the network up to `now`.
    pub(crate) fn advance(&mut self, now: Time) {
        loop {
            let coming = self.coming.peek().map_or(Time::NEVER, |Reverse(entry)| entry.at);
            let service = self.next_service();
            if let Some((at, hop)) = service.filter(|&(at, _)| at <= now && at <= coming) {
                self.service(at, hop);
            } else if coming <= now
                && let Some(Reverse(entry)) = self.coming.pop()
            {
                self.enter(entry.at, entry.frame);
            } else {
                return;
            }
        }
    }

    /// The next frame that, as far as is settled at `now`, is to leave by `until`.
    pub(crate) fn next_release(&mut self, now: Time, until: Time) -> Option<Release> {
        self.advance(now);
        let Reverse(entry) = *self.leaving.peek().filter(|Reverse(entry)| entry.at <= until)?;
        self.leaving.pop();
        let item = self.items[entry.frame as usize];
        if item.direction == Direction::Data {
            self.last_sent[item.flow] = item.packet.sent;
        }
        Some(Release { at: entry.at, frame: entry.frame, item })
    }

    /// Time of the next event; [`Time::NEVER`] if the network is empty.
    pub(crate) fn next_event(&self) -> Time {
        let first = |heap: &BinaryHeap<Reverse<Entry>>| heap.peek().map_or(Time::NEVER, |Reverse(entry)| entry.at);
        let service = self.next_service().map_or(Time::NEVER, |(at, _)| at);
        first(&self.coming).min(first(&self.leaving)).min(service)
    }

    /// A frame that was lost: its slot is free again.
    pub(crate) fn next_lost(&mut self) -> Option<Frame> {
        self.lost.pop()
    }

    /// Data packets of `flow` that were lost, and ACKs.
    pub(crate) fn dropped(&self, flow: usize) -> [u64; 2] {
        [self.ways[flow][0].dropped, self.ways[flow][1].dropped]
    }

    /// Returns how often elements of `flow` violated their bounds.
    pub(crate) fn violations(&self, flow: usize) -> u64 {
        self.ways[flow].iter().map(|way| way.before.violations() + way.after.violations()).sum()
    }

    fn next_service(&self) -> Option<(Time, usize)> {
        let due = self.deciding.iter().map(|&hop| (self.hops[hop].hop.service_at(), hop));
        due.filter(|(at, _)| at.is_set()).min()
    }

    /// `frame` reaches its next hop at `now`.
    fn enter(&mut self, now: Time, frame: Frame) {
        let item = &mut self.items[frame as usize];
        let hop = &mut self.hops[self.ways[item.flow][item.direction as usize].hops[item.stage]];
        item.stage += 1;
        if hop.hop.decides_on_leave() {
            if !hop.wait(now, &item.packet, item.packets, frame) {
                self.lose(frame);
            }
            return;
        }
        let verdict = hop.arrive(now, &item.packet, item.packets);
        self.leave(frame, verdict);
    }

    fn service(&mut self, now: Time, hop: usize) {
        let items = &self.items;
        if let Some(departure) = self.hops[hop].service(now, |frame| items[frame as usize].packets) {
            self.leave(departure.tag, departure.verdict);
        }
    }

    /// The hop that `frame` reached last has decided on it.
    fn leave(&mut self, frame: Frame, verdict: Verdict) {
        let item = &mut self.items[frame as usize];
        let departure = match verdict {
            Verdict::Deliver(at) => at,
            Verdict::Mark(at) => {
                item.is_marked = true;
                at
            }
            Verdict::Drop => return self.lose(frame),
        };
        let hops = &self.ways[item.flow][item.direction as usize].hops;
        if item.stage < hops.len() {
            let at = departure + self.hops[hops[item.stage - 1]].delay;
            self.push_coming(at, frame);
        } else {
            self.finish(departure, frame);
        }
    }

    /// `frame` leaves the last hop (or the first chain, if there is no hop) at `at`.
    fn finish(&mut self, at: Time, frame: Frame) {
        let item = &mut self.items[frame as usize];
        let way = &mut self.ways[item.flow][item.direction as usize];
        match Way::pass(&mut way.after, at, item) {
            Some(at) => {
                let entry = self.entry(at, frame);
                self.leaving.push(Reverse(entry));
            }
            None => self.lose(frame),
        }
    }

    fn push_coming(&mut self, at: Time, frame: Frame) {
        let entry = self.entry(at, frame);
        self.coming.push(Reverse(entry));
    }

    fn entry(&mut self, at: Time, frame: Frame) -> Entry {
        let item = &self.items[frame as usize];
        let stream = (item.flow as u64) << 1 | item.direction as u64;
        let phase = (at.as_nanos() ^ stream.wrapping_mul(MIX_FLOW) ^ self.seed).wrapping_mul(MIX) >> 32;
        self.serial += 1;
        Entry { at, phase: phase as u32, serial: self.serial, frame }
    }

    fn lose(&mut self, frame: Frame) {
        let item = &self.items[frame as usize];
        self.ways[item.flow][item.direction as usize].dropped += u64::from(item.packets);
        self.lost.push(frame);
    }
}

/// A flow's ways; its elements take their random streams in the order of the specification.
fn ways(config: &Config, index: usize, spec: &FlowSpec) -> [Way; 2] {
    let mut elements = 0;
    let mut stream = || -> ChaCha8Rng {
        elements += 1;
        element_stream(config.seed, index, elements)
    };
    let mut chain = |delay: Dur, elements: &[ElementConfig]| Chain::new(delay, elements, &mut stream);
    let (ingress, egress) = (chain(Dur::ZERO, &spec.ingress), chain(spec.forward_delay, &spec.egress));
    let (reverse, reverse_egress) = (chain(spec.reverse_delay, &spec.reverse), chain(Dur::ZERO, &spec.reverse_egress));
    [
        Way { before: ingress, hops: spec.path.clone(), after: egress, dropped: 0 },
        Way { before: reverse, hops: spec.ack_path.clone(), after: reverse_egress, dropped: 0 },
    ]
}

/// A packet of `bytes` that enters at `sent`.
pub(crate) fn packet(seq: u64, bytes: u64, sent: Time, is_ecn_capable: bool) -> Packet {
    Packet { seq, bytes: Bytes(bytes), sent, is_ecn_capable }
}

#[cfg(test)]
mod tests;
