//! A flow's record as curves: what had arrived at the link, and what was known to be delivered, by when.

use crate::packet::{Fate, Packet};

/// An acknowledgement of one packet or more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ack {
    /// When it came, ns after the record's origin.
    pub(crate) at: f64,
    /// What was known to be delivered with it, bytes.
    pub(crate) total: f64,
    /// Where the receiver answered at once: what was delivered before it was less than this, bytes. Packets are served
    /// whole, so that the newest packet and all before it are meant.
    pub(crate) room: Option<f64>,
    /// Its number in the file.
    pub(crate) frame: u32,
}

/// Whether what was sent before the record may wait in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backlog {
    /// The record begins with the flow.
    None,
    /// It begins within the flow.
    Unknown,
}

/// The curves of packets in the order of their sending.
#[derive(Debug)]
pub(crate) struct Record<'a> {
    pub(crate) packets: &'a [Packet],
    pub(crate) acks: Vec<Ack>,
    pub(crate) backlog: Backlog,
    /// The smallest RTT, ns.
    pub(crate) rtt_least: f64,
    /// Times count from here, as those since 1970 have more digits than a float, ns.
    origin: u64,
}

impl<'a> Record<'a> {
    /// `None` if nothing was delivered.
    pub(crate) fn new(packets: &'a [Packet], backlog: Backlog) -> Option<Record<'a>> {
        let origin = packets.iter().map(|packet| packet.sent).min()?;
        let rtt_least = packets.iter().filter_map(Packet::rtt).min()? as f64;
        let mut sent = 0.0;
        let mut delivered: Vec<(u64, u32, u32, Option<f64>)> = Vec::new();
        for packet in packets {
            if let Fate::Acked { at, frame, is_prompt } = packet.fate {
                sent += f64::from(packet.bytes);
                delivered.push((at, frame, packet.bytes, is_prompt.then_some(sent)));
            }
        }
        delivered.sort_by_key(|&(at, frame, ..)| (at, frame));
        let mut acks: Vec<Ack> = Vec::with_capacity(delivered.len() / 2);
        let mut total = 0.0;
        for (at, frame, bytes, room) in delivered {
            total += f64::from(bytes);
            match acks.last_mut() {
                Some(last) if last.frame == frame => {
                    last.total = total;
                    last.room = last.room.or(room);
                }
                _ => acks.push(Ack { at: at.saturating_sub(origin) as f64, total, room, frame }),
            }
        }
        Some(Record { packets, acks, backlog, rtt_least, origin })
    }

    /// When a packet was sent, ns after the origin.
    pub(crate) fn sent(&self, packet: &Packet) -> f64 {
        packet.sent.saturating_sub(self.origin) as f64
    }
}
