//! The parameters that a link of a given rate C implies, computed in one pass over the packets: propagation RTT R,
//! jitter D and buffer beta (see `cbr_delay` for the model).

use crate::interval::Interval;
use crate::packet::{Fate, Packet};
use serde::Serialize;

/// Parameters that are possible at a given rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Slice {
    /// C, bytes/s.
    pub rate_bytes_per_s: f64,
    /// F: upper bound on R, ns. If negative, the rate is too low for the delivered data.
    pub rtprop_max_ns: f64,
    /// Frame of the packet that determines F.
    pub rtprop_frame: u32,
    /// M: lower bound on R + D, ns.
    pub delay_max_ns: f64,
    /// Frame of the packet that determines M.
    pub delay_frame: u32,
    /// Lower bound on the buffer, bytes. Links differ in whether the packet in transmission counts, so both bounds on
    /// the buffer have a tolerance of one packet.
    pub buffer_min_bytes: f64,
    /// Frame of the packet that met this backlog and was not lost.
    pub buffer_frame: u32,
    /// Upper bound on the buffer (exclusive), bytes, if a packet was lost.
    pub buffer_max_bytes: Option<f64>,
    /// Frame of the packet that met the smallest backlog of all lost packets.
    pub loss_frame: Option<u32>,
}

impl Slice {
    /// M - F: the minimum D, ns.
    pub fn jitter_min_ns(&self) -> f64 {
        (self.delay_max_ns - self.rtprop_max_ns).max(0.0)
    }
    /// Whether one buffer size explains which packets were lost and which were not, with an allowance for jitter before
    /// the queue.
    pub fn losses_are_overflows(&self) -> bool {
        self.buffer_max_bytes.is_none_or(|most| self.buffer_min_bytes < most + self.moved_bytes())
    }
    /// Maximum difference between the actual and the computed queue, bytes; jitter before the queue can cause it.
    fn moved_bytes(&self) -> f64 {
        self.rate_bytes_per_s * self.jitter_min_ns() / 1e9
    }
    /// beta, if losses are overflows.
    pub(crate) fn buffer_bytes(&self) -> Interval {
        let least = (self.buffer_min_bytes - self.moved_bytes()).max(0.0);
        let ends = |most: f64| Interval { lo: least, hi: Some(most + self.moved_bytes()) };
        self.buffer_max_bytes.map_or(Interval { lo: least, hi: None }, ends)
    }
    /// Whether a jitter of at most `jitter` ns explains the packets.
    pub(crate) fn is_possible(&self, jitter: f64) -> bool {
        self.rtprop_max_ns >= 0.0 && self.jitter_min_ns() <= jitter
    }
}

/// An extreme value of a quantity, and the packet that has it.
#[derive(Clone, Copy, Debug)]
struct Extreme {
    value: f64,
    frame: u32,
}

impl Extreme {
    const LEAST: Extreme = Extreme { value: f64::INFINITY, frame: 0 };
    const MOST: Extreme = Extreme { value: f64::NEG_INFINITY, frame: 0 };
    fn lower(&mut self, value: f64, frame: u32) {
        if value < self.value {
            *self = Extreme { value, frame };
        }
    }
    fn raise(&mut self, value: f64, frame: u32) {
        if value > self.value {
            *self = Extreme { value, frame };
        }
    }
}

/// Returns the parameters possible at a rate in bytes/s, for packets in send order; `None` if none was delivered.
pub fn slice(packets: &[Packet], rate: f64) -> Option<Slice> {
    let mut free = 0.0f64;
    let (mut lowest, mut highest) = (Extreme::LEAST, Extreme::MOST);
    let (mut kept, mut lost) = (Extreme::MOST, Extreme::LEAST);
    // times count from the first packet, because a float has too few digits for times since 1970
    let origin = packets.first()?.sent;
    let mut largest = 0.0f64;
    for packet in packets {
        let (sent, bytes) = (packet.sent.saturating_sub(origin) as f64, f64::from(packet.bytes));
        largest = largest.max(bytes);
        let queue = (free - sent).max(0.0) * rate / 1e9 + bytes;
        let serve = |free: f64| free.max(sent) + bytes * 1e9 / rate;
        let (at, is_prompt) = match packet.fate {
            Fate::Acked { at, is_prompt, .. } => (at, is_prompt),
            Fate::Resent { .. } => {
                free = serve(free);
                continue;
            }
            Fate::Lost => {
                lost.lower(queue, packet.frame);
                continue;
            }
            Fate::Open => continue,
        };
        kept.raise(queue, packet.frame);
        free = serve(free);
        let rest = at.saturating_sub(origin) as f64 - free;
        lowest.lower(rest, packet.frame);
        if is_prompt {
            highest.raise(rest, packet.frame);
        }
    }
    if highest.value < lowest.value {
        highest = lowest;
    }
    lowest.value.is_finite().then(|| Slice {
        rate_bytes_per_s: rate,
        rtprop_max_ns: lowest.value,
        rtprop_frame: lowest.frame,
        delay_max_ns: highest.value,
        delay_frame: highest.frame,
        buffer_min_bytes: (kept.value - largest).max(0.0),
        buffer_frame: kept.frame,
        buffer_max_bytes: lost.value.is_finite().then_some(lost.value + largest),
        loss_frame: lost.value.is_finite().then_some(lost.frame),
    })
}
