//! A flow's path through the network: from the sender over the hops to the receiver, and the return path of the ACKs.
//!
//! A packet is advanced as far as its fate is known: through the flow's own elements, and through every hop (link with
//! its queue) that it enters at the current time. If it reaches a shared hop later, it waits in the queue of that
//! [`Stage`] until then.

mod syn;

use crate::item::{AckItem, Departure, Item, SYN};
use crate::net::Net;
use crate::receiver::{AckOut, Receiver};
use crate::ring::Ring;
use crate::schedule::Leaf;
use crate::stage::{Passage, Stage};
use crate::watch::Watch;
use fairweir_path::{Direction, Ecn, Lane, Packet, Verdict};
use fairweir_scenario::PacketEvent;
use fairweir_scenario::{Config, FlowSpec};
use fairweir_units::{Bytes, Dur, Time};

/// The short path: one hop that decides on arrival, with constant delays between sender, hop and receiver.
#[derive(Clone, Copy, Debug)]
struct ShortPath {
    hop: usize,
    forward: Dur,
    reverse: Dur,
}

/// One direction of a route: its lane (elements and hops), the packets that wait on the lane, and their properties.
#[derive(Debug)]
struct Transit {
    lane: Lane,
    stages: Vec<Stage>,
    packet_bytes: Bytes,
    /// Codepoints of new packets and of retransmissions; those of ACKs are equal.
    codepoints: [Ecn; 2],
    /// Number of packets sent; counted only with an observer.
    sent: u64,
}

impl Transit {
    fn new(lane: Lane, stages: Vec<Stage>, packet_bytes: Bytes, codepoints: [Ecn; 2]) -> Transit {
        Transit { lane, stages, packet_bytes, codepoints, sent: 0 }
    }

    /// Returns `item` in the form that hops process.
    #[inline(always)]
    fn packet(&self, item: &Item) -> Packet {
        self.packet_with(item, self.codepoints[item.log as usize & 1])
    }

    /// Returns `item` in the form that elements outside hops process: they do not read the codepoint, so it is always that
    /// of new packets, which costs less.
    #[inline(always)]
    fn packet_for_element(&self, item: &Item) -> Packet {
        self.packet_with(item, self.codepoints[0])
    }

    #[inline(always)]
    fn packet_with(&self, item: &Item, ecn: Ecn) -> Packet {
        if item.seq == SYN {
            return syn::packet(item);
        }
        Packet { seq: item.seq, bytes: self.packet_bytes, sent: item.sent, ecn }
    }

    /// Passes `item` through the elements before the first hop; returns `false` if it is lost.
    #[inline(always)]
    fn start(&mut self, item: &mut Item) -> bool {
        let packet = self.packet_for_element(item);
        item.decide(self.lane.enter(item.at, &packet))
    }

    /// Passes `item` through the elements after the last hop; returns `false` if it is lost.
    #[inline(always)]
    fn finish(&mut self, item: &mut Item) -> bool {
        let packet = self.packet_for_element(item);
        item.decide(self.lane.leave(item.at, &packet))
    }
}

/// A flow's path through the network.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) flow_leaf: Leaf,
    /// The directions of data and of ACKs.
    transits: [Transit; 2],
    pub(crate) receiver: Receiver,
    /// ACKs in transit to the sender that have no hop ahead.
    pub(crate) acks: Ring<AckItem>,
    /// Send time of the newest packet that reached the receiver.
    last_sent: Time,
    /// Time at which the newest ACK that the sender has read left the receiver: the timestamp that data echo. Only an
    /// autotuned receive window needs it; without one, it stays that of the SYN-ACK.
    pub(crate) last_ack_sent: Time,
    /// Send time of the first SYN that reached the receiver: the timestamp that SYN-ACKs echo.
    pub(crate) syn_echo: Option<Time>,
    short_path: Option<ShortPath>,
}

