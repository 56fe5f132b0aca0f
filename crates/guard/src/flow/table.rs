//! The table of all flows, in bounded memory.
//!
//! An *unverified* peer (whose address may be forged) costs a few hundred bytes and is not measured. If there is no
//! space, the oldest unverified peer is removed. A peer becomes *open* and gets a [`Monitor`] when it acknowledges a
//! sequence number of the managed host, or when the host acknowledges the peer's data. Forged traffic therefore never
//! displaces a verified flow.
//!
//! A flow that is idle or ended *rests*: it is not measured and policies do not count it, but it stays in the table and
//! becomes open again with its next data. No arriving packet removes a flow from the table.
//!
//! A full table removes a flow for one that moves more data: first resting flows, then, among the flows examined, the
//! one whose last data is oldest. A source (an IPv4 address or an IPv6 /64) has a limited number of flows; above it,
//! one of the source's own flows is removed. A flow for which there is no space keeps the host's own window, and is
//! counted.

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
    /// Maximum number of open and resting flows.
    pub open: usize,
    /// Maximum number of these that have the same remote address (IPv4) or /64 (IPv6).
    pub per_source: usize,
    /// Maximum number of unverified peers.
    pub unverified: usize,
    /// Time without a packet after which an open flow rests.
    pub idle: Dur,
    /// Maximum memory of all open flows' measurements. Above it, the flows idle for longest are removed.
    pub budget: Bytes,
    /// Whether peers must be verified. `false` for captures of one direction and for simulations, in which no packets
    /// are forged.
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
/// Silence after which a flow is removed if the host has closed it, or has started it again without a response.
const FORGET_CLOSED: Dur = Dur::from_secs(10);
/// Silence after which a resting flow is removed.
const FORGET: Dur = Dur::from_secs(3600);

/// Identifies a measured flow during its lifetime; it is never reused.
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
    /// Memory that the table accounts to the flow.
    bytes: usize,
}

impl Flow {
    /// Returns the connection.
    pub fn key(&self) -> &FlowKey {
        &self.key
    }
    /// Returns the flow's measurements.
    pub fn monitor(&self) -> &Monitor {
        &self.monitor
    }
    /// Returns the time of the last packet, by the table's clock.
    pub fn seen(&self) -> Time {
        self.seen
    }
    /// Returns whether, as far as known, the sender has finished or the flow was reset.
    pub fn is_ended(&self) -> bool {
        self.life.seems_over()
    }
    /// The host starts another connection between the same ends.
    fn begin_anew(&mut self, plan: &Plan) {
        self.life = Life::new();
        self.handshake = Handshake::default();
        self.monitor = Monitor::new(plan);
        self.is_resting = true;
    }
    /// Called when data moves again on a resting flow.
    fn wake(&mut self) {
        self.is_resting &= self.life.phase != Phase::Open || self.life.seems_over();
    }
    /// Updates the accounted memory, and returns it.
    fn account(&mut self) -> usize {
        self.bytes = size_of::<Flow>() - size_of::<Monitor>() + self.monitor.bytes();
        self.bytes
    }
    /// Returns the scale of the windows that the managed host advertises, if the handshake was seen.
    pub fn wscale(&self) -> Option<u8> {
        self.handshake.scale()
    }
}

/// Counts of flows that were not measured or whose measurement ended early.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Unverified peers removed in favor of others.
    pub unverified_evicted: u64,
    /// Flows removed in favor of others that moved more data.
    pub idle_evicted: u64,
    /// Packets of verified flows for which there was no space.
    pub refused: u64,
    /// Payload that arrived in these packets, bytes; no window limited it.
    pub refused_bytes: u64,
    /// Open flows removed because the memory of all flows exceeded the budget.
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

/// Finds flows, tracks their states and measures them.
#[derive(Debug)]
pub struct Table {
    limits: Limits,
    plan: Plan,
    clock: Clock,
    now: Time,
    places: HashMap<FlowKey, Place, Keyed>,
    /// The open flow of the latest packet, as a cache: an ACK follows its data, and bursts belong to one flow.
    latest: Option<(FlowKey, u32)>,
    unverified: HashMap<FlowKey, Unverified, Keyed>,
    queue: VecDeque<(FlowKey, u64)>,
    births: u64,
    slots: Vec<(u32, Option<Box<Flow>>)>,
    free: Vec<u32>,
    sources: Sources<Keyed>,
    hand: usize,
    /// Memory accounted to all open flows, bytes.
    bytes: usize,
    counts: Counts,
}

