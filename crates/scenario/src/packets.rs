//! A record of every packet, as columns.

use crate::observer::{Observer, PacketEvent};
use fairweir_units::{Dur, Time};
use std::collections::VecDeque;

/// Time of an event that did not happen within the run.
const NEVER: u64 = u64::MAX;
/// Index that stands for no hop.
const NO_HOP: u32 = u32::MAX;

/// One row per data packet that left a sender, including retransmissions, in the order of departure.
///
/// Times are ns since the start of the run; `u64::MAX` if the event did not happen within the run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Packets {
    /// Index of the flow in the scenario.
    pub flow: Vec<u32>,
    /// Packet number within the flow, from 0.
    pub seq: Vec<u64>,
    /// 1 if it is a retransmission, else 0.
    pub is_retransmission: Vec<u8>,
    /// Time at which its sender sent it.
    pub sent_ns: Vec<u64>,
    /// Time of loss.
    pub dropped_ns: Vec<u64>,
    /// Link that dropped it; `u32::MAX` if it was not dropped, or was dropped by an element of the flow.
    pub dropped_link: Vec<u32>,
    /// Time of arrival at the receiver.
    pub arrived_ns: Vec<u64>,
    /// 1 if a queue marked it (ECN), else 0.
    pub is_marked: Vec<u8>,
    /// Time at which the first ACK sent after its arrival reached the sender. With SACK that ACK reports the packet.
    pub acked_ns: Vec<u64>,
}

/// One row per ACK, in the order of computation: in time order within a flow. Times as in [`Packets`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Acks {
    /// Index of the flow in the scenario.
    pub flow: Vec<u32>,
    /// Next packet expected in order.
    pub cum: Vec<u64>,
    /// Time at which the receiver sent it.
    pub sent_ns: Vec<u64>,
    /// Time at which it reached the sender.
    pub arrived_ns: Vec<u64>,
}

/// Row indices of a flow's packets and ACKs.
#[derive(Clone, Debug, Default)]
struct Rows {
    packets: Vec<u32>,
    acks: Vec<u32>,
    /// Rows of packets that have arrived and are not yet acknowledged.
    arrived: Vec<u32>,
    /// For each packet: the number of the first ACK that covers it, and the row.
    reported: VecDeque<(u64, u32)>,
}

/// Records packets up to a time, and ends the run when it is full.
#[derive(Clone, Debug)]
pub struct PacketLog {
    until: Time,
    most: usize,
    is_full: bool,
    packets: Packets,
    acks: Acks,
    flows: Vec<Rows>,
}

impl PacketLog {
    /// Creates a log for a run of `duration` and at most `most` data packets: about 100 bytes each, ACKs included.
    pub fn new(duration: Dur, most: usize) -> PacketLog {
        PacketLog {
            until: Time::ZERO + duration,
            most: most.min(u32::MAX as usize),
            is_full: false,
            packets: Packets::default(),
            acks: Acks::default(),
            flows: Vec::new(),
        }
    }

    /// Whether the run had more packets than the log can hold; the record is then incomplete.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// Returns the record.
    pub fn finish(self) -> (Packets, Acks) {
        (self.packets, self.acks)
    }

    fn rows(&mut self, flow: u32) -> &mut Rows {
        if self.flows.len() <= flow as usize {
            self.flows.resize_with(flow as usize + 1, Rows::default);
        }
        &mut self.flows[flow as usize]
    }

    fn packet(&self, flow: u32, number: u64) -> usize {
        self.flows[flow as usize].packets[number as usize] as usize
    }

    fn add_packet(&mut self, flow: u32, seq: u64, at: Time, is_retransmission: bool) {
        let row = self.packets.flow.len();
        if row == self.most {
            self.is_full = true;
            return;
        }
        self.rows(flow).packets.push(row as u32);
        let packets = &mut self.packets;
        packets.flow.push(flow);
        packets.seq.push(seq);
        packets.is_retransmission.push(u8::from(is_retransmission));
        packets.sent_ns.push(at.as_nanos());
        packets.dropped_ns.push(NEVER);
        packets.dropped_link.push(NO_HOP);
        packets.arrived_ns.push(NEVER);
        packets.is_marked.push(0);
        packets.acked_ns.push(NEVER);
    }

    fn note_arrival(&mut self, flow: u32, number: u64, at: Time, is_marked: bool) {
        let row = self.packet(flow, number);
        if at < self.until {
            self.packets.arrived_ns[row] = at.as_nanos();
            self.packets.is_marked[row] = u8::from(is_marked);
        }
        self.rows(flow).arrived.push(row as u32);
    }

    fn add_ack(&mut self, flow: u32, number: u64, at: Time, cum: u64) {
        let row = self.acks.flow.len() as u32;
        let is_within = at < self.until;
        let rows = self.rows(flow);
        rows.reported.extend(rows.arrived.drain(..).map(|packet| (number, packet)));
        rows.acks.push(if is_within { row } else { u32::MAX });
        if is_within {
            self.acks.flow.push(flow);
            self.acks.cum.push(cum);
            self.acks.sent_ns.push(at.as_nanos());
            self.acks.arrived_ns.push(NEVER);
        }
    }

    fn note_ack_arrival(&mut self, flow: u32, number: u64, at: Time) {
        if at >= self.until {
            return;
        }
        let rows = &mut self.flows[flow as usize];
        self.acks.arrived_ns[rows.acks[number as usize] as usize] = at.as_nanos();
        while let Some((_, packet)) = rows.reported.pop_front_if(|(by, _)| *by <= number) {
            self.packets.acked_ns[packet as usize] = at.as_nanos();
        }
    }
}

impl Observer for PacketLog {
    fn on_packet(&mut self, event: PacketEvent) {
        if self.is_full {
            return;
        }
        match event {
            PacketEvent::Sent { flow, seq, at, is_retransmission, .. } => {
                self.add_packet(flow, seq, at, is_retransmission);
            }
            PacketEvent::Dropped { flow, number, at, hop } if at < self.until => {
                let row = self.packet(flow, number);
                self.packets.dropped_ns[row] = at.as_nanos();
                self.packets.dropped_link[row] = hop.unwrap_or(NO_HOP);
            }
            PacketEvent::Arrived { flow, number, at, is_marked } => self.note_arrival(flow, number, at, is_marked),
            PacketEvent::AckSent { flow, number, at, cum } => self.add_ack(flow, number, at, cum),
            PacketEvent::AckArrived { flow, number, at } => self.note_ack_arrival(flow, number, at),
            PacketEvent::Dropped { .. }
            | PacketEvent::AckDropped { .. }
            | PacketEvent::SynSent { .. }
            | PacketEvent::SynArrived { .. }
            | PacketEvent::SynAckArrived { .. } => {}
        }
    }

    fn is_done(&self) -> bool {
        self.is_full
    }
}
