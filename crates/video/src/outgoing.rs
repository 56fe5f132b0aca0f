//! The sending side of a session: captured frames, their references, groups of packets, and the pacer. Senders read
//! this state and act on it.

use crate::ledger::Ledger;
use crate::table::Coded;
use fairweir_units::{Dur, Time};
use std::collections::VecDeque;

/// State of a captured frame at the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The frame is captured, and may be in the encoder.
    Captured,
    /// The frame is never coded.
    Skipped,
    /// The frame is coded and not yet passed to the pacer.
    Waiting,
    /// The frame was coded, and dropped before it was sent.
    Dropped,
    /// The frame was passed to the pacer in the group of this number.
    Sent(u32),
}

/// The sender's record of a captured frame.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// Time of its capture.
    pub captured: Time,
    /// Its state.
    pub stage: Stage,
    /// Its reference frame; `None` if it has none.
    pub reference: Option<u32>,
    /// Its coded version, once it is coded.
    pub coded: Option<Coded>,
    /// Whether the frame can never be decoded, because this frame, or one on which it depends, was dropped or lost.
    pub is_broken: bool,
}

/// Frames sent together; any `message` of the group's `total` packets restore them (forward error correction, thesis
/// 4.5).
#[derive(Clone, Debug)]
pub struct Group {
    /// Its frames, from the oldest to the newest.
    pub frames: Vec<u32>,
    /// Number of packets that suffice to restore the frames.
    pub message: u32,
    /// Number of packets sent or to be sent; those in excess of `message` are repair packets.
    pub total: u32,
    /// Size of each packet: its bytes on the wire divided by those of a full packet.
    pub size: f64,
    /// Time at which the group was passed to the pacer.
    pub handed: Time,
    /// Number of its packets known to be delivered.
    pub acknowledged: u32,
    /// Number of its packets known to be lost.
    pub lost: u32,
    /// Number of its first packet in the ledger, once sent.
    pub first: Option<usize>,
}

/// Sizes of packets, the same for all senders.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sizes {
    /// Payload of a full packet, bytes.
    pub payload: f64,
    /// Bytes of headers of a packet on the wire.
    pub header: f64,
}

impl Sizes {
    /// Returns the bytes of a full packet on the wire.
    pub fn full(&self) -> f64 {
        self.payload + self.header
    }

    /// Returns the number of packets that `bytes` of payload need.
    pub fn packets(&self, bytes: f64) -> u32 {
        (bytes / self.payload).ceil().max(1.0) as u32
    }

    /// Returns the size of `bytes` of payload including headers, in full packets.
    pub fn amount(&self, bytes: f64) -> f64 {
        (bytes + f64::from(self.packets(bytes)) * self.header) / self.full()
    }
}

/// The sending side of a session: the state that a [`Sender`](crate::Sender) reads and the actions that it can take.
/// Amounts are in full packets.
#[derive(Debug)]
pub struct Outgoing {
    /// Current time.
    pub now: Time,
    /// Time between two captured frames.
    pub frame_interval: Dur,
    /// Sizes of packets.
    pub sizes: Sizes,
    /// Packets sent and their fates.
    pub ledger: Ledger,
    frames: Vec<Frame>,
    groups: Vec<Group>,
    waiting: Vec<u32>,
    pacer: Pacer,
    min_rtt: Option<Dur>,
    smoothed_rtt: Option<f64>,
    /// Recent acknowledgements, as times and RTTs. Both increase along the queue, so the first entry has the minimum
    /// RTT.
    recent_rtts: VecDeque<(Time, Dur)>,
    /// Number of frames whose reference is not the previous coded frame.
    pub(crate) recoveries: u64,
}

/// Packets that wait to be sent at a given rate.
#[derive(Debug, Default)]
struct Pacer {
    /// Groups, each with its number of unsent packets.
    queue: VecDeque<(u32, u32)>,
    /// Rate, full packets per second.
    rate: f64,
    /// Time at which the last packet was sent, and its size.
    last: Option<(Time, f64)>,
    backlog: f64,
}

impl Pacer {
    /// Returns the time of the next packet, if any.
    fn next(&self, now: Time) -> Time {
        if self.queue.is_empty() || self.rate <= 0.0 {
            return Time::NEVER;
        }
        match self.last {
            None => now,
            Some((at, size)) => at.after(Dur::from_secs_f64((size / self.rate).min(3600.0))).max(now),
        }
    }
}