impl Route {
    /// Creates the route of `spec` over `lanes`, whose hops the flow reaches through `stages`. The flow's first packet
    /// has the number `first_packet`, and its new packets and its retransmissions have the `codepoints`; ACKs are not
    /// ECN-capable (RFC 3168 §6.1.4).
    pub(crate) fn new<W: Watch>(
        config: &Config,
        spec: &FlowSpec,
        codepoints: [Ecn; 2],
        first_packet: u64,
        flow_leaf: Leaf,
        [data, ack]: [(Lane, Vec<Stage>); 2],
        net: &Net<W>,
    ) -> Route {
        let transits = [
            Transit::new(data.0, data.1, config.packet, codepoints),
            Transit::new(ack.0, ack.1, config.ack, [Ecn::NotEct; 2]),
        ];
        Route {
            flow_leaf,
            short_path: short_path(&transits, net),
            transits,
            receiver: Receiver::new(&spec.receiver, first_packet),
            acks: Ring::new(),
            last_sent: Time::ZERO,
            last_ack_sent: Time::ZERO,
            syn_echo: None,
        }
    }

    /// Sends data that are not ECN-capable from now on.
    pub(crate) fn give_up_ecn(&mut self) {
        self.transits[Direction::Data as usize].codepoints = [Ecn::NotEct; 2];
    }

    /// Returns the flow's index, which is also the index of its leaf.
    pub(crate) fn flow(&self) -> u32 {
        self.flow_leaf.0 as u32
    }

    /// Sends a data packet.
    #[inline(always)]
    pub(crate) fn send<W: Watch>(&mut self, departure: Departure, net: &mut Net<W>) {
        let Departure { at, seq, is_retransmission } = departure;
        let flow = self.flow();
        let ecn = self.transits[Direction::Data as usize].codepoints[usize::from(is_retransmission)];
        let number = self.next_number(Direction::Data, net, |number| PacketEvent::Sent {
            flow,
            number,
            seq,
            at,
            is_retransmission,
            ecn,
        });
        match self.short_path {
            Some(path) => self.send_on_short_path(path, departure, number, net),
            None => self.send_over_stages(departure, number, net),
        }
    }

    /// Assigns a number to the packet or ACK that `event` reports; 0 without an observer.
    #[inline(always)]
    fn next_number<W: Watch>(
        &mut self,
        direction: Direction,
        net: &mut Net<W>,
        event: impl FnOnce(u64) -> PacketEvent,
    ) -> u64 {
        let sent = &mut self.transits[direction as usize].sent;
        let number = *sent;
        if W::IS_WATCHED {
            net.watch.report(event(number));
            *sent += 1;
        }
        number
    }

    /// Assigns a number to an ACK that leaves the receiver; returns the number.
    #[inline(always)]
    fn number_ack<W: Watch>(&mut self, ack: &AckOut, net: &mut Net<W>) -> u64 {
        let flow = self.flow();
        self.next_number(Direction::Ack, net, |number| PacketEvent::AckSent { flow, number, at: ack.at, cum: ack.cum })
    }

    /// Counts a packet that was lost at `at`, by a hop or by the flow's own elements.
    #[inline(always)]
    fn lose<W: Watch>(&mut self, direction: Direction, number: u64, at: Time, hop: Option<usize>, net: &mut Net<W>) {
        self.transits[direction as usize].lane.dropped += 1;
        if number == SYN {
            return;
        }
        let flow = self.flow();
        net.watch.report(match direction {
            Direction::Data => PacketEvent::Dropped { flow, number, at, hop: hop.map(|hop| hop as u32) },
            Direction::Ack => PacketEvent::AckDropped { flow, number },
        });
    }

    #[inline(always)]
    fn report_arrival<W: Watch>(&self, number: u64, at: Time, is_marked: bool, net: &mut Net<W>) {
        net.watch.report(PacketEvent::Arrived { flow: self.flow(), number, at, is_marked });
    }

