//! All flows, in bounded memory.
//!
//! A *stranger* (a peer that may be forged) costs a few hundred bytes and is measured by nobody; the oldest stranger
//! goes when another comes and there is no room. A peer that acknowledges a sequence number of ours becomes *open* and gets a
//! [`Monitor`]; only idle open flows make room for new ones. So forged traffic never pushes out a real flow.

use super::clock::Clock;
use super::life::{Life, Phase};
use super::scale::Scale;
use crate::features::{Plan, Row};
use crate::measure::{Arrival, Monitor};
use crate::packet::{Direction, Flags, FlowKey, Packet};
use fairweir_units::{Bytes, Dur, Time};
use std::collections::hash_map::DefaultHasher;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, Hasher};

/// How much is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Open flows.
    pub open: usize,
    /// Strangers.
    pub strangers: usize,
    /// An open flow without a packet for so long may be forgotten.
    pub idle: Dur,
    /// What the measurements of all open flows may take; beyond it the idlest flows go.
    pub budget: Bytes,
    /// Must a peer prove itself? `false` for captures of one direction and for simulations, where nobody forges.
    pub needs_proof: bool,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { open: 4096, strangers: 4096, idle: Dur::from_secs(60), budget: Bytes(64 << 20), needs_proof: true }
    }
}

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
    scale: Scale,
    monitor: Monitor,
    /// What the table counts for it.
    bytes: usize,
}

impl Flow {
    /// Who talks to whom.
    pub fn key(&self) -> &FlowKey {
        &self.key
    }
    /// Its measurements.
    pub fn monitor(&self) -> &Monitor {
        &self.monitor
    }
    /// When its last packet passed, by the table's clock.
    pub fn seen(&self) -> Time {
        self.seen
    }
    /// Has its sender finished, or was it reset?
    pub fn is_ended(&self) -> bool {
        self.life.phase == Phase::Ended
    }
    /// Notes what it takes, and gives it.
    fn account(&mut self) -> usize {
        self.bytes = size_of::<Flow>() - size_of::<Monitor>() + self.monitor.bytes();
        self.bytes
    }
    /// Scale of the windows that the managed host advertises, if the handshake was seen.
    pub fn wscale(&self) -> Option<u8> {
        self.scale.agreed()
    }
}

/// What did not become or stay a measured flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Strangers that went for others.
    pub strangers_evicted: u64,
    /// Open flows that went for others, being idle.
    pub idle_evicted: u64,
    /// Proven flows that found no room.
    pub refused: u64,
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
    Stranger,
    Open(u32),
}

#[derive(Debug)]
struct Stranger {
    life: Life,
    scale: Scale,
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
    strangers: HashMap<FlowKey, Stranger, Keyed>,
    queue: VecDeque<(FlowKey, u64)>,
    births: u64,
    slots: Vec<(u32, Option<Box<Flow>>)>,
    free: Vec<u32>,
    hand: usize,
    /// Of all open flows.
    bytes: usize,
    counts: Counts,
}

/// Slots that are looked at to find an idle flow; a full turn takes a few attempts more, each bounded.
const LOOKS: usize = 32;

impl Table {
    /// An empty table. `key` should be secret, so that nobody can aim at one bucket.
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
            strangers: HashMap::with_hasher(keyed()),
            queue: VecDeque::new(),
            births: 0,
            slots: Vec::new(),
            free: Vec::new(),
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
            Some(Place::Stranger) => self.meet(packet)?,
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
        let id = FlowId { slot, generation: *generation };
        let flow = flow.as_deref_mut()?;
        flow.seen = self.now;
        let is_anew = packet.flags.has(Flags::SYN) && flow.life.phase == Phase::Ended;
        if is_anew {
            self.remove(id);
            return None;
        }
        flow.life.observe(packet);
        if packet.flags.has(Flags::SYN) {
            flow.scale.on_syn(packet);
        }
        if packet.direction == Direction::Outgoing {
            if let Some(stamps) = packet.timestamps {
                flow.monitor.on_departure(stamps.tsval, self.now);
            }
            return None;
        }
        if packet.payload == 0 || packet.flags.has(Flags::RST) {
            return None;
        }
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

