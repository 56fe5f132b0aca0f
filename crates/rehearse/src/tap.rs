//! Simulated packets as the receiver's interface sees them: TCP over IPv4 and Ethernet, with timestamps of 1 ms ticks.
//!
//! Flows are told apart by port; who sends decides the address, so that flows of one sender are one service. There is no
//! handshake. Events come as they are settled, not in order of time: a delayed ACK may come after later data.

use fairweir_guard::{Direction, Flags, FlowKey, Packet, Timestamps};
use fairweir_sim::PacketEvent;
use fairweir_units::{Dur, Time};
use std::collections::VecDeque;
use std::net::Ipv4Addr;

/// 20 B IP, 32 B TCP with timestamps; a simulated packet's size includes them.
const HEADERS: u32 = 52;
const ETHERNET: u32 = 14;
/// What Linux advertises with a `tcp_rmem` of 32 MiB: units of 1 KiB.
pub(crate) const WSCALE: u8 = 10;

/// Turns events into packets.
#[derive(Debug)]
pub struct Tap {
    payload: u32,
    flows: Vec<Flow>,
}

#[derive(Debug)]
struct Flow {
    key: FlowKey,
    /// Packets under way: sequence number and TSecr.
    data: Numbered<(u64, u32)>,
    /// ACKs under way: TSval.
    acks: Numbered<u32>,
    /// ACKs that will have reached the sender at these times.
    seen: VecDeque<(Time, u32)>,
    /// The TSval that the sender echoes.
    echo: u32,
}

/// Things numbered as they left, until their fate is known.
#[derive(Debug)]
struct Numbered<T> {
    first: u32,
    items: VecDeque<Option<T>>,
}

impl<T> Numbered<T> {
    fn new() -> Numbered<T> {
        Numbered { first: 0, items: VecDeque::new() }
    }

    fn leave(&mut self, item: T) {
        self.items.push_back(Some(item));
    }

    fn take(&mut self, number: u32) -> Option<T> {
        let item = self.items.get_mut(number.wrapping_sub(self.first) as usize)?.take();
        while self.items.pop_front_if(|item| item.is_none()).is_some() {
            self.first = self.first.wrapping_add(1);
        }
        item
    }
}

fn tick(at: Time) -> u32 {
    (at.as_nanos() / Dur::from_millis(1).as_nanos()) as u32
}

impl Tap {
    /// For packets of `packet_bytes` with IP header; `senders` has each flow's sender.
    pub fn new(packet_bytes: u64, senders: &[Ipv4Addr]) -> Tap {
        let flow = |(index, sender): (usize, &Ipv4Addr)| Flow {
            key: FlowKey::new(([10, 0, 0, 1], 5000).into(), (*sender, 10_000 + index as u16).into(), 0),
            data: Numbered::new(),
            acks: Numbered::new(),
            seen: VecDeque::new(),
            echo: 0,
        };
        let payload = (packet_bytes as u32).saturating_sub(HEADERS).max(1);
        Tap { payload, flows: senders.iter().enumerate().map(flow).collect() }
    }

    /// Whose packets these are.
    pub fn key(&self, flow: u32) -> &FlowKey {
        &self.flows[flow as usize].key
    }
    /// Bytes of data in a packet.
    pub fn payload(&self) -> u32 {
        self.payload
    }

    /// The packet that the interface sees with this event, if it sees one.
    pub fn packet(&mut self, event: &PacketEvent) -> Option<Packet> {
        match *event {
            PacketEvent::Sent { flow, seq, at, .. } => {
                let flow = &mut self.flows[flow as usize];
                while let Some((_, tsval)) = flow.seen.pop_front_if(|(seen, _)| *seen <= at) {
                    flow.echo = tsval;
                }
                flow.data.leave((seq, flow.echo));
                None
            }
            PacketEvent::Dropped { flow, number, .. } => {
                self.flows[flow as usize].data.take(number);
                None
            }
            PacketEvent::Arrived { flow, number, at, .. } => {
                let (seq, tsecr) = self.flows[flow as usize].data.take(number)?;
                let timestamps = Timestamps { tsval: tick(at), tsecr };
                let place = (seq as u32).wrapping_mul(self.payload).wrapping_add(1);
                Some(Packet {
                    seq: place,
                    payload: self.payload,
                    ..self.bare(flow, at, Direction::Incoming, timestamps)
                })
            }
            PacketEvent::AckSent { flow, at, cum, .. } => {
                let timestamps = Timestamps { tsval: tick(at), tsecr: tick(at) };
                self.flows[flow as usize].acks.leave(timestamps.tsval);
                let ack = self.edge_of(cum);
                Some(Packet { ack, ..self.bare(flow, at, Direction::Outgoing, timestamps) })
            }
            PacketEvent::AckDropped { flow, number } => {
                self.flows[flow as usize].acks.take(number);
                None
            }
            PacketEvent::AckArrived { flow, number, at } => {
                let flow = &mut self.flows[flow as usize];
                if let Some(tsval) = flow.acks.take(number) {
                    flow.seen.push_back((at, tsval));
                }
                None
            }
        }
    }

    /// The sequence number after `packets` packets.
    pub(crate) fn edge_of(&self, packets: u64) -> u32 {
        (packets as u32).wrapping_mul(self.payload).wrapping_add(1)
    }

    fn bare(&self, flow: u32, at: Time, direction: Direction, timestamps: Timestamps) -> Packet {
        let payload = if direction == Direction::Incoming { self.payload } else { 0 };
        Packet {
            at,
            flow: self.flows[flow as usize].key,
            direction,
            flags: Flags::ACK,
            seq: 1,
            ack: 1,
            window: u16::MAX,
            timestamps: Some(timestamps),
            payload,
            wire: payload + HEADERS + ETHERNET,
            segs: 1,
            wscale: None,
        }
    }
}
