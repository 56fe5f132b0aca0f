//! The segments of a run, as in a capture.

use crate::tcp_flow::{EPOCH, TcpFlow, stamp};
use fairweir_scenario::{Config, Observer, PacketEvent, observers_lag};
use fairweir_tcp::{Endpoint, Segment, Side};
use fairweir_units::{Dur, Time};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::ops::ControlFlow;

const SENDER_PORT: u16 = 40_000;

/// Returns the address of the host that sends the data of flow number `flow`; each flow has its own host.
fn sender_address(flow: usize) -> IpAddr {
    Ipv4Addr::from_bits(Ipv4Addr::new(10, 0, 0, 1).to_bits() + (flow as u32 & 0x003f_ffff)).into()
}

/// Returns the index of the flow whose data comes from `address`.
pub fn flow_of(address: IpAddr) -> Option<usize> {
    let IpAddr::V4(address) = address else { return None };
    address.to_bits().checked_sub(Ipv4Addr::new(10, 0, 0, 1).to_bits()).map(|flow| flow as usize)
}

/// A sink of segments.
pub trait SegmentSink {
    /// Takes a segment; `Break` ends the run soon.
    fn take(&mut self, segment: &Segment) -> ControlFlow<()>;
}

impl<F: FnMut(&Segment) -> ControlFlow<()>> SegmentSink for F {
    fn take(&mut self, segment: &Segment) -> ControlFlow<()> {
        self(segment)
    }
}

/// Observes a run, and passes on the segments at one side, in time order. It stores segments in transit, and segments
/// that were observed before their time.
#[derive(Debug)]
pub struct Wire<T> {
    until: Time,
    lag: Dur,
    flows: Vec<TcpFlow>,
    /// Ordered by time; segments with equal times are ordered by urgency, then by order of observation.
    pending: BTreeMap<(Time, Reverse<u8>, u64), Segment>,
    number: u64,
    frames: u64,
    is_done: bool,
    sink: T,
}

impl<T: SegmentSink> Wire<T> {
    /// Creates a capture of a run of `config` at `side`; `sink` receives the segments and may end the run.
    pub fn new(config: &Config, side: Side, sink: T) -> Wire<T> {
        let flows = config.flows.iter().enumerate().map(|(index, flow)| {
            let sender = Endpoint { address: sender_address(index), port: SENDER_PORT };
            TcpFlow::new(config, flow, sender, side)
        });
        let mut wire = Wire {
            until: EPOCH + config.duration,
            lag: observers_lag(config),
            flows: flows.collect(),
            pending: BTreeMap::new(),
            number: 0,
            frames: 0,
            is_done: false,
            sink,
        };
        let greetings: Vec<_> = wire.flows.iter_mut().flat_map(TcpFlow::greeting).collect();
        for segment in greetings {
            wire.note(segment, 1);
        }
        wire
    }

    /// Ends the run: passes on the remaining segments and returns the sink.
    pub fn finish(mut self) -> T {
        self.hand_on(Time::NEVER);
        self.sink
    }

    /// Returns whether the sink needs no more segments.
    pub fn is_done(&self) -> bool {
        self.is_done
    }

    /// Adds a segment; among segments with equal times, those with larger `urgency` are first.
    fn note(&mut self, segment: Segment, urgency: u8) {
        if segment.time < self.until {
            self.number += 1;
            self.pending.insert((segment.time, Reverse(urgency), self.number), segment);
        }
    }

    fn hand_on(&mut self, before: Time) {
        while !self.is_done
            && let Some(entry) = self.pending.first_entry()
            && entry.key().0 < before
        {
            self.frames += 1;
            let segment = Segment { frame: self.frames, ..entry.remove() };
            self.is_done = self.sink.take(&segment).is_break();
        }
    }
}

impl<T: SegmentSink> Observer for Wire<T> {
    fn on_packet(&mut self, event: PacketEvent) {
        if let PacketEvent::Sent { at, .. } | PacketEvent::SynSent { at, .. } = event {
            // Packets leave at the engine's current time.
            let settled = stamp(at).as_nanos().saturating_sub(self.lag.as_nanos());
            self.hand_on(Time::from_nanos(settled));
        }
        let flow = event.flow() as usize;
        // The first data leave at the time at which the SYN-ACK arrives.
        for segment in self.flows[flow].shake_hands(event) {
            self.note(segment, 1);
        }
        if let Some(&segment) = self.flows[flow].observe(event) {
            self.note(segment, 0);
        }
    }

    fn is_done(&self) -> bool {
        self.is_done
    }
}
