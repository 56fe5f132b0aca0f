//! A flow's path through the network: from the sender over the hops to the receiver, and the return path of the ACKs.
//!
//! A packet is advanced as far as its fate is known: through the flow's own elements and every hop it enters at the
//! present moment. Where it reaches a shared hop later, it waits in that [`Stage`]'s queue until then.

use crate::item::{AckItem, Departure, Item};
use crate::net::Net;
use crate::receiver::{AckOut, Receiver};
use crate::ring::Ring;
use crate::schedule::Leaf;
use crate::watch::Watch;
use fairweir_path::{Chain, ElementConfig, Packet, Verdict};
use fairweir_scenario::PacketEvent;
use fairweir_scenario::{Config, FlowSpec};
use fairweir_units::{Bytes, Dur, Time};
use rand_chacha::ChaCha8Rng;

/// Direction of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Data,
    Ack,
}

/// Where packets of a stage wait until they enter the hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// No waiting: they enter when they are sent.
    Immediate,
    /// In the stage itself, which has this leaf of the schedule.
    Own(Leaf),
    /// At the hop ([`crate::arrivals`]); `name` is the stage's tie-break id.
    AtHop { name: u32 },
}

/// A shared hop on the path, and the flow's packets that have yet to reach it.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) hop: usize,
    pub(crate) place: Place,
    pub(crate) coming: Ring<Item>,
    /// Packets inside a hop that decides on leave.
    held: Ring<Item>,
    /// The hop's identifier of this stage ([`fairweir_path::Departure::tag`]).
    pub(crate) tag: u32,
}

impl Stage {
    pub(crate) fn new(hop: usize, place: Place, tag: u32) -> Stage {
        Stage { hop, place, coming: Ring::new(), held: Ring::new(), tag }
    }

    /// `item` will reach the hop at `item.at`.
    #[inline(always)]
    fn queue<W: Watch>(&mut self, item: Item, net: &mut Net<W>) {
        match self.place {
            Place::AtHop { name } => net.announce(self.hop, item, self.tag, name),
            Place::Own(leaf) => self.queue_here(leaf, item, net),
            Place::Immediate => debug_assert!(false, "packets enter as they are sent"),
        }
    }

    /// Whether a packet that has arrived may enter the hop.
    fn enters_at_once(&self) -> bool {
        match self.place {
            Place::Immediate => true,
            Place::Own(_) => self.coming.is_empty(),
            Place::AtHop { .. } => false,
        }
    }

    #[inline(never)]
    fn queue_here<W: Watch>(&mut self, leaf: Leaf, item: Item, net: &mut Net<W>) {
        if self.coming.is_empty() {
            net.schedule.bring_forward(leaf, item.at);
        }
        self.coming.push(item);
    }
}

/// The delays of a route with only one hop, which decides on arrival, between sender and receiver.
#[derive(Clone, Copy, Debug)]
struct Straight {
    hop: usize,
    forward: Dur,
    reverse: Dur,
}

/// A flow's path through the network.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) flow_leaf: Leaf,
    packet_bytes: Bytes,
    ack_bytes: Bytes,
    is_ecn_capable: bool,
    ingress: Chain,
    pub(crate) stages: Vec<Stage>,
    /// From the last hop's link to the receiver, propagation included.
    egress: Chain,
    pub(crate) receiver: Receiver,
    /// From the receiver to the first hop of the ACKs, propagation included.
    reverse: Chain,
    pub(crate) ack_stages: Vec<Stage>,
    reverse_egress: Chain,
    pub(crate) acks: Ring<AckItem>,
    /// Send time of the newest packet at the receiver.
    last_sent: Time,
    /// Data packets and ACKs sent; counted only with an observer.
    sent: u64,
    acks_sent: u64,
    /// Delays of the short path, if [`Route::settle`] found one.
    straight: Option<Straight>,
    /// Data packets that the flow's own elements or a hop lost, and the same for ACKs.
    pub(crate) dropped: u64,
    pub(crate) acks_dropped: u64,
}

