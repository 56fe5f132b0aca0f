//! A flow's record as curves over time: data that arrived at the link, and data known to be delivered.

use crate::packet::{Fate, Packet};
use std::ops::Range;

/// An acknowledgement of at least one packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ack {
    /// Time since the record's origin, ns.
    pub(crate) at: f64,
    /// Bytes known to be delivered when this ACK has arrived.
    pub(crate) total: f64,
    /// If the receiver responded at once: upper bound on the bytes delivered before this ACK. Packets are served whole,
    /// so the bound includes the newest packet and all packets before it.
    pub(crate) room: Option<f64>,
    /// Minimum RTT of the packets that this ACK acknowledges, ns.
    pub(crate) rtt_min: f64,
    /// Index, in send order, of the last of these packets.
    newest: u32,
    /// Frame number in the file.
    pub(crate) frame: u32,
}

/// The curves of packets in send order: data arrived at the link, and data known to be delivered.
#[derive(Debug)]
pub struct Record<'a> {
    packets: &'a [Packet],
    acks: Vec<Ack>,
    /// Origin of all times, ns. A float has too few digits for times since 1970.
    origin: u64,
}

/// A part of a record, from one acknowledgement to another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch<'a> {
    /// Packets in send order.
    pub(crate) packets: &'a [Packet],
    /// Acknowledgements in time order; at least one.
    pub(crate) acks: &'a [Ack],
    /// Bytes known to be delivered before this part.
    pub(crate) delivered: f64,
    /// Whether the part begins with the flow. If not, earlier data may wait in the queue.
    pub(crate) begins_empty: bool,
    /// Minimum RTT, ns.
    pub(crate) rtt_min: f64,
    origin: u64,
}

impl<'a> Record<'a> {
    /// Converts packets in send order; `None` if no packet was delivered.
    pub fn new(packets: &'a [Packet]) -> Option<Record<'a>> {
        let origin = packets.iter().map(|packet| packet.sent).min()?;
        let mut sent = 0.0;
        // Long captures need a single allocation (NaN marks acknowledgements without a sum) and an in-place sort.
        let mut delivered: Vec<(u64, u32, u32, f64)> = Vec::with_capacity(packets.len());
        for (i, packet) in packets.iter().enumerate() {
            let (at, frame, is_prompt) = match packet.fate {
                Fate::Acked { at, frame, is_prompt } => (at, frame, is_prompt),
                Fate::Resent { at, frame } => (at, frame, false),
                Fate::Lost | Fate::Open => continue,
            };
            sent += f64::from(packet.bytes);
            delivered.push((at, frame, i as u32, if is_prompt { sent } else { f64::NAN }));
        }
        delivered.sort_unstable_by_key(|&(at, frame, newest, _)| (at, frame, newest));
        let mut acks: Vec<Ack> = Vec::with_capacity(delivered.len() / 2);
        let mut total = 0.0;
        for (at, frame, newest, room) in delivered {
            let packet = &packets[newest as usize];
            let room = (!room.is_nan()).then_some(room);
            total += f64::from(packet.bytes);
            let rtt_min = packet.rtt().map_or(f64::INFINITY, |rtt| rtt as f64);
            match acks.last_mut() {
                Some(last) if last.frame == frame => {
                    last.total = total;
                    last.room = last.room.or(room);
                    last.newest = last.newest.max(newest);
                    last.rtt_min = last.rtt_min.min(rtt_min);
                }
                _ => acks.push(Ack { at: at.saturating_sub(origin) as f64, total, room, rtt_min, newest, frame }),
            }
        }
        (!acks.is_empty()).then_some(Record { packets, acks, origin })
    }

    /// Returns the whole record.
    pub(crate) fn whole(&self) -> Stretch<'_> {
        self.stretch(0..self.acks.len())
    }

    /// Returns the acknowledgements.
    pub(crate) fn acks(&self) -> &[Ack] {
        &self.acks
    }

    /// Returns a part that contains at least one acknowledgement.
    pub(crate) fn stretch(&self, acks: Range<usize>) -> Stretch<'_> {
        let before = acks.start.checked_sub(1).map(|i| &self.acks[i]);
        let part = &self.acks[acks];
        let first = before.map_or(0, |ack| ack.newest as usize + 1);
        let end = part.iter().map(|ack| ack.newest as usize + 1).max().unwrap_or(first).max(first);
        Stretch {
            packets: &self.packets[first..end],
            acks: part,
            delivered: before.map_or(0.0, |ack| ack.total),
            begins_empty: before.is_none(),
            rtt_min: part.iter().map(|ack| ack.rtt_min).fold(f64::INFINITY, f64::min),
            origin: self.origin,
        }
    }

    /// Converts a time of the record to the capture's clock, ns.
    pub(crate) fn captured(&self, at: f64) -> u64 {
        self.origin + at as u64
    }
}

impl Stretch<'_> {
    /// Replaces the minimum RTT, ns, by that of a longer part, which is at most as large.
    pub(crate) fn with_rtprop(self, rtprop: f64) -> Self {
        Self { rtt_min: rtprop, ..self }
    }
    /// Send time of a packet, ns since the record's origin.
    pub(crate) fn sent(&self, packet: &Packet) -> f64 {
        packet.sent.saturating_sub(self.origin) as f64
    }
}