    /// [`Route::send`] on the short path, where all later times are known immediately.
    #[inline(always)]
    fn send_on_short_path<W: Watch>(
        &mut self,
        path: ShortPath,
        Departure { at: now, seq, is_retransmission }: Departure,
        number: u64,
        net: &mut Net<W>,
    ) {
        let data = &self.transits[Direction::Data as usize];
        let ecn = data.codepoints[usize::from(is_retransmission)];
        let packet = Packet { seq, bytes: data.packet_bytes, sent: now, ecn };
        let (at, is_marked) = match net.hops[path.hop].metered.arrive(now, &packet, 1) {
            Verdict::Deliver(at) => (at, false),
            Verdict::Mark(at) => (at, true),
            Verdict::Drop => return self.lose(Direction::Data, number, now, Some(path.hop), net),
        };
        let at = at.after(path.forward);
        if self.receiver.deadline().is_set()
            && let Some(ack) = self.receiver.due_before(is_marked, at)
        {
            self.return_on_short_path(path, ack, net);
        }
        self.last_sent = now;
        self.report_arrival(number, at, is_marked, net);
        if let Some(ack) = self.receiver.arrive(seq, is_marked, at, self.last_ack_sent) {
            self.return_on_short_path(path, ack, net);
        } else if self.receiver.deadline().is_set() {
            net.schedule.bring_forward(self.flow_leaf, self.receiver.deadline());
        }
    }

    #[inline(always)]
    fn return_on_short_path<W: Watch>(&mut self, path: ShortPath, ack: AckOut, net: &mut Net<W>) {
        let number = self.number_ack(&ack, net);
        let at = ack.at.after(path.reverse);
        let AckOut { at: ack_sent, cum, log, ce, window } = ack;
        self.return_ack(AckItem { at, cum, log, ce, window, echo: self.last_sent, ack_sent }, number, net);
    }

    #[inline(never)]
    fn send_over_stages<W: Watch>(&mut self, departure: Departure, number: u64, net: &mut Net<W>) {
        let Departure { at: now, seq, is_retransmission } = departure;
        let (log, ack_sent) = (is_retransmission.into(), self.last_ack_sent);
        let mut item = Item { at: now, sent: now, ack_sent, seq, ce: 0, log, window: 0, number };
        let data = &mut self.transits[Direction::Data as usize];
        if !data.start(&mut item) {
            self.lose(Direction::Data, number, now, None, net);
        } else if item.at <= now && data.stages[0].enters_at_once() {
            self.enter(Direction::Data, 0, item, now, net);
        } else {
            data.stages[0].queue(item, net);
        }
    }

    /// Passes `item` to hop `k` of its lane at `now`.
    #[inline(always)]
    fn enter<W: Watch>(&mut self, direction: Direction, k: usize, item: Item, now: Time, net: &mut Net<W>) {
        let transit = &mut self.transits[direction as usize];
        let packet = transit.packet(&item);
        match transit.stages[k].enter(item, &packet, now, net) {
            Passage::Left(item) => self.leave(direction, k, item, net),
            Passage::Inside => {}
            Passage::Lost => {
                let hop = transit.stages[k].hop;
                self.lose(direction, item.number, now, Some(hop), net);
            }
        }
    }

    /// Passes on `item`, which leaves hop `k` of its lane at `item.at`; this time may be in the future.
    #[inline(always)]
    fn leave<W: Watch>(&mut self, direction: Direction, k: usize, mut item: Item, net: &mut Net<W>) {
        let transit = &mut self.transits[direction as usize];
        if k + 1 < transit.stages.len() {
            item.at = item.at.after(net.hops[transit.stages[k].hop].metered.delay);
            transit.stages[k + 1].queue(item, net);
        } else if !transit.finish(&mut item) {
            self.lose(direction, item.number, item.at, None, net);
        } else {
            match direction {
                Direction::Data => self.receive(item, net),
                Direction::Ack => self.return_item(item, net),
            }
        }
    }