/// Takes `item` through `chain`; `false` if it is lost.
#[inline(always)]
fn through(chain: &mut Chain, item: &mut Item, bytes: Bytes, is_ecn_capable: bool) -> bool {
    let packet = Packet { seq: item.seq, bytes, sent: item.sent, is_ecn_capable };
    match chain.arrive(item.at, &packet) {
        Verdict::Deliver(at) => item.at = at,
        Verdict::Mark(at) => {
            item.at = at;
            item.ce = 1;
        }
        Verdict::Drop => return false,
    }
    true
}

impl Route {
    /// Creates the route of `spec`, whose first packet has number `first_packet`; its elements take their random
    /// streams in the order of the specification.
    pub(crate) fn new(
        config: &Config,
        spec: &FlowSpec,
        first_packet: u64,
        flow_leaf: Leaf,
        mut stream: impl FnMut() -> ChaCha8Rng,
    ) -> Route {
        let mut chain = |delay, elements: &[ElementConfig]| Chain::new(delay, elements, &mut stream);
        Route {
            flow_leaf,
            packet_bytes: config.packet,
            ack_bytes: config.ack,
            is_ecn_capable: spec.ecn,
            ingress: chain(Dur::ZERO, &spec.ingress),
            stages: Vec::new(),
            egress: chain(spec.forward_delay, &spec.egress),
            receiver: Receiver::new(&spec.receiver, first_packet),
            reverse: chain(spec.reverse_delay, &spec.reverse),
            ack_stages: Vec::new(),
            reverse_egress: chain(Dur::ZERO, &spec.reverse_egress),
            acks: Ring::new(),
            last_sent: Time::ZERO,
            sent: 0,
            acks_sent: 0,
            straight: None,
            dropped: 0,
            acks_dropped: 0,
        }
    }

    /// Determines whether packets can take the short path. Called when all stages are in place.
    pub(crate) fn settle<W: Watch>(&mut self, net: &Net<W>) {
        let [Stage { hop, .. }] = self.stages[..] else { return };
        if self.ingress.constant() == Some(Dur::ZERO)
            && self.ack_stages.is_empty()
            && net.hops[hop].leaf.is_none()
            && let (Some(forward), Some(reverse)) = (self.egress.constant(), self.reverse.constant())
        {
            self.straight = Some(Straight { hop, forward, reverse });
        }
    }

    /// The sender sends packet `seq`.
    #[inline(always)]
    pub(crate) fn send<W: Watch>(&mut self, departure: Departure, net: &mut Net<W>) {
        let Departure { at, seq, is_retransmission } = departure;
        let number = self.sent;
        if W::IS_WATCHED {
            net.watch.tell(PacketEvent::Sent { flow: self.flow(), number, seq, at, is_retransmission });
            self.sent += 1;
        }
        match self.straight {
            Some(straight) => self.send_straight(straight, at, seq, number, net),
            None => self.send_over_stages(at, seq, number, net),
        }
    }

    /// Returns the flow's index: flows have the first leaves.
    pub(crate) fn flow(&self) -> u32 {
        self.flow_leaf as u32
    }

    #[inline(always)]
    fn tell_drop<W: Watch>(&self, number: u64, at: Time, hop: Option<usize>, net: &mut Net<W>) {
        net.watch.tell(PacketEvent::Dropped { flow: self.flow(), number, at, hop: hop.map(|hop| hop as u32) });
    }

    #[inline(always)]
    fn tell_arrival<W: Watch>(&self, number: u64, at: Time, is_marked: bool, net: &mut Net<W>) {
        net.watch.tell(PacketEvent::Arrived { flow: self.flow(), number, at, is_marked });
    }

