//! A run as a capture would show it.

use crate::dialogue::Dialogue;
use fairweir_capture::{Endpoint, Segment};
use fairweir_sim::{Config, Observer, PacketEvent, observers_lag};
use fairweir_units::{Dur, NANOS_PER_SEC, Time};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::ops::ControlFlow;

/// What the run's start is called in captures, ns since 1970: handshakes come before the start, and no time is negative.
pub const EPOCH: Time = Time::from_nanos(1_000_000_000 * NANOS_PER_SEC);
const SENDER_PORT: u16 = 40_000;
const RECEIVER_PORT: u16 = 5001;

/// Where the capture is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// With the data's sender.
    Sender,
    /// With the data's receiver.
    Receiver,
}

/// The host that receives the data of all flows.
pub fn receiver_address() -> IpAddr {
    Ipv4Addr::new(10, 128, 0, 1).into()
}

/// The host that sends flow number `flow`'s data: one a flow.
fn sender_address(flow: usize) -> IpAddr {
    Ipv4Addr::from_bits(Ipv4Addr::new(10, 0, 0, 1).to_bits() + (flow as u32 & 0x003f_ffff)).into()
}

/// The index of the flow whose data come from `address`.
pub(crate) fn flow_of(address: IpAddr) -> Option<usize> {
    let IpAddr::V4(address) = address else { return None };
    address.to_bits().checked_sub(Ipv4Addr::new(10, 0, 0, 1).to_bits()).map(|flow| flow as usize)
}

/// Takes segments.
pub trait Taker {
    /// A segment passes; `Break` ends the run soon.
    fn take(&mut self, segment: &Segment) -> ControlFlow<()>;
}

impl<F: FnMut(&Segment) -> ControlFlow<()>> Taker for F {
    fn take(&mut self, segment: &Segment) -> ControlFlow<()> {
        self(segment)
    }
}

/// Watches a run, and hands on the segments that pass one side, in the order of time.
///
/// It holds what is on its way, and what an observer is told ahead of its time.
#[derive(Debug)]
pub struct Wire<T> {
    side: Side,
    until: Time,
    lag: Dur,
    flows: Vec<Dialogue>,
    /// By time and, within an instant, in the order in which they were told.
    pending: BTreeMap<(Time, Reverse<u8>, u64), Segment>,
    told: u64,
    frames: u64,
    is_done: bool,
    taker: T,
}

impl<T: Taker> Wire<T> {
    /// A capture of a run of `config` at `side`; `taker` gets the segments and may end the run.
    pub fn new(config: &Config, side: Side, taker: T) -> Wire<T> {
        let receiver = Endpoint { address: receiver_address(), port: RECEIVER_PORT };
        let flows = config.flows.iter().enumerate().map(|(index, flow)| {
            let sender = Endpoint { address: sender_address(index), port: SENDER_PORT };
            Dialogue::new(config, flow, sender, receiver)
        });
        let mut wire = Wire {
            side,
            until: EPOCH + config.duration,
            lag: observers_lag(config),
            flows: flows.collect(),
            pending: BTreeMap::new(),
            told: 0,
            frames: 0,
            is_done: false,
            taker,
        };
        let greetings: Vec<_> = wire.flows.iter().flat_map(Dialogue::handshake).collect();
        for (segment, at_sender, at_receiver) in greetings {
            let time = if side == Side::Sender { at_sender } else { at_receiver };
            wire.note(Segment { time, ..segment }, 1);
        }
        wire
    }

    /// The run is over: hands on what is left, and gives back who took it.
    pub fn finish(mut self) -> T {
        self.hand_on(Time::NEVER);
        self.taker
    }

    /// Has whoever takes the segments seen enough?
    pub fn is_done(&self) -> bool {
        self.is_done
    }

    /// Of equal times the larger `urgency` goes first.
    fn note(&mut self, segment: Segment, urgency: u8) {
        if segment.time < self.until {
            self.told += 1;
            self.pending.insert((segment.time, Reverse(urgency), self.told), segment);
        }
    }

    fn note_at(&mut self, side: Side, segment: Option<Segment>) {
        if let Some(segment) = segment.filter(|_| side == self.side) {
            self.note(segment, 0);
        }
    }

    fn hand_on(&mut self, before: Time) {
        while !self.is_done
            && let Some(entry) = self.pending.first_entry()
            && entry.key().0 < before
        {
            self.frames += 1;
            let segment = Segment { frame: self.frames, ..entry.remove() };
            self.is_done = self.taker.take(&segment).is_break();
        }
    }
}

/// The run's clock to the capture's.
fn stamp(at: Time) -> Time {
    EPOCH + at.since(Time::ZERO)
}

impl<T: Taker> Observer for Wire<T> {
    fn on_packet(&mut self, event: PacketEvent) {
        match event {
            PacketEvent::Sent { flow, seq, at, .. } => {
                // Packets leave at the engine's present.
                let settled = stamp(at).as_nanos().saturating_sub(self.lag.as_nanos());
                self.hand_on(Time::from_nanos(settled));
                let segment = self.flows[flow as usize].send(seq, stamp(at));
                self.note_at(Side::Sender, Some(segment));
            }
            PacketEvent::Dropped { flow, number, .. } => {
                self.flows[flow as usize].take(number);
            }
            PacketEvent::Arrived { flow, number, at, is_marked } => {
                let segment = self.flows[flow as usize].receive(number, stamp(at), is_marked);
                self.note_at(Side::Receiver, segment);
            }
            PacketEvent::AckSent { flow, number, at, cum } => {
                let segment = self.flows[flow as usize].acknowledge(number, cum, stamp(at));
                self.note_at(Side::Receiver, Some(segment));
            }
            PacketEvent::AckArrived { flow, number, at } => {
                let segment = self.flows[flow as usize].hear(number, stamp(at));
                self.note_at(Side::Sender, segment);
            }
            PacketEvent::AckDropped { .. } => {}
        }
    }

    fn is_done(&self) -> bool {
        self.is_done
    }
}
