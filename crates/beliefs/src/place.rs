//! Position of a capture, inferred from a flow: which part of the round trip lies on which side.
//!
//! The handshake has a response from either end; later, data that echoes an ACK's timestamp (RFC 7323 section 3) shows
//! the time from ACK to data. Hosts respond within a millisecond: on a side that near, times are not informative about
//! the path.

use crate::packet::{Fate, Packet};
use fairweir_tcp::{Endpoint, Flags, Segment, sequence::distance};
use serde::Serialize;
use std::collections::VecDeque;

/// Maximum response time of hosts, ns.
const HOST_NS: u64 = 1_000_000;
/// ... or within this part of the path's round trip.
const HOST_SHARE: u64 = 10;
/// A queue shows as delays that vary by this, ns.
const QUEUE_NS: u64 = 2_000_000;
/// This many losses imply a queue or a policer too: fewer may be spurious retransmissions.
const LOSSES: usize = 4;
/// The range of delays excludes one in this many at either end.
const TAIL: usize = 20;
/// If a queue lies between the sender and the capture, at least one in this many data packets echoes a timestamp older
/// than `HOST_NS`.
const STALE: usize = 20;
/// Maximum number of unanswered timestamps; with a tick per millisecond a round trip has fewer.
const ECHOES: usize = 4096;

/// Position of the capture on the flow's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum View {
    /// At the data's sender: the whole path lies between data and acknowledgements.
    Sender,
    /// At the receiver: almost none of the path lies between data and ACKs.
    Receiver,
    /// Between sender and receiver.
    Between,
    /// The whole round trip is as short as a host's response time.
    Short,
    /// Neither a handshake nor timestamps were captured.
    Unknown,
}

/// Times of the handshake's segments, ns.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Handshake {
    pub(crate) syn: Option<(u64, Endpoint)>,
    pub(crate) syn_ack: Option<u64>,
    pub(crate) last: Option<u64>,
    /// The smaller MSS of both sides, options included, bytes.
    pub(crate) mss: Option<u16>,
    /// Window scale shifts of both ends: the opener's, and the other's.
    pub(crate) shifts: [Option<u8>; 2],
}

impl Handshake {
    /// Processes a segment of either direction; `seen` is the connection's handshake so far.
    pub(crate) fn add(&mut self, segment: &Segment) {
        let now = segment.time.as_nanos();
        if segment.flags.has(Flags::SYN) {
            let known = self.mss;
            let is_answer = segment.flags.has(Flags::ACK);
            match is_answer {
                false => *self = Handshake { syn: Some((now, segment.src)), ..Handshake::default() },
                true if self.syn_ack.is_none() => self.syn_ack = Some(now),
                true => {}
            }
            self.mss = known.into_iter().chain(segment.options.mss).min();
            self.shifts[usize::from(is_answer)] = segment.options.window_scale;
        } else if self.last.is_none() && self.syn_ack.is_some() && self.syn.is_some_and(|(_, who)| who == segment.src) {
            self.last = Some(now);
        }
    }

    /// The round trips from the capture to the data's receiver and to its sender, ns.
    fn ahead_and_behind(&self, src: Endpoint) -> Option<(u64, u64)> {
        let ((syn, client), syn_ack, last) = (self.syn?, self.syn_ack?, self.last?);
        let (to_server, to_client) = (syn_ack.saturating_sub(syn), last.saturating_sub(syn_ack));
        Some(if client == src { (to_server, to_client) } else { (to_client, to_server) })
    }

    /// Response time of the sending host in the handshake, including the path from and to the capture, ns.
    pub(crate) fn answer_ns(&self, src: Endpoint) -> Option<u64> {
        self.ahead_and_behind(src).map(|(_, behind)| behind)
    }

    /// Time from an ACK at the capture to the data that it triggers, ns; 0 if the sender is near.
    pub(crate) fn lag_ns(&self, src: Endpoint) -> u64 {
        let Some((ahead, behind)) = self.ahead_and_behind(src) else { return 0 };
        if behind < HOST_NS || is_near(behind, ahead) { 0 } else { behind }
    }

    /// The shift of the window that the receiver of `src`'s data advertises: both ends must offer one (RFC 7323 §2.2).
    pub(crate) fn window_shift(&self, src: Endpoint) -> Option<u8> {
        let (_, opener) = self.syn?;
        self.syn_ack?;
        let [Some(of_opener), Some(of_other)] = self.shifts else { return Some(0) };
        Some(if opener == src { of_other } else { of_opener })
    }
}