    /// Assigns the next number to an ACK.
    #[inline(always)]
    fn tell_ack<W: Watch>(&mut self, ack: &AckOut, net: &mut Net<W>) -> u64 {
        let number = self.acks_sent;
        if W::IS_WATCHED {
            net.watch.tell(PacketEvent::AckSent { flow: self.flow(), number, at: ack.at, cum: ack.cum });
            self.acks_sent += 1;
        }
        number
    }

    #[inline(always)]
    fn tell_ack_drop<W: Watch>(&self, number: u64, net: &mut Net<W>) {
        net.watch.tell(PacketEvent::AckDropped { flow: self.flow(), number });
    }

    #[inline(always)]
    fn tell_ack_arrival<W: Watch>(&self, number: u64, at: Time, net: &mut Net<W>) {
        net.watch.tell(PacketEvent::AckArrived { flow: self.flow(), number, at });
    }

    /// The short path of [`Route::send`]: one hop and no elements, so all later times are known at once.
    #[inline(always)]
    fn send_straight<W: Watch>(&mut self, straight: Straight, now: Time, seq: u64, number: u64, net: &mut Net<W>) {
        let packet = Packet { seq, bytes: self.packet_bytes, sent: now, is_ecn_capable: self.is_ecn_capable };
        let (at, is_marked) = match net.hops[straight.hop].arrive(now, &packet) {
            Verdict::Deliver(at) => (at, false),
            Verdict::Mark(at) => (at, true),
            Verdict::Drop => {
                self.dropped += 1;
                self.tell_drop(number, now, Some(straight.hop), net);
                return;
            }
        };
        let at = at.after(straight.forward);
        if self.receiver.deadline() <= at
            && let Some(ack) = self.receiver.overdue(at)
        {
            self.return_straight(straight, ack, net);
        }
        self.tell_arrival(number, at, is_marked, net);
        if let Some(ack) = self.receiver.arrive(seq, is_marked, at) {
            self.return_straight(straight, ack, net);
        } else if self.receiver.deadline().is_set() {
            net.schedule.bring_forward(self.flow_leaf, self.receiver.deadline());
        }
    }

    #[inline(always)]
    fn return_straight<W: Watch>(&mut self, straight: Straight, ack: AckOut, net: &mut Net<W>) {
        let number = self.tell_ack(&ack, net);
        let at = ack.at.after(straight.reverse);
        self.tell_ack_arrival(number, at, net);
        if self.acks.is_empty() {
            net.schedule.bring_forward(self.flow_leaf, at);
        }
        self.acks.push(AckItem { at, cum: ack.cum, log: ack.log, ce: ack.ce });
    }

    #[inline(never)]
    fn send_over_stages<W: Watch>(&mut self, now: Time, seq: u64, number: u64, net: &mut Net<W>) {
        let mut item = Item { at: now, sent: now, seq, ce: 0, log: 0, number };
        if !through(&mut self.ingress, &mut item, self.packet_bytes, self.is_ecn_capable) {
            self.dropped += 1;
            self.tell_drop(number, now, None, net);
        } else if item.at <= now && self.stages[0].enters_at_once() {
            self.enter(0, item, now, net);
        } else {
            self.queue_for(0, item, net);
        }
    }

    /// A data packet will reach hop `k` at `item.at`.
    #[inline(always)]
    fn queue_for<W: Watch>(&mut self, k: usize, item: Item, net: &mut Net<W>) {
        self.stages[k].queue(item, net);
    }

    /// A data packet enters hop `k` now.
    #[inline(always)]
    fn enter<W: Watch>(&mut self, k: usize, item: Item, now: Time, net: &mut Net<W>) {
        let packet =
            Packet { seq: item.seq, bytes: self.packet_bytes, sent: item.sent, is_ecn_capable: self.is_ecn_capable };
        match pass_hop(&mut self.stages[k], item, &packet, now, net) {
            Passage::Left(item) => self.leave(k, item, net),
            Passage::Inside => {}
            Passage::Lost => {
                self.dropped += 1;
                self.tell_drop(item.number, now, Some(self.stages[k].hop), net);
            }
        }
    }

