//! All flows, in bounded memory.
//!
//! An *unverified* peer (whose address may be forged) costs a few hundred bytes and is not measured; if there is no
//! room, the oldest unverified peer is removed. A peer that acknowledges a sequence number of ours, or whose data the
//! host acknowledges, becomes *open* and gets a [`Monitor`]. So forged traffic never displaces a real flow.
//!
//! A flow that is idle or ended *rests*: it is not measured and not counted by policies, but stays in the table, and is
//! open again with its next data. No arriving packet removes a flow from the table.
//!
//! A full table makes room for a flow that moves more data than another: resting flows are removed first, then the one
//! with the least recent data among those examined. One source (an address, of IPv6 a /64) has a limited number of
//! flows, and makes room among its own. A flow for which there is no room keeps its host's own window, and is counted.

use super::clock::Clock;
use super::handshake::Handshake;
use super::life::{Life, Phase};
use super::source::{Sources, source};
use super::usage::Usage;
use crate::features::{Plan, Row};
use crate::measure::{Arrival, Monitor};
use crate::packet::{FlowKey, Packet};
use fairweir_tcp::{Direction, Flags};
use fairweir_units::{Bytes, Dur, Time};
use std::collections::hash_map::DefaultHasher;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, Hasher};
use std::net::IpAddr;

/// Limits of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Open and resting flows.
    pub open: usize,
    /// Of these, flows of one remote address (IPv4) or /64 (IPv6).
    pub per_source: usize,
    /// Unverified peers.
    pub unverified: usize,
    /// Time without a packet after which an open flow rests.
    pub idle: Dur,
    /// Maximum memory of all open flows' measurements; above it the idlest flows are removed.
    pub budget: Bytes,
    /// Whether peers must be verified; `false` for captures of one direction and for simulations, where no packets are
    /// forged.
    pub needs_proof: bool,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            open: 4096,
            per_source: 512,
            unverified: 4096,
            idle: Dur::from_secs(60),
            budget: Bytes(64 << 20),
            needs_proof: true,
        }
    }
}

/// Silence after which a flow that seems to have ended rests.
const LINGER: Dur = Dur::from_millis(500);
/// Silence after which a flow is removed that the host has closed, or has begun again without response.
const FORGET_CLOSED: Dur = Dur::from_secs(10);
/// Silence after which a resting flow is removed.
const FORGET: Dur = Dur::from_secs(3600);

/// Names a measured flow as long as it lives; never another one later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId {
    slot: u32,
    generation: u32,
}

/// A measured flow.
#[derive(Debug)]
pub struct Flow {
    key: FlowKey,
    life: Life,
    seen: Time,
    handshake: Handshake,
    monitor: Monitor,
    usage: Usage,
    is_resting: bool,
    /// Memory that the table counts for it.
    bytes: usize,
}

impl Flow {
    /// The connection.
    pub fn key(&self) -> &FlowKey {
        &self.key
    }
    /// Its measurements.
    pub fn monitor(&self) -> &Monitor {
        &self.monitor
    }
    /// Time of its last packet, by the table's clock.
    pub fn seen(&self) -> Time {
        self.seen
    }
    /// Whether its sender has finished, or it was reset, as far as known.
    pub fn is_ended(&self) -> bool {
        self.life.seems_over()
    }
    /// The host begins another connection between the same ends.
    fn begin_anew(&mut self, plan: &Plan) {
        self.life = Life::new();
        self.handshake = Handshake::default();
        self.monitor = Monitor::new(plan);
        self.is_resting = true;
    }
    /// Called when data moves again.
    fn wake(&mut self) {
        self.is_resting &= self.life.phase != Phase::Open || self.life.seems_over();
    }
    /// Records its memory, and returns it.
    fn account(&mut self) -> usize {
        self.bytes = size_of::<Flow>() - size_of::<Monitor>() + self.monitor.bytes();
        self.bytes
    }
    /// Scale of the windows that the managed host advertises, if the handshake was seen.
    pub fn wscale(&self) -> Option<u8> {
        self.handshake.scale()
    }
}

/// Counts of flows that did not become or stay measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Unverified peers removed for others.
    pub unverified_evicted: u64,
    /// Flows that went for others that moved more data.
    pub idle_evicted: u64,
    /// Packets of proven flows that found no room.
    pub refused: u64,
    /// Payload that arrived in them, bytes: not limited by any window.
    pub refused_bytes: u64,
    /// Open flows that went because all together took too much memory.
    pub budget_evicted: u64,
}

#[derive(Debug)]
struct Keyed(DefaultHasher);