/// Number of flows examined to find the least useful one. A few further attempts examine all flows; each is bounded.
const MAX_EXAMINED: usize = 32;

impl Table {
    /// Creates an empty table. `key` should be secret, so that an attacker cannot choose flows of the same hash bucket.
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

    /// Processes a packet. Returns its flow if it is an arrival of data that was measured.
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

    /// Removes the flows idle for longest until memory is well below the budget, so that this happens rarely. `id` is
    /// not removed.
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
        // Peers that became open are still in the queue.
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
            // The usage is added again when this packet is measured.
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

    /// Returns a slot for a flow from `remote` with this recent usage.
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

    /// Removes the least useful flow in these slots, if it is less useful than a flow with `usage`.
    fn make_room(&mut self, slots: &[u32], usage: &Usage) -> Option<()> {
        let (now, idle) = (self.now, self.limits.idle);
        let worth = |slot: &u32| {
            let (generation, flow) = &self.slots[*slot as usize];
            let flow = flow.as_deref()?;
            let is_live = !flow.is_resting && !flow.is_ended() && now.since(flow.seen) < idle;
            Some((is_live, flow.usage.recent(now), flow.seen, FlowId { slot: *slot, generation: *generation }))
        };
        let (is_live, moved, _, id) = slots.iter().filter_map(worth).min()?;
        // It must have moved twice as much, so that two equal flows do not alternate.
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

    /// Marks idle and ended flows as resting, and removes flows that have rested for long. Call this about once per
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

    /// Returns whether the table contains this flow (measured, resting or unverified). Its state in the kernel should
    /// then be preserved.
    pub fn remembers(&self, flow: &FlowKey) -> bool {
        self.places.contains_key(flow)
    }

    /// Returns the flow, if it is measured.
    pub fn get(&self, id: FlowId) -> Option<&Flow> {
        let (generation, flow) = self.slots.get(id.slot as usize)?;
        flow.as_deref().filter(|flow| *generation == id.generation && !flow.is_resting)
    }
    /// Returns all measured flows.
    pub fn iter(&self) -> impl Iterator<Item = (FlowId, &Flow)> {
        self.all().filter(|(_, flow)| !flow.is_resting)
    }
    fn all(&self) -> impl Iterator<Item = (FlowId, &Flow)> {
        self.slots.iter().enumerate().filter_map(|(slot, (generation, flow))| {
            Some((FlowId { slot: slot as u32, generation: *generation }, flow.as_deref()?))
        })
    }
    /// Returns the number of resting flows.
    pub fn resting(&self) -> usize {
        self.all().filter(|(_, flow)| flow.is_resting).count()
    }
    /// Writes the plan's features of a flow; returns `false` if it has been removed.
    pub fn fill(&self, id: FlowId, row: &mut Row) -> bool {
        self.get(id).map(|flow| flow.monitor.fill(&self.plan, row)).is_some()
    }
    /// Returns the table's clock: the time of the latest packet or call of [`Table::expire`]. It never goes back.
    pub fn now(&self) -> Time {
        self.now
    }
    /// Switches to another plan. Flows stay in the table; their averages and windows are reset.
    pub fn replan(&mut self, plan: Plan) {
        self.plan = plan;
        for (_, flow) in &mut self.slots {
            if let Some(flow) = flow {
                flow.monitor.replan(&self.plan);
            }
        }
    }
    /// Returns the plan of the rows.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }
    /// Returns the counts of evictions and rejections.
    pub fn counts(&self) -> Counts {
        self.counts
    }
    /// Returns the memory of all open flows' measurements.
    pub fn bytes(&self) -> Bytes {
        Bytes(self.bytes as u64)
    }
    /// Returns the number of unverified peers in the table.
    pub fn unverified(&self) -> usize {
        self.unverified.len()
    }
}
