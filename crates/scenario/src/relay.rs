//! Packets inside a network: applies the paths to them, independent of the clock. The worlds whose endpoints are real
//! stacks share it: the emulator on the real clock, QUIC stacks on a virtual one.
//!
//! Pure: time comes in as an argument. A packet carries its *intended* time from element to element: it reaches a hop
//! at the time intended by the previous hop, however late it is processed, so lateness does not accumulate.
//!
//! Lanes, random streams and the order of simultaneous events are the simulator's ([`network`]): the same packets at the
//! same times leave both at the same times.

use crate::{Config, MeteredHop, network};
use fairweir_path::{Direction, Ecn, Lane, Packet, TieKey, Ties, Verdict};
use fairweir_units::{Bytes, Dur, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Names a frame: an index into the caller's store.
pub type Frame = u32;

/// A packet in the network.
#[derive(Clone, Copy, Debug)]
pub struct Item {
    /// Index of the flow.
    pub flow: usize,
    /// Direction of the packet.
    pub direction: Direction,
    /// The packet as the path sees it.
    pub packet: Packet,
    /// Number of packets that it represents on the wire.
    pub packets: u32,
    /// Whether a queue marked it.
    pub is_marked: bool,
    /// Number of hops reached.
    stage: usize,
}

impl Item {
    /// A packet that enters the network; for an ACK, the relay fills in [`Packet::sent`].
    pub fn new(flow: usize, direction: Direction, packet: Packet, packets: u32) -> Item {
        Item { flow, direction, packet, packets, is_marked: false, stage: 0 }
    }
}

/// A packet that leaves the network.
#[derive(Clone, Copy, Debug)]
pub struct Release {
    /// Intended time of departure.
    pub at: Time,
    /// The frame.
    pub frame: Frame,
    /// The packet.
    pub item: Item,
}

/// Time of a frame's next event. Simultaneous events are ordered by [`Ties`], those of one stream by their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    at: Time,
    rank: u32,
    serial: u64,
    frame: Frame,
}

/// The network.
#[derive(Debug)]
pub struct Relay {
    /// The hops, in the scenario's order.
    pub hops: Vec<MeteredHop>,
    /// Hops that decide on leave.
    deciding: Vec<usize>,
    /// Per flow, for data and ACKs.
    lanes: Vec<[Lane; 2]>,
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
    ties: Ties,
}

/// Applies a verdict to `item`: returns when it leaves, unless it is lost.
fn decided(verdict: Verdict, item: &mut Item) -> Option<Time> {
    let (at, is_marked) = verdict.delivery()?;
    item.is_marked |= is_marked;
    Some(at)
}

impl Relay {
    /// The network of `config`, which must be valid.
    pub fn new(config: &Config) -> Relay {
        let (hops, lanes) = network(config);
        Relay {
            deciding: (0..hops.len()).filter(|&hop| hops[hop].hop.decides_on_leave()).collect(),
            hops,
            lanes,
            last_sent: vec![Time::ZERO; config.flows.len()],
            items: Vec::new(),
            coming: BinaryHeap::new(),
            leaving: BinaryHeap::new(),
            lost: Vec::new(),
            serial: 0,
            ties: Ties::new(config.seed),
        }
    }

    /// Leaves the processing of ACKs to the hosts, which are real.
    #[must_use]
    pub fn without_processing(mut self) -> Relay {
        self.lanes.iter_mut().flatten().for_each(|lane| lane.processing = None);
        self
    }

    /// `item` enters the network at `now`, which never decreases; `frame` must not be inside already.
    pub fn arrive(&mut self, now: Time, frame: Frame, item: Item) {
        self.advance(now);
        if frame as usize >= self.items.len() {
            self.items.resize(frame as usize + 1, item);
        }
        let slot = &mut self.items[frame as usize];
        *slot = item;
        if item.direction == Direction::Ack {
            slot.packet.sent = self.last_sent[item.flow];
        }
        let lane = &mut self.lanes[item.flow][item.direction as usize];
        match decided(lane.enter(now, &slot.packet), slot) {
            Some(at) => self.advance_to_hop(at, frame),
            None => self.lose(frame),
        }
    }