/// The round trip from the capture to the sender, by the timestamps that data echo.
#[derive(Clone, Debug, Default)]
pub(crate) struct Echoes {
    /// The receiver's timestamps, and when each was first seen, ns.
    open: VecDeque<(u32, u64)>,
    /// The minimum, ns.
    least: Option<u64>,
    /// Data with a timestamp to compare.
    data: usize,
    /// ... that passed more than `HOST_NS` after an ACK with a newer timestamp than the one that they echo.
    stale: usize,
}

impl Echoes {
    pub(crate) fn on_ack(&mut self, segment: &Segment) {
        let Some(stamps) = segment.options.timestamps else { return };
        if self.open.back().is_none_or(|&(newest, _)| distance(newest, stamps.tsval) > 0) {
            if self.open.len() == ECHOES {
                self.open.pop_front();
            }
            self.open.push_back((stamps.tsval, segment.time.as_nanos()));
        }
    }

    pub(crate) fn on_data(&mut self, segment: &Segment) {
        let Some(stamps) = segment.options.timestamps else { return };
        while self.open.front().is_some_and(|&(value, _)| distance(value, stamps.tsecr) > 0) {
            self.open.pop_front();
        }
        // only the first that echoes it: later ones waited for other reasons
        if let Some(&(value, at)) = self.open.front()
            && value == stamps.tsecr
        {
            self.open.pop_front();
            let lag = segment.time.as_nanos().saturating_sub(at);
            self.least = Some(self.least.map_or(lag, |least| least.min(lag)));
        }
        self.data += 1;
        let newer = self.open.front().filter(|&&(value, _)| distance(stamps.tsecr, value) > 0);
        self.stale += usize::from(newer.is_some_and(|&(_, at)| segment.time.as_nanos().saturating_sub(at) > HOST_NS));
    }

    /// Whether data waits between the sender and the capture: a sender echoes the newest timestamp received (RFC 7323
    /// section 4.3), so data that echoes an older one than has passed the capture was sent earlier, and waited.
    fn are_stale(&self) -> bool {
        self.stale > 0 && self.stale * STALE >= self.data
    }
}

/// Inference from a flow's times about the capture's position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) view: View,
    /// Whether delays between data and ACKs can be queueing delays.
    pub(crate) has_queue_ahead: bool,
    /// The minimum round trip of the whole path, as far as known, ns.
    pub(crate) round_trip_ns: u64,
}

fn is_near(one: u64, other: u64) -> bool {
    one * HOST_SHARE <= other || one < HOST_NS && other >= HOST_NS
}

/// Finds out where a capture was taken.
pub(crate) fn place(handshake: Option<&Handshake>, echoes: &Echoes, src: Endpoint, packets: &[Packet]) -> Place {
    let mut delays: Vec<u64> = packets
        .iter()
        .filter(|packet| matches!(packet.fate, Fate::Acked { is_prompt: true, .. }))
        .filter_map(Packet::rtt)
        .collect();
    delays.sort_unstable();
    let tail = delays.len() / TAIL;
    let varies = if delays.is_empty() { 0 } else { delays[delays.len() - 1 - tail] - delays[tail] };
    let least = packets.iter().filter_map(Packet::rtt).min();
    let shaken = handshake.and_then(|seen| seen.ahead_and_behind(src));
    let ahead = least.into_iter().chain(shaken.map(|(ahead, _)| ahead)).min();
    let behind = echoes.least.into_iter().chain(shaken.map(|(_, behind)| behind)).min();
    let median = delays.get(delays.len() / 2).copied().unwrap_or(0);
    let view = match (ahead, behind) {
        // a short path with a queue before it has the capture at the sender's side
        (Some(ahead), Some(behind)) if ahead < HOST_NS && behind < HOST_NS => {
            if median >= HOST_NS && varies >= QUEUE_NS { View::Sender } else { View::Short }
        }
        (Some(ahead), None) if ahead < HOST_NS && median < HOST_NS => View::Short,
        (Some(ahead), Some(behind)) if is_near(behind, ahead) => View::Sender,
        (Some(ahead), Some(behind)) if is_near(ahead, behind) => View::Receiver,
        (Some(_), Some(_)) => View::Between,
        _ => View::Unknown,
    };
    // the handshake found no queue there yet
    let view = if view == View::Sender && echoes.are_stale() { View::Between } else { view };
    let has_queue_ahead = match view {
        View::Sender => true,
        View::Receiver | View::Short => false,
        // packets lost after the capture are seen twice
        View::Between | View::Unknown => {
            varies >= QUEUE_NS || packets.iter().filter(|p| p.fate == Fate::Lost).take(LOSSES).count() == LOSSES
        }
    };
    Place { view, has_queue_ahead, round_trip_ns: ahead.unwrap_or(0) + behind.unwrap_or(0) }
}