impl BuildHasher for Keyed {
    type Hasher = DefaultHasher;
    fn build_hasher(&self) -> DefaultHasher {
        self.0.clone()
    }
}

#[derive(Clone, Copy, Debug)]
enum Place {
    Unverified,
    Open(u32),
}

#[derive(Debug)]
struct Unverified {
    life: Life,
    handshake: Handshake,
    usage: Usage,
    born: u64,
}

/// Finds flows, follows their lives, measures them.
#[derive(Debug)]
pub struct Table {
    limits: Limits,
    plan: Plan,
    clock: Clock,
    now: Time,
    places: HashMap<FlowKey, Place, Keyed>,
    /// The open flow of the latest packet: an ACK follows its data, and bursts are of one flow.
    latest: Option<(FlowKey, u32)>,
    unverified: HashMap<FlowKey, Unverified, Keyed>,
    queue: VecDeque<(FlowKey, u64)>,
    births: u64,
    slots: Vec<(u32, Option<Box<Flow>>)>,
    free: Vec<u32>,
    sources: Sources<Keyed>,
    hand: usize,
    /// Of all open flows.
    bytes: usize,
    counts: Counts,
}

/// Flows examined to find the least useful one; a full turn takes a few attempts more, each bounded.
const MAX_EXAMINED: usize = 32;

impl Table {
    /// Creates an empty table. `key` should be secret, so that an attacker cannot aim at one bucket.
    pub fn new(limits: Limits, key: [u8; 16], plan: Plan) -> Table {
        let keyed = || {
            let mut hasher = DefaultHasher::new();
            hasher.write(&key);
            Keyed(hasher)
        };
        Table {
            limits,
            plan,
            clock: Clock::default(),
            now: Time::ZERO,
            places: HashMap::with_hasher(keyed()),
            latest: None,
            unverified: HashMap::with_hasher(keyed()),
            queue: VecDeque::new(),
            births: 0,
            slots: Vec::new(),
            free: Vec::new(),
            sources: Sources::new(keyed()),
            hand: 0,
            bytes: 0,
            counts: Counts::default(),
        }
    }

    /// A packet passes. Returns its flow if data arrived that were measured.
    pub fn observe(&mut self, packet: &Packet) -> Option<FlowId> {
        self.now = self.clock.read(packet.at);
        let slot = match self.latest {
            Some((flow, slot)) if flow == packet.flow => slot,
            _ => self.find(packet)?,
        };
        self.measure(slot, packet)
    }

    fn find(&mut self, packet: &Packet) -> Option<u32> {
        let slot = match self.places.get(&packet.flow) {
            Some(Place::Open(slot)) => *slot,
            Some(Place::Unverified) => self.meet(packet)?,
            None => {
                self.admit(packet.flow);
                self.meet(packet)?
            }
        };
        self.latest = Some((packet.flow, slot));
        Some(slot)
    }

    fn measure(&mut self, slot: u32, packet: &Packet) -> Option<FlowId> {
        let (generation, flow) = &mut self.slots[slot as usize];
        let flow = flow.as_deref_mut()?;
        flow.seen = self.now;
        if flow.handshake.is_anew(packet) {
            flow.begin_anew(&self.plan);
            *generation = generation.wrapping_add(1);
        }
        let id = FlowId { slot, generation: *generation };
        let acked_before = flow.life.acked();
        flow.life.observe(packet);
        flow.handshake.observe(packet, self.now);
        if packet.direction == Direction::Outgoing {
            if let Some(stamps) = packet.timestamps {
                flow.monitor.on_departure(stamps.tsval, self.now);
            }
            let newly = acked_before.zip(flow.life.acked()).map_or(0, |(before, after)| after.wrapping_sub(before));
            flow.monitor.on_acknowledged(newly, self.now, flow.handshake.rtt());
            if newly > 0 {
                flow.wake();
            }
            return None;
        }
        if packet.payload == 0 || packet.flags.has(Flags::RST) {
            return None;
        }
        flow.wake();
        if flow.is_resting {
            return None;
        }
        flow.usage.add(packet.payload, self.now);
        let arrival = Arrival {
            at: self.now,
            seq: packet.seq,
            payload: packet.payload,
            wire: packet.wire,
            segs: packet.segments(),
            timestamps: packet.timestamps,
        };
        flow.monitor.on_data(&self.plan, &arrival);
        self.bytes -= flow.bytes;
        self.bytes += flow.account();
        self.keep_to_budget(id);
        Some(id)
    }

    fn keep_to_budget(&mut self, id: FlowId) {
        if self.bytes as u64 > self.limits.budget.0 {
            self.economise(id);
        }
    }