    /// Processes events inside the network up to `now`.
    pub fn advance(&mut self, now: Time) {
        loop {
            let coming = self.coming.peek().map_or((Time::NEVER, 0), |Reverse(entry)| (entry.at, entry.rank));
            let service = self.next_service();
            if let Some((at, _, hop)) = service.filter(|&(at, rank, _)| at <= now && (at, rank) <= coming) {
                self.service(at, hop);
            } else if coming.0 <= now
                && let Some(Reverse(entry)) = self.coming.pop()
            {
                self.enter(entry.at, entry.frame);
            } else {
                return;
            }
        }
    }

    /// The next frame that, as far as is settled at `now`, is to leave by `until`.
    pub fn next_release(&mut self, now: Time, until: Time) -> Option<Release> {
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
    pub fn next_event(&self) -> Time {
        let first = |heap: &BinaryHeap<Reverse<Entry>>| heap.peek().map_or(Time::NEVER, |Reverse(entry)| entry.at);
        let service = self.next_service().map_or(Time::NEVER, |(at, ..)| at);
        first(&self.coming).min(first(&self.leaving)).min(service)
    }

    /// A frame that was lost: its slot is free again.
    pub fn next_lost(&mut self) -> Option<Frame> {
        self.lost.pop()
    }

    /// Data packets of `flow` that were lost, and ACKs.
    pub fn dropped(&self, flow: usize) -> [u64; 2] {
        self.lanes[flow].each_ref().map(|lane| lane.dropped)
    }

    /// Returns how often elements of `flow` violated their bounds.
    pub fn violations(&self, flow: usize) -> u64 {
        self.lanes[flow].iter().map(Lane::violations).sum()
    }

    /// Time of the next departure that a hop decides on, its rank among simultaneous events, and the hop.
    fn next_service(&self) -> Option<(Time, u32, usize)> {
        let due = self.deciding.iter().filter_map(|&index| {
            let hop = &self.hops[index];
            let at = hop.hop.service_at();
            at.is_set().then(|| (at, hop.tie.map_or(0, |key| self.ties.rank(key, at)), index))
        });
        due.min()
    }

    /// `frame` reaches its next hop at `now`.
    fn enter(&mut self, now: Time, frame: Frame) {
        let item = &mut self.items[frame as usize];
        let hop = &mut self.hops[self.lanes[item.flow][item.direction as usize].visits()[item.stage].hop];
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
        let Some(departure) = decided(verdict, item) else { return self.lose(frame) };
        let visits = self.lanes[item.flow][item.direction as usize].visits();
        let is_last = item.stage == visits.len();
        let delay = if is_last { Dur::ZERO } else { self.hops[visits[item.stage - 1].hop].delay };
        self.advance_to_hop(departure + delay, frame);
    }

    /// `frame` reaches its next hop, or the end of the lane's hops, at `at`.
    fn advance_to_hop(&mut self, at: Time, frame: Frame) {
        let item = &self.items[frame as usize];
        match self.lanes[item.flow][item.direction as usize].visits().get(item.stage) {
            Some(visit) => match visit.tie {
                Some(key) => {
                    let entry = self.entry(at, key, frame);
                    self.coming.push(Reverse(entry));
                }
                None => self.enter(at, frame),
            },
            None => self.finish(at, frame),
        }
    }

    /// `frame` leaves the last hop (or the first chain, if there is no hop) at `at`.
    fn finish(&mut self, at: Time, frame: Frame) {
        let item = &mut self.items[frame as usize];
        let lane = &mut self.lanes[item.flow][item.direction as usize];
        match decided(lane.leave(at, &item.packet), item) {
            Some(at) => {
                let at = lane.process(at);
                let key = TieKey(item.flow as u32);
                let entry = self.entry(at, key, frame);
                self.leaving.push(Reverse(entry));
            }
            None => self.lose(frame),
        }
    }

    fn entry(&mut self, at: Time, key: TieKey, frame: Frame) -> Entry {
        self.serial += 1;
        Entry { at, rank: self.ties.rank(key, at), serial: self.serial, frame }
    }

    fn lose(&mut self, frame: Frame) {
        let item = &self.items[frame as usize];
        self.lanes[item.flow][item.direction as usize].dropped += u64::from(item.packets);
        self.lost.push(frame);
    }
}

/// A packet of `bytes` that enters at `sent`.
pub fn packet(seq: u64, bytes: u64, sent: Time, ecn: Ecn) -> Packet {
    Packet { seq, bytes: Bytes(bytes), sent, ecn }
}