impl Outgoing {
    pub(crate) fn new(frame_interval: Dur, sizes: Sizes) -> Outgoing {
        Outgoing {
            now: Time::ZERO,
            frame_interval,
            sizes,
            ledger: Ledger::default(),
            frames: Vec::new(),
            groups: Vec::new(),
            waiting: Vec::new(),
            pacer: Pacer::default(),
            min_rtt: None,
            smoothed_rtt: None,
            recent_rtts: VecDeque::new(),
            recoveries: 0,
        }
    }

    /// Returns all captured frames.
    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// Returns all groups, in order of sending.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// Returns the frames that are coded and not sent, from the oldest to the newest.
    pub fn waiting(&self) -> &[u32] {
        &self.waiting
    }

    /// Returns the size of a coded frame, full packets.
    pub fn amount(&self, frame: u32) -> f64 {
        self.frames[frame as usize].coded.map_or(0.0, |c| self.sizes.amount(c.bytes))
    }

    /// Returns the amount in the pacer, full packets.
    pub fn backlog(&self) -> f64 {
        self.pacer.backlog
    }

    /// Returns the time between two captured frames, s.
    pub fn frame_secs(&self) -> f64 {
        self.frame_interval.as_secs_f64()
    }

    /// Returns the minimum RTT so far.
    pub fn min_rtt(&self) -> Option<Dur> {
        self.min_rtt
    }

    /// Returns the smoothed RTT, s (gain 1/8 as in RFC 6298); `None` before the first acknowledgement.
    pub fn smoothed_rtt(&self) -> Option<f64> {
        self.smoothed_rtt
    }

    /// Returns the minimum, over the acknowledgements in the last `window`, of RTT minus minimum RTT. Without
    /// acknowledgements in the window, it is the age of the oldest packet in flight minus the minimum RTT; with nothing
    /// in flight, it is 0.
    pub fn standing_delay(&self, window: Dur) -> Dur {
        let Some(min_rtt) = self.min_rtt else { return Dur::ZERO };
        let recent = self.recent_rtts.iter().find(|r| self.now.since(r.0) <= window).map(|r| r.1);
        let delay = match (recent, self.ledger.oldest_in_flight()) {
            (Some(rtt), _) => rtt,
            (None, Some(sent)) => self.now.since(sent),
            (None, None) => Dur::ZERO,
        };
        delay.saturating_sub(min_rtt)
    }

    /// Sets the pacer's rate, full packets per second.
    pub fn set_pacing(&mut self, rate: f64) {
        self.pacer.rate = rate;
    }

    /// Passes waiting frames to the pacer as one group with `repair` repair packets; returns the group's number.
    pub fn send(&mut self, frames: &[u32], repair: u32) -> u32 {
        let bytes: f64 = frames.iter().filter_map(|&f| self.frames[f as usize].coded).map(|c| c.bytes).sum();
        let message = self.sizes.packets(bytes);
        let size = (bytes / f64::from(message) + self.sizes.header) / self.sizes.full();
        let id = self.groups.len() as u32;
        self.waiting.retain(|w| !frames.contains(w));
        for &frame in frames {
            self.frames[frame as usize].stage = Stage::Sent(id);
        }
        let total = message + repair;
        self.groups.push(Group {
            frames: frames.to_vec(),
            message,
            total,
            size,
            handed: self.now,
            acknowledged: 0,
            lost: 0,
            first: None,
        });
        self.pacer.queue.push_back((id, total));
        self.pacer.backlog += f64::from(total) * size;
        id
    }

    /// Queues `count` more packets of a group ahead of all other packets, as retransmissions or additional repair.
    pub fn send_more(&mut self, group: u32, count: u32) {
        self.groups[group as usize].total += count;
        self.pacer.queue.push_front((group, count));
        self.pacer.backlog += f64::from(count) * self.groups[group as usize].size;
    }

    /// Drops a waiting frame. Frames predicted from it are broken, and the next frame gets another reference.
    pub fn drop_waiting(&mut self, frame: u32) {
        self.waiting.retain(|&w| w != frame);
        self.frames[frame as usize].stage = Stage::Dropped;
        self.break_chain(frame);
    }

    /// Returns the newest coded frame, even if it was dropped or lost.
    pub(crate) fn last_coded(&self) -> Option<u32> {
        (0..self.frames.len() as u32).rev().find(|&f| self.frames[f as usize].coded.is_some())
    }

    /// Returns the reference for the next frame: the newest coded frame that is not known to be broken.
    pub fn reference(&self) -> Option<u32> {
        (0..self.frames.len() as u32).rev().find(|&f| {
            let frame = &self.frames[f as usize];
            !frame.is_broken && matches!(frame.stage, Stage::Waiting | Stage::Sent(_))
        })
    }

