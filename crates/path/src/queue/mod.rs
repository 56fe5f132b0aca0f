//! Queues: may a packet enter, and how?

mod codel;
mod droptail;
mod ecn_threshold;
mod limit;
mod red;

pub use codel::{Codel, CodelConfig};
pub use droptail::{Droptail, DroptailConfig};
pub use ecn_threshold::{EcnThreshold, EcnThresholdConfig};
pub use red::{Red, RedConfig};

use crate::{ConfigError, Packet};
use fairweir_units::{Bytes, Dur, Time};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;

/// Content of a hop, including the packet in transmission.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Bytes.
    pub bytes: Bytes,
    /// Packets.
    pub packets: u64,
}

impl Backlog {
    #[inline]
    pub(crate) fn add(&mut self, bytes: Bytes) {
        self.bytes += bytes;
        self.packets += 1;
    }

    #[inline]
    pub(crate) fn remove(&mut self, bytes: Bytes) {
        self.bytes -= bytes;
        self.packets -= 1;
    }
}

/// A queue's decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Admit (or transmit).
    Accept,
    /// Admit (or transmit) with a congestion-experienced mark.
    Mark,
    /// Drop.
    Drop,
}

/// A queue discipline for one FIFO.
pub trait Queue: Debug + Send {
    /// `packet` arrives at `now` and finds `backlog`.
    fn admit(&mut self, now: Time, packet: &Packet, backlog: Backlog) -> Admission;

    /// Called before [`Queue::admit`] if the hop has been empty for `idle`.
    fn on_idle(&mut self, _idle: Dur) {}

    /// Does the discipline also decide when a packet reaches the head ([`Queue::leave`])?
    fn decides_on_leave(&self) -> bool {
        false
    }

    /// `packet` has waited `sojourn` and is about to be transmitted at `now`; `backlog` is what remains.
    fn leave(&mut self, _now: Time, _packet: &Packet, _sojourn: Dur, _backlog: Backlog) -> Admission {
        Admission::Accept
    }
}

/// A queue as scenarios describe it, in base units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum QueueConfig {
    /// Drops packets that do not fit.
    Droptail(DroptailConfig),
    /// Random early detection.
    Red(RedConfig),
    /// Marks above a threshold.
    EcnThreshold(EcnThresholdConfig),
    /// Controlled delay.
    Codel(CodelConfig),
}

impl QueueConfig {
    /// The queue, with a random stream of its own. The configuration must be valid.
    pub fn build(&self, rng: ChaCha8Rng) -> Box<dyn Queue> {
        match self {
            QueueConfig::Droptail(c) => Box::new(Droptail::new(c)),
            QueueConfig::Red(c) => Box::new(Red::new(c, rng)),
            QueueConfig::EcnThreshold(c) => Box::new(EcnThreshold::new(c)),
            QueueConfig::Codel(c) => Box::new(Codel::new(c)),
        }
    }

    /// Is this a queue that can be built?
    ///
    /// # Errors The first key whose value is rejected.
    pub fn validate(&self) -> Result<(), ConfigError> {
        match self {
            QueueConfig::Droptail(c) => c.validate(),
            QueueConfig::Red(c) => c.validate(),
            QueueConfig::EcnThreshold(c) => c.validate(),
            QueueConfig::Codel(c) => c.validate(),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn packet(bytes: u64) -> Packet {
        Packet { seq: 0, bytes: Bytes(bytes), sent: Time::ZERO, is_ecn_capable: false }
    }
}
