//! Computes which token counts T_A of a CCAC link are consistent with a record (thesis listing A.1). T_A(t) is the
//! number of tokens admitted by t and S(t) the data delivered by t, both in bytes.
//!
//! For a given rate C, propagation RTT R and jitter D, the record bounds T_A. Data delivered by t had tokens: S(t) <=
//! T_A(t). Tokens are used within D: T_A(t) <= S(t + D). T_A increases at a rate of at most C. It increases at exactly
//! C while it is below the data that has arrived, because then bytes wait for tokens. The minimum and the maximum T_A
//! that the past allows follow these rules, and so does every value between them. The computation is therefore exact
//! and takes one pass. Packets are served whole: until a packet is delivered, T_A may exceed S by up to that packet.

use crate::packet::Fate;
use crate::record::{Ack, Stretch};

/// Smaller differences are rounding errors, bytes.
const ROUNDING: f64 = 1e-3;

/// A path of the CCAC model.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    /// C, bytes/ns.
    pub(crate) rate: f64,
    /// R, ns.
    pub(crate) rtprop: f64,
    /// D, ns.
    pub(crate) jitter: f64,
}

/// The two frames between which no T_A exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Breach {
    /// More was delivered between them than C and D allow.
    TooMuch(u32, u32),
    /// Less was delivered, although packets waited.
    TooLittle(u32, u32),
}

/// A bound on T_A that increases at rate C from an anchor.
#[derive(Clone, Copy, Debug)]
struct Line {
    at: f64,
    value: f64,
    frame: u32,
}

impl Line {
    fn to(&self, at: f64, rate: f64) -> f64 {
        self.value + rate * (at - self.at).max(0.0)
    }
}

/// Bounds on T_A at a packet's arrival, and the data that has arrived including the packet, bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) packet: usize,
    pub(crate) least: f64,
    pub(crate) most: f64,
    pub(crate) arrived: f64,
}

struct Walk {
    rate: f64,
    least: Line,
    most: Line,
    /// Data that has arrived and was not lost, bytes.
    arrived: f64,
    /// Time before which the number of waiting packets is unknown, ns.
    known_from: f64,
}

impl Walk {
    /// The minimum T_A: it increases at rate C up to the data that has arrived.
    fn least(&self, at: f64) -> f64 {
        if self.least.value >= self.arrived {
            return self.least.value;
        }
        let from = Line { at: self.least.at.max(self.known_from), ..self.least };
        from.to(at, self.rate).min(self.arrived)
    }
    fn arrive(&mut self, at: f64, bytes: f64, frame: u32) {
        let now = self.least(at);
        if now >= self.arrived {
            self.least = Line { at, value: now, frame };
        }
        self.arrived += bytes;
    }
}

/// Computes the bounds on T_A along a part of a record. Returns an error if no T_A exists.
///
/// # Parameters
/// `on_arrival`: called when a packet arrives whose fate is known, lost or not.
pub(crate) fn walk(stretch: &Stretch<'_>, path: Path, mut on_arrival: impl FnMut(Arrival)) -> Result<(), Breach> {
    let (packets, acks) = (stretch.packets, stretch.acks);
    let start = Line { at: f64::NEG_INFINITY, value: stretch.delivered, frame: 0 };
    let known_from = match stretch.begins_empty {
        true => f64::NEG_INFINITY,
        false => acks.first().map_or(0.0, |ack| ack.at),
    };
    let mut walk = Walk { rate: path.rate, least: start, most: start, arrived: stretch.delivered, known_from };
    let next_room = |from: usize| (from..acks.len()).find(|&i| acks[i].room.is_some());
    let (mut sent, mut shown, mut room) = (0, 0, next_room(0));
    let mut ceiling = room.and_then(|i| acks[i].room).unwrap_or(f64::INFINITY);
    walk.most = Line { value: ceiling, ..start };
    while shown < acks.len() {
        let delivery = acks[shown].at;
        let widening = room.map_or(f64::INFINITY, |i| acks[i].at - path.jitter);
        let arrival = packets.get(sent).map_or(f64::INFINITY, |p| stretch.sent(p) + path.rtprop);
        if widening <= arrival && widening <= delivery {
            let Some(i) = room else { break };
            if walk.least(widening) > ceiling + ROUNDING {
                return Err(Breach::TooLittle(walk.least.frame, acks[i].frame));
            }
            if walk.most.to(widening, path.rate) >= ceiling {
                walk.most = Line { at: widening, value: ceiling, frame: acks[i].frame };
            }
            room = next_room(i + 1);
            ceiling = room.and_then(|i| acks[i].room).unwrap_or(f64::INFINITY);
        } else if arrival <= delivery {
            let bytes = f64::from(packets[sent].bytes);
            let fate = packets[sent].fate;
            if let Fate::Acked { .. } | Fate::Resent { .. } = fate {
                walk.arrive(arrival, bytes, packets[sent].frame);
            }
            if fate != Fate::Open {
                let arrived = if fate == Fate::Lost { walk.arrived + bytes } else { walk.arrived };
                let most = walk.most.to(arrival, path.rate).min(ceiling);
                on_arrival(Arrival { packet: sent, least: walk.least(arrival), most, arrived });
            }
            sent += 1;
        } else {
            let Ack { total, frame, .. } = acks[shown];
            if total > walk.most.to(delivery, path.rate) + ROUNDING {
                return Err(Breach::TooMuch(walk.most.frame, frame));
            }
            if total > walk.least(delivery) {
                walk.least = Line { at: delivery, value: total, frame };
            }
            shown += 1;
        }
    }
    Ok(())
}