    /// Returns the newest frame that is known to be decoded.
    pub fn acknowledged_reference(&self) -> Option<u32> {
        (0..self.frames.len() as u32).rev().find(|&f| self.is_decoded(f))
    }

    /// Returns whether a frame is known to be decoded.
    fn is_decoded(&self, frame: u32) -> bool {
        let frame = &self.frames[frame as usize];
        let Stage::Sent(group) = frame.stage else { return false };
        let group = &self.groups[group as usize];
        !frame.is_broken && group.acknowledged >= group.message
    }

    pub(crate) fn next_packet_at(&self) -> Time {
        self.pacer.next(self.now)
    }

    /// Sends the next packet; returns the packet's number and its group.
    pub(crate) fn send_packet(&mut self) -> (usize, u32) {
        let (id, left) = self.pacer.queue.front_mut().expect("called when a packet is due");
        let (group_id, size) = (*id, self.groups[*id as usize].size);
        *left -= 1;
        if *left == 0 {
            self.pacer.queue.pop_front();
        }
        self.pacer.backlog = if self.pacer.queue.is_empty() { 0.0 } else { (self.pacer.backlog - size).max(0.0) };
        self.pacer.last = Some((self.now, size));
        let seq = self.ledger.send(self.now, group_id, size);
        self.groups[group_id as usize].first.get_or_insert(seq);
        (seq, group_id)
    }

    pub(crate) fn capture(&mut self) -> u32 {
        let frame =
            Frame { captured: self.now, stage: Stage::Captured, reference: None, coded: None, is_broken: false };
        self.frames.push(frame);
        self.frames.len() as u32 - 1
    }

    pub(crate) fn skip(&mut self, frame: u32) {
        self.frames[frame as usize].stage = Stage::Skipped;
    }

    pub(crate) fn coded(&mut self, frame: u32, reference: Option<u32>, coded: Coded) {
        let is_broken = reference.is_some_and(|r| self.frames[r as usize].is_broken);
        if frame > 0 && reference.is_none_or(|r| r + 1 < frame) {
            self.recoveries += 1;
        }
        let f = &mut self.frames[frame as usize];
        (f.reference, f.coded, f.is_broken) = (reference, Some(coded), is_broken);
        f.stage = Stage::Waiting;
        self.waiting.push(frame);
    }

    /// Records an acknowledgement; returns the packets that are now known to be lost.
    pub(crate) fn acknowledge(&mut self, seq: usize) -> std::ops::Range<usize> {
        let packet = *self.ledger.packet(seq);
        let rtt = self.now.since(packet.at);
        self.min_rtt = Some(self.min_rtt.map_or(rtt, |m| m.min(rtt)));
        let secs = rtt.as_secs_f64();
        self.smoothed_rtt = Some(self.smoothed_rtt.map_or(secs, |s| s + (secs - s) / 8.0));
        const KEPT: Dur = Dur::from_secs(2);
        while self.recent_rtts.back().is_some_and(|r| r.1 >= rtt) {
            self.recent_rtts.pop_back();
        }
        self.recent_rtts.push_back((self.now, rtt));
        while self.recent_rtts.front().is_some_and(|r| self.now.since(r.0) > KEPT) {
            self.recent_rtts.pop_front();
        }
        let lost = self.ledger.acknowledge(self.now, seq);
        for seq in lost.clone() {
            let id = self.ledger.packet(seq).group;
            self.groups[id as usize].lost += 1;
        }
        self.groups[packet.group as usize].acknowledged += 1;
        lost
    }

    /// Marks the frames of a group as broken if too few of its packets can still arrive.
    pub(crate) fn check_group(&mut self, id: u32) {
        let group = &self.groups[id as usize];
        if group.total - group.lost < group.message && !self.frames[group.frames[0] as usize].is_broken {
            for frame in group.frames.clone() {
                self.break_chain(frame);
            }
        }
    }

    /// Marks a frame and all frames that depend on it as broken.
    fn break_chain(&mut self, frame: u32) {
        self.frames[frame as usize].is_broken = true;
        for f in frame as usize + 1..self.frames.len() {
            if self.frames[f].reference.is_some_and(|r| self.frames[r as usize].is_broken) {
                self.frames[f].is_broken = true;
            }
        }
        // Waiting frames that depend on a broken frame are dropped.
        for &waiting in &self.waiting {
            if self.frames[waiting as usize].is_broken {
                self.frames[waiting as usize].stage = Stage::Dropped;
            }
        }
        let frames = &self.frames;
        self.waiting.retain(|&w| !frames[w as usize].is_broken);
    }
}