    /// Removes the idlest flows until memory is well within the budget, so that this is rare; `id` stays.
    #[cold]
    fn economise(&mut self, id: FlowId) {
        let mut others: Vec<(Time, FlowId)> =
            self.all().filter(|(other, _)| *other != id).map(|(other, flow)| (flow.seen, other)).collect();
        others.sort_unstable();
        let goal = self.limits.budget.0 / 16 * 15;
        for (_, other) in others {
            if self.bytes as u64 <= goal {
                break;
            }
            self.remove(other);
            self.counts.budget_evicted += 1;
        }
    }

    fn admit(&mut self, key: FlowKey) {
        while self.unverified.len() >= self.limits.unverified.max(1) {
            let Some((oldest, born)) = self.queue.pop_front() else { break };
            if self.unverified.get(&oldest).is_some_and(|peer| peer.born == born) {
                self.unverified.remove(&oldest);
                self.places.remove(&oldest);
                self.counts.unverified_evicted += 1;
            }
        }
        // Those that became open are still in the queue.
        if self.queue.len() > 2 * self.limits.unverified.max(1) {
            let unverified = &self.unverified;
            self.queue.retain(|(key, born)| unverified.get(key).is_some_and(|peer| peer.born == *born));
        }
        self.births += 1;
        let born = self.births;
        self.unverified.insert(
            key,
            Unverified { life: Life::new(), handshake: Handshake::default(), usage: Usage::default(), born },
        );
        self.places.insert(key, Place::Unverified);
        self.queue.push_back((key, born));
    }

    /// Processes a packet of an unverified peer; returns its slot once it is verified.
    fn meet(&mut self, packet: &Packet) -> Option<u32> {
        let peer = self.unverified.get_mut(&packet.flow)?;
        if peer.handshake.is_anew(packet) {
            (peer.life, peer.handshake) = (Life::new(), Handshake::default());
        }
        peer.handshake.observe(packet, self.now);
        let is_data = packet.payload > 0 && packet.direction == Direction::Incoming;
        let is_open = peer.life.observe(packet) == Phase::Open;
        if !is_open && (self.limits.needs_proof || !is_data) {
            return None;
        }
        if is_data {
            peer.usage.add(packet.payload, self.now);
        }
        let usage = peer.usage;
        let Some(slot) = self.room(packet.flow.remote().ip(), &usage) else {
            self.counts.refused += 1;
            self.counts.refused_bytes += if is_data { u64::from(packet.payload) } else { 0 };
            return None;
        };
        let mut peer = self.unverified.remove(&packet.flow)?;
        if peer.life.phase == Phase::Unverified {
            peer.life.phase = Phase::Open;
        }
        let flow = Flow {
            key: packet.flow,
            life: peer.life,
            seen: self.now,
            handshake: peer.handshake,
            monitor: Monitor::new(&self.plan),
            // The usage is added again with the measurement of this packet.
            usage: Usage::default(),
            is_resting: false,
            bytes: 0,
        };
        self.places.insert(packet.flow, Place::Open(slot));
        self.sources.add(source(packet.flow.remote().ip()), slot);
        let (generation, place) = &mut self.slots[slot as usize];
        let id = FlowId { slot, generation: *generation };
        let flow = place.insert(Box::new(flow));
        self.bytes += flow.account();
        self.keep_to_budget(id);
        Some(slot)
    }

    /// A slot for a flow from `remote` with this recent usage.
    fn room(&mut self, remote: IpAddr, usage: &Usage) -> Option<u32> {
        let own = self.sources.of(source(remote));
        if own.len() >= self.limits.per_source.max(1) {
            let start = self.hand;
            let looks: Vec<u32> = (0..MAX_EXAMINED.min(own.len())).map(|i| own[(start + i) % own.len()]).collect();
            self.hand = self.hand.wrapping_add(MAX_EXAMINED);
            self.make_room(&looks, usage)?;
        } else if self.free.is_empty() && self.slots.len() < self.limits.open {
            self.slots.push((0, None));
            return Some((self.slots.len() - 1) as u32);
        } else if self.free.is_empty() && !self.slots.is_empty() {
            let start = self.hand % self.slots.len();
            let looks: Vec<u32> =
                (0..MAX_EXAMINED.min(self.slots.len())).map(|i| ((start + i) % self.slots.len()) as u32).collect();
            self.hand = self.hand.wrapping_add(MAX_EXAMINED);
            self.make_room(&looks, usage)?;
        }
        self.free.pop()
    }