    /// A data packet leaves hop `k` at `item.at`, which may be in the future.
    #[inline(always)]
    fn leave<W: Watch>(&mut self, k: usize, mut item: Item, net: &mut Net<W>) {
        if k + 1 < self.stages.len() {
            item.at = item.at.after(net.hops[self.stages[k].hop].delay);
            self.queue_for(k + 1, item, net);
            return;
        }
        if through(&mut self.egress, &mut item, self.packet_bytes, self.is_ecn_capable) {
            self.receive(item, net);
        } else {
            self.dropped += 1;
            self.tell_drop(item.number, item.at, None, net);
        }
    }

    /// A data packet reaches the receiver at `item.at`.
    #[inline(always)]
    fn receive<W: Watch>(&mut self, item: Item, net: &mut Net<W>) {
        if self.receiver.deadline() <= item.at
            && let Some(ack) = self.receiver.overdue(item.at)
        {
            self.acknowledge(ack, net);
        }
        self.last_sent = item.sent;
        self.tell_arrival(item.number, item.at, item.ce > 0, net);
        if let Some(ack) = self.receiver.arrive(item.seq, item.ce > 0, item.at) {
            self.acknowledge(ack, net);
        } else if self.receiver.deadline().is_set() {
            net.schedule.bring_forward(self.flow_leaf, self.receiver.deadline());
        }
    }

    /// Fires the receiver's delayed-ACK timer if it is due.
    pub(crate) fn check_ack_timer<W: Watch>(&mut self, now: Time, net: &mut Net<W>) {
        if let Some(ack) = self.receiver.overdue(now) {
            self.acknowledge(ack, net);
        }
    }

    /// The receiver sends an ACK at `ack.at`.
    #[inline(always)]
    fn acknowledge<W: Watch>(&mut self, ack: AckOut, net: &mut Net<W>) {
        let number = self.tell_ack(&ack, net);
        let mut item = Item { at: ack.at, sent: self.last_sent, seq: ack.cum, ce: ack.ce, log: ack.log, number };
        if !through(&mut self.reverse, &mut item, self.ack_bytes, false) {
            self.acks_dropped += 1;
            self.tell_ack_drop(number, net);
        } else if self.ack_stages.is_empty() {
            self.return_ack(item, net);
        } else {
            self.queue_ack_for(0, item, net);
        }
    }

    #[inline(always)]
    fn queue_ack_for<W: Watch>(&mut self, k: usize, item: Item, net: &mut Net<W>) {
        self.ack_stages[k].queue(item, net);
    }

    #[inline(always)]
    fn enter_with_ack<W: Watch>(&mut self, k: usize, item: Item, now: Time, net: &mut Net<W>) {
        let packet = Packet { seq: item.seq, bytes: self.ack_bytes, sent: item.sent, is_ecn_capable: false };
        match pass_hop(&mut self.ack_stages[k], item, &packet, now, net) {
            Passage::Left(item) => self.leave_with_ack(k, item, net),
            Passage::Inside => {}
            Passage::Lost => {
                self.acks_dropped += 1;
                self.tell_ack_drop(item.number, net);
            }
        }
    }

    #[inline(always)]
    fn leave_with_ack<W: Watch>(&mut self, k: usize, mut item: Item, net: &mut Net<W>) {
        if k + 1 < self.ack_stages.len() {
            item.at = item.at.after(net.hops[self.ack_stages[k].hop].delay);
            self.queue_ack_for(k + 1, item, net);
            return;
        }
        if through(&mut self.reverse_egress, &mut item, self.ack_bytes, false) {
            self.return_ack(item, net);
        } else {
            self.acks_dropped += 1;
            self.tell_ack_drop(item.number, net);
        }
    }

