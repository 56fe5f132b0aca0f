//! Position of a capture on a flow's path, inferred from the flow: which parts of the round trip lie on which side of
//! the capture.
//!
//! The handshake contains a response from each end. Later, data that echoes an ACK's timestamp (RFC 7323 section 3)
//! shows the time from the ACK to the data. Hosts respond within a millisecond. If an end is that near to the capture,
//! times on that side of the capture carry no information about the path.

use crate::packet::{Fate, Packet};
use fairweir_tcp::{Endpoint, Flags, Segment, sequence::distance};
use serde::Serialize;
use std::collections::VecDeque;

/// An end is near the capture if it responds within this time, ns, or within `HOST_SHARE`.
const HOST_NS: u64 = 1_000_000;
/// An end is also near if it responds within a fraction of 1/HOST_SHARE of the path's round trip.
const HOST_SHARE: u64 = 10;
/// A queue exists if delays vary by at least this time, ns.
const QUEUE_NS: u64 = 2_000_000;
/// A queue or policer is also inferred from at least this many losses; fewer may be spurious retransmissions.
const LOSSES: usize = 4;
/// A fraction of 1/TAIL of the delays is excluded at each end of their range.
const TAIL: usize = 20;
/// A queue lies between the sender and the capture if at least a fraction of 1/STALE of the data packets echo a
/// timestamp that is out of date by more than `HOST_NS`.
const STALE: usize = 20;
/// Maximum number of timestamps that wait for an echo. With one tick per millisecond, a round trip has fewer.
const ECHOES: usize = 4096;

/// Position of the capture on the flow's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum View {
    /// At the data's sender: the whole path lies between data and acknowledgements.
    Sender,
    /// At the receiver: almost none of the path lies between data and acknowledgements.
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
    /// The smaller MSS of both sides, including options, bytes.
    pub(crate) mss: Option<u16>,
    /// Window scale shifts: of the end that opened the connection, and of the other end.
    pub(crate) shifts: [Option<u8>; 2],
}

impl Handshake {
    /// Processes a segment of either direction. `seen` is what the connection's handshake has shown so far.
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

    /// Returns the round-trip times from the capture to the data's receiver and to its sender, ns.
    fn ahead_and_behind(&self, src: Endpoint) -> Option<(u64, u64)> {
        let ((syn, client), syn_ack, last) = (self.syn?, self.syn_ack?, self.last?);
        let (to_server, to_client) = (syn_ack.saturating_sub(syn), last.saturating_sub(syn_ack));
        Some(if client == src { (to_server, to_client) } else { (to_client, to_server) })
    }

    /// Response time of the sending host in the handshake, including the path between capture and host, ns.
    pub(crate) fn answer_ns(&self, src: Endpoint) -> Option<u64> {
        self.ahead_and_behind(src).map(|(_, behind)| behind)
    }

    /// Time from an ACK at the capture to the data that it triggers, ns; 0 if the sender is near the capture.
    pub(crate) fn lag_ns(&self, src: Endpoint) -> u64 {
        let Some((ahead, behind)) = self.ahead_and_behind(src) else { return 0 };
        if behind < HOST_NS || is_near(behind, ahead) { 0 } else { behind }
    }

    /// Shift of the windows that the receiver of `src`'s data advertises. Both ends must have offered a shift (RFC 7323
    /// §2.2).
    pub(crate) fn window_shift(&self, src: Endpoint) -> Option<u8> {
        let (_, opener) = self.syn?;
        self.syn_ack?;
        let [Some(of_opener), Some(of_other)] = self.shifts else { return Some(0) };
        Some(if opener == src { of_other } else { of_opener })
    }
}

/// The round trip from the capture to the sender, measured by the timestamps that data packets echo.
#[derive(Clone, Debug, Default)]
pub(crate) struct Echoes {
    /// The receiver's timestamps, and the time when each was first seen, ns.
    open: VecDeque<(u32, u64)>,
    /// The minimum round-trip time, ns.
    least: Option<u64>,
    /// Number of data packets with a timestamp that can be compared.
    data: usize,
    /// Number of these packets that passed more than `HOST_NS` after an ACK with a newer timestamp than the one that
    /// they echo.
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
        // only the first packet that echoes a timestamp counts; later packets waited for other reasons
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

    /// Whether data waits between the sender and the capture. A sender echoes the newest timestamp received (RFC 7323
    /// section 4.3). If data echoes an older timestamp than the newest that passed the capture, it was sent before the
    /// newest reached the sender, and it has waited since.
    fn are_stale(&self) -> bool {
        self.stale > 0 && self.stale * STALE >= self.data
    }
}

/// Conclusions from a flow's times about the capture's position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) view: View,
    /// Whether delays between data and ACKs can be queueing delays.
    pub(crate) has_queue_ahead: bool,
    /// Minimum round-trip time of the whole path, as far as known, ns.
    pub(crate) round_trip_ns: u64,
}

fn is_near(one: u64, other: u64) -> bool {
    one * HOST_SHARE <= other || one < HOST_NS && other >= HOST_NS
}

/// Infers where a capture was taken.
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
        // both ends are near; a queue between the data and its ACKs shows that the capture is at the sender
        (Some(ahead), Some(behind)) if ahead < HOST_NS && behind < HOST_NS => {
            if median >= HOST_NS && varies >= QUEUE_NS { View::Sender } else { View::Short }
        }
        (Some(ahead), None) if ahead < HOST_NS && median < HOST_NS => View::Short,
        (Some(ahead), Some(behind)) if is_near(behind, ahead) => View::Sender,
        (Some(ahead), Some(behind)) if is_near(ahead, behind) => View::Receiver,
        (Some(_), Some(_)) => View::Between,
        _ => View::Unknown,
    };
    // the handshake passed before a queue between sender and capture filled
    let view = if view == View::Sender && echoes.are_stale() { View::Between } else { view };
    let has_queue_ahead = match view {
        View::Sender => true,
        View::Receiver | View::Short => false,
        // a packet that is lost after the capture appears in the capture twice
        View::Between | View::Unknown => {
            varies >= QUEUE_NS || packets.iter().filter(|p| p.fate == Fate::Lost).take(LOSSES).count() == LOSSES
        }
    };
    Place { view, has_queue_ahead, round_trip_ns: ahead.unwrap_or(0) + behind.unwrap_or(0) }
}