    /// Removes the least useful flow in these slots, if it is less useful than one with `usage`.
    fn make_room(&mut self, slots: &[u32], usage: &Usage) -> Option<()> {
        let (now, idle) = (self.now, self.limits.idle);
        let worth = |slot: &u32| {
            let (generation, flow) = &self.slots[*slot as usize];
            let flow = flow.as_deref()?;
            let is_live = !flow.is_resting && !flow.is_ended() && now.since(flow.seen) < idle;
            Some((is_live, flow.usage.recent(now), flow.seen, FlowId { slot: *slot, generation: *generation }))
        };
        let (is_live, moved, _, id) = slots.iter().filter_map(worth).min()?;
        // Twice as much, so that two equal flows do not alternate.
        if is_live && usage.recent(now) <= 2 * moved {
            return None;
        }
        self.remove(id);
        self.counts.idle_evicted += 1;
        Some(())
    }

    fn remove(&mut self, id: FlowId) {
        let (generation, flow) = &mut self.slots[id.slot as usize];
        if let Some(flow) = flow.take() {
            *generation = generation.wrapping_add(1);
            self.places.remove(&flow.key);
            self.sources.remove(source(flow.key.remote().ip()), id.slot);
            self.latest = None;
            self.bytes -= flow.bytes;
            self.free.push(id.slot);
        }
    }

    /// Marks idle and ended flows as resting, and removes those that have rested for long; call it about once per
    /// second, with the packets' clock.
    pub fn expire(&mut self, at: Time) {
        self.now = self.clock.read(at);
        for slot in 0..self.slots.len() {
            let (generation, flow) = &mut self.slots[slot];
            let Some(flow) = flow.as_deref_mut() else { continue };
            let silence = self.now.since(flow.seen);
            let is_over = flow.life.seems_over() && silence >= LINGER;
            let forget = if flow.life.phase == Phase::Open { FORGET } else { FORGET_CLOSED };
            if !flow.is_resting && (is_over || silence >= self.limits.idle) {
                flow.is_resting = true;
                flow.monitor = Monitor::new(&self.plan);
                *generation = generation.wrapping_add(1);
                self.bytes -= flow.bytes;
                self.bytes += flow.account();
            }
            let id = FlowId { slot: slot as u32, generation: *generation };
            if flow.is_resting && silence >= forget {
                self.remove(id);
            }
        }
    }

    /// Whether the table contains this flow, measured, resting or unverified. Its state in the kernel should then be
    /// preserved.
    pub fn remembers(&self, flow: &FlowKey) -> bool {
        self.places.contains_key(flow)
    }

    /// The flow, if it is measured.
    pub fn get(&self, id: FlowId) -> Option<&Flow> {
        let (generation, flow) = self.slots.get(id.slot as usize)?;
        flow.as_deref().filter(|flow| *generation == id.generation && !flow.is_resting)
    }
    /// All measured flows.
    pub fn iter(&self) -> impl Iterator<Item = (FlowId, &Flow)> {
        self.all().filter(|(_, flow)| !flow.is_resting)
    }
    fn all(&self) -> impl Iterator<Item = (FlowId, &Flow)> {
        self.slots.iter().enumerate().filter_map(|(slot, (generation, flow))| {
            Some((FlowId { slot: slot as u32, generation: *generation }, flow.as_deref()?))
        })
    }
    /// Number of resting flows.
    pub fn resting(&self) -> usize {
        self.all().filter(|(_, flow)| flow.is_resting).count()
    }
    /// Writes the plan's features of a flow; returns `false` if it has been removed.
    pub fn fill(&self, id: FlowId, row: &mut Row) -> bool {
        self.get(id).map(|flow| flow.monitor.fill(&self.plan, row)).is_some()
    }
    /// The table's clock: the time of the latest packet or call of [`Table::expire`]; it never goes back.
    pub fn now(&self) -> Time {
        self.now
    }
    /// Measures for another plan from now on; flows stay, with all but their averages and windows.
    pub fn replan(&mut self, plan: Plan) {
        self.plan = plan;
        for (_, flow) in &mut self.slots {
            if let Some(flow) = flow {
                flow.monitor.replan(&self.plan);
            }
        }
    }
    /// The features in rows.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }
    /// Counts of evictions and rejections.
    pub fn counts(&self) -> Counts {
        self.counts
    }
    /// Memory that the measurements of all open flows take.
    pub fn bytes(&self) -> Bytes {
        Bytes(self.bytes as u64)
    }
    /// Number of unverified peers in the table.
    pub fn unverified(&self) -> usize {
        self.unverified.len()
    }
}