    #[inline(always)]
    fn return_ack<W: Watch>(&mut self, item: Item, net: &mut Net<W>) {
        if self.acks.is_empty() {
            net.schedule.bring_forward(self.flow_leaf, item.at);
        }
        self.tell_ack_arrival(item.number, item.at, net);
        self.acks.push(AckItem { at: item.at, cum: item.seq, log: item.log, ce: item.ce });
    }

    fn stages_mut(&mut self, direction: Direction) -> &mut [Stage] {
        match direction {
            Direction::Data => &mut self.stages,
            Direction::Ack => &mut self.ack_stages,
        }
    }

    /// The head packet of stage `k` reaches its hop now.
    #[inline]
    pub(crate) fn arrive<W: Watch>(&mut self, direction: Direction, k: usize, now: Time, net: &mut Net<W>) {
        let stage = &mut self.stages_mut(direction)[k];
        let Some(item) = stage.coming.pop() else { return };
        if let Place::Own(leaf) = stage.place {
            net.schedule.set(leaf, stage.coming.front().map_or(Time::NEVER, |next| next.at));
        }
        match direction {
            Direction::Data => self.enter(k, item, now, net),
            Direction::Ack => self.enter_with_ack(k, item, now, net),
        }
    }

    /// A packet of stage `k` that waited among the hop's arrivals reaches it.
    #[inline(always)]
    pub(crate) fn enter_batched<W: Watch>(&mut self, direction: Direction, k: usize, item: Item, net: &mut Net<W>) {
        match direction {
            Direction::Data => self.enter(k, item, item.at, net),
            Direction::Ack => self.enter_with_ack(k, item, item.at, net),
        }
    }

    /// The hop, which decides on leave, has transmitted or dropped the oldest packet of stage `k`.
    pub(crate) fn released<W: Watch>(
        &mut self,
        direction: Direction,
        k: usize,
        (now, verdict): (Time, Verdict),
        net: &mut Net<W>,
    ) {
        let Some(mut item) = self.stages_mut(direction)[k].held.pop() else { return };
        match (verdict, direction) {
            (Verdict::Drop, Direction::Data) => {
                self.dropped += 1;
                self.tell_drop(item.number, now, Some(self.stages[k].hop), net);
            }
            (Verdict::Drop, Direction::Ack) => {
                self.acks_dropped += 1;
                self.tell_ack_drop(item.number, net);
            }
            (Verdict::Deliver(at) | Verdict::Mark(at), _) => {
                item.at = at;
                match direction {
                    Direction::Data => {
                        item.ce |= u32::from(matches!(verdict, Verdict::Mark(_)));
                        self.leave(k, item, net);
                    }
                    Direction::Ack => self.leave_with_ack(k, item, net),
                }
            }
        }
    }

    /// Returns how often elements violated their bounds.
    pub(crate) fn violations(&self) -> u64 {
        [&self.ingress, &self.egress, &self.reverse, &self.reverse_egress].into_iter().map(Chain::violations).sum()
    }
}

enum Passage {
    Left(Item),
    Inside,
    Lost,
}

/// `item` enters the hop of `stage` now.
#[inline(always)]
fn pass_hop<W: Watch>(stage: &mut Stage, mut item: Item, packet: &Packet, now: Time, net: &mut Net<W>) -> Passage {
    let shared = &mut net.hops[stage.hop];
    if let Some(leaf) = shared.leaf {
        if !shared.hop.wait(now, packet, stage.tag) {
            shared.stats.drops += 1;
            return Passage::Lost;
        }
        stage.held.push(item);
        net.schedule.set(leaf, shared.hop.service_at());
        return Passage::Inside;
    }
    match shared.arrive(now, packet) {
        Verdict::Deliver(at) => item.at = at,
        Verdict::Mark(at) => {
            item.at = at;
            item.ce |= 1;
        }
        Verdict::Drop => return Passage::Lost,
    }
    Passage::Left(item)
}