    /// Passes a data packet to the receiver at `item.at`.
    #[inline(always)]
    fn receive<W: Watch>(&mut self, item: Item, net: &mut Net<W>) {
        if item.seq == SYN {
            return self.receive_syn(&item, net);
        }
        if self.receiver.deadline().is_set()
            && let Some(ack) = self.receiver.due_before(item.ce > 0, item.at)
        {
            self.acknowledge(ack, net);
        }
        self.last_sent = item.sent;
        self.report_arrival(item.number, item.at, item.ce > 0, net);
        if let Some(ack) = self.receiver.arrive(item.seq, item.ce > 0, item.at, item.ack_sent) {
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

    /// Sends an ACK from the receiver at `ack.at`.
    #[inline(always)]
    fn acknowledge<W: Watch>(&mut self, ack: AckOut, net: &mut Net<W>) {
        let number = self.number_ack(&ack, net);
        let AckOut { at, cum: seq, log, ce, window } = ack;
        self.send_back(Item { at, sent: self.last_sent, ack_sent: at, seq, ce, log, window, number }, net);
    }

    /// Sends `item` from the receiver at `item.at`.
    #[inline(always)]
    fn send_back<W: Watch>(&mut self, mut item: Item, net: &mut Net<W>) {
        let acks = &mut self.transits[Direction::Ack as usize];
        if !acks.start(&mut item) {
            self.lose(Direction::Ack, item.number, item.at, None, net);
        } else if let Some(stage) = acks.stages.first_mut() {
            stage.queue(item, net);
        } else {
            self.return_item(item, net);
        }
    }

    #[inline(always)]
    fn return_item<W: Watch>(&mut self, item: Item, net: &mut Net<W>) {
        let Item { at, sent: echo, ack_sent, seq: cum, log, ce, window, number } = item;
        self.return_ack(AckItem { at, cum, log, ce, window, echo, ack_sent }, number, net);
    }

    /// Passes an ACK without a hop ahead to the sender at `ack.at`.
    #[inline(always)]
    fn return_ack<W: Watch>(&mut self, mut ack: AckItem, number: u64, net: &mut Net<W>) {
        ack.at = self.transits[Direction::Ack as usize].lane.process(ack.at);
        net.watch.report(if ack.cum == SYN {
            PacketEvent::SynAckArrived { flow: self.flow(), sent: ack.echo, at: ack.at }
        } else {
            PacketEvent::AckArrived { flow: self.flow(), number, at: ack.at }
        });
        if self.acks.is_empty() {
            net.schedule.bring_forward(self.flow_leaf, ack.at);
        }
        self.acks.push(ack);
    }

    /// Passes the head packet of stage `k` to its hop, which it reaches now.
    #[inline]
    pub(crate) fn arrive<W: Watch>(&mut self, direction: Direction, k: usize, now: Time, net: &mut Net<W>) {
        if let Some(item) = self.transits[direction as usize].stages[k].arrive(net) {
            self.enter(direction, k, item, now, net);
        }
    }

    /// Passes a packet of stage `k` that waited among the hop's arrivals to the hop.
    #[inline(always)]
    pub(crate) fn enter_batched<W: Watch>(&mut self, direction: Direction, k: usize, item: Item, net: &mut Net<W>) {
        self.enter(direction, k, item, item.at, net);
    }

    /// Processes the oldest packet of stage `k`, which a hop that decides on leave transmitted or dropped at `now`.
    pub(crate) fn released<W: Watch>(
        &mut self,
        direction: Direction,
        k: usize,
        (now, verdict): (Time, Verdict),
        net: &mut Net<W>,
    ) {
        let stage = &mut self.transits[direction as usize].stages[k];
        let hop = stage.hop;
        match stage.release(verdict) {
            Some(Ok(item)) => self.leave(direction, k, item, net),
            Some(Err(item)) => self.lose(direction, item.number, now, Some(hop), net),
            None => {}
        }
    }

    /// Returns the number of times that elements violated their bounds.
    pub(crate) fn violations(&self) -> u64 {
        self.transits.iter().map(|transit| transit.lane.violations()).sum()
    }
}

/// Returns the short path, if packets can use it.
fn short_path<W: Watch>([data, ack]: &[Transit; 2], net: &Net<W>) -> Option<ShortPath> {
    let [Stage { hop, .. }] = data.stages[..] else { return None };
    let takes_short_path =
        data.lane.before().constant() == Some(Dur::ZERO) && ack.stages.is_empty() && net.hops[hop].leaf.is_none();
    let (forward, reverse) = (data.lane.after().constant()?, ack.lane.before().constant()?);
    takes_short_path.then_some(ShortPath { hop, forward, reverse })
}