    /// The idlest flows go until all is well within the budget, so that this is seldom; `id` stays.
    #[cold]
    fn economise(&mut self, id: FlowId) {
        let mut others: Vec<(Time, FlowId)> =
            self.iter().filter(|(other, _)| *other != id).map(|(other, flow)| (flow.seen, other)).collect();
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
        while self.strangers.len() >= self.limits.strangers.max(1) {
            let Some((oldest, born)) = self.queue.pop_front() else { break };
            if self.strangers.get(&oldest).is_some_and(|stranger| stranger.born == born) {
                self.strangers.remove(&oldest);
                self.places.remove(&oldest);
                self.counts.strangers_evicted += 1;
            }
        }
        // Those that became open left their names in the queue.
        if self.queue.len() > 2 * self.limits.strangers.max(1) {
            let strangers = &self.strangers;
            self.queue.retain(|(key, born)| strangers.get(key).is_some_and(|stranger| stranger.born == *born));
        }
        self.births += 1;
        let born = self.births;
        self.strangers.insert(key, Stranger { life: Life::new(), scale: Scale::default(), born });
        self.places.insert(key, Place::Stranger);
        self.queue.push_back((key, born));
    }

    /// A stranger's packet; its slot if it is none any more.
    fn meet(&mut self, packet: &Packet) -> Option<u32> {
        let stranger = self.strangers.get_mut(&packet.flow)?;
        if packet.flags.has(Flags::SYN) {
            stranger.scale.on_syn(packet);
        }
        let is_open = stranger.life.observe(packet) == Phase::Open;
        let is_trusted = !self.limits.needs_proof && packet.payload > 0 && packet.direction == Direction::Incoming;
        if !is_open && !is_trusted {
            return None;
        }
        let Some(slot) = self.room() else {
            self.counts.refused += 1;
            return None;
        };
        let mut stranger = self.strangers.remove(&packet.flow)?;
        if stranger.life.phase == Phase::Stranger {
            stranger.life.phase = Phase::Open;
        }
        let flow = Flow {
            key: packet.flow,
            life: stranger.life,
            seen: self.now,
            scale: stranger.scale,
            monitor: Monitor::new(&self.plan),
            bytes: 0,
        };
        self.places.insert(packet.flow, Place::Open(slot));
        let (generation, place) = &mut self.slots[slot as usize];
        let id = FlowId { slot, generation: *generation };
        let flow = place.insert(Box::new(flow));
        self.bytes += flow.account();
        self.keep_to_budget(id);
        Some(slot)
    }

    fn room(&mut self) -> Option<u32> {
        if self.free.is_empty() && self.slots.len() < self.limits.open {
            self.slots.push((0, None));
            return Some((self.slots.len() - 1) as u32);
        }
        for _ in 0..LOOKS {
            if !self.free.is_empty() || self.slots.is_empty() {
                break;
            }
            self.hand = (self.hand + 1) % self.slots.len();
            let (generation, flow) = &self.slots[self.hand];
            let id = FlowId { slot: self.hand as u32, generation: *generation };
            if flow.as_ref().is_some_and(|f| f.is_ended() || self.now.since(f.seen) >= self.limits.idle) {
                self.remove(id);
                self.counts.idle_evicted += 1;
            }
        }
        self.free.pop()
    }

    fn remove(&mut self, id: FlowId) {
        let (generation, flow) = &mut self.slots[id.slot as usize];
        if let Some(flow) = flow.take() {
            *generation = generation.wrapping_add(1);
            self.places.remove(&flow.key);
            self.latest = None;
            self.bytes -= flow.bytes;
            self.free.push(id.slot);
        }
    }

    /// Forgets flows that are idle or ended; call it about once a second, with the clock that packets have.
    pub fn expire(&mut self, at: Time) {
        self.now = self.clock.read(at);
        for slot in 0..self.slots.len() {
            let (generation, flow) = &self.slots[slot];
            let id = FlowId { slot: slot as u32, generation: *generation };
            if flow.as_ref().is_some_and(|f| f.is_ended() || self.now.since(f.seen) >= self.limits.idle) {
                self.remove(id);
            }
        }
    }

    /// The flow, if it still lives.
    pub fn get(&self, id: FlowId) -> Option<&Flow> {
        let (generation, flow) = self.slots.get(id.slot as usize)?;
        if *generation == id.generation { flow.as_deref() } else { None }
    }
    /// All measured flows.
    pub fn iter(&self) -> impl Iterator<Item = (FlowId, &Flow)> {
        self.slots.iter().enumerate().filter_map(|(slot, (generation, flow))| {
            Some((FlowId { slot: slot as u32, generation: *generation }, flow.as_deref()?))
        })
    }
    /// Writes the plan's features of a flow; `false` if it is gone.
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
    /// What rows hold.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }
    /// What was evicted and refused.
    pub fn counts(&self) -> Counts {
        self.counts
    }
    /// Memory that the measurements of all open flows take.
    pub fn bytes(&self) -> Bytes {
        Bytes(self.bytes as u64)
    }
    /// How many strangers are remembered.
    pub fn strangers(&self) -> usize {
        self.strangers.len()
    }
}
