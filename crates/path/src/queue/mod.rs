//! Queues: may a packet enter, and how?

mod droptail;

pub use droptail::{Droptail, DroptailConfig};

use crate::Packet;
use fairweir_units::{Bytes, Dur, Time};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;

/// What is in a hop, the packet in transmission included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Bytes.
    pub bytes: Bytes,
    /// Packets.
    pub packets: u64,
}

/// A queue's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Let it in (or out).
    Accept,
    /// Let it in (or out) with a congestion-experienced mark.
    Mark,
    /// Refuse it.
    Drop,
}

/// A queue discipline for one FIFO.
pub trait Queue: Debug + Send {
    /// `packet` arrives at `now` and finds `backlog`.
    fn admit(&mut self, now: Time, packet: &Packet, backlog: Backlog) -> Admission;

    /// Does the discipline also decide when a packet reaches the head ([`Queue::leave`])?
    fn decides_on_leave(&self) -> bool {
        false
    }

    /// `packet` has waited `sojourn` and is about to be transmitted at `now`; `backlog` is what stays behind it.
    fn leave(&mut self, _now: Time, _packet: &Packet, _sojourn: Dur, _backlog: Backlog) -> Admission {
        Admission::Accept
    }
}

/// A queue as scenarios describe it, in base units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum QueueConfig {
    /// Refuses what does not fit.
    Droptail(DroptailConfig),
}

impl QueueConfig {
    /// The queue, with a random stream of its own.
    pub fn build(&self, _rng: ChaCha8Rng) -> Box<dyn Queue> {
        match self {
            QueueConfig::Droptail(c) => Box::new(Droptail::new(c)),
        }
    }
}
