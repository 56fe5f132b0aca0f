//! Queues: they decide whether a packet is queued, marked or dropped.

mod limit;

use crate::kinds::kinds;
use crate::{ConfigError, Ecn, Packet};
use fairweir_units::{Bytes, Dur, Time};
use rand_chacha::ChaCha8Rng;
use std::fmt::Debug;

/// Contents of a hop, including the packet in transmission.
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

/// The FIFO of a hop in which a packet waits, for disciplines with two ([`Queue::has_classes`]); others have only the
/// first. As a number, its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Traffic that responds to a mark as to a loss, or that cannot be marked.
    Classic,
    /// L4S traffic.
    L4s,
}

impl Class {
    /// Both, in the order of their FIFOs.
    pub const BOTH: [Class; 2] = [Class::Classic, Class::L4s];

    /// Returns the class of `packet`. It depends on the codepoint of its sender alone, so that a flow is not reordered.
    pub fn of(packet: &Packet) -> Class {
        if packet.ecn == Ecn::Ect1 { Class::L4s } else { Class::Classic }
    }
}

/// When the heads of a hop's FIFOs arrived, by [`Class`]; `None` if no packet waits there.
pub type Heads = [Option<Time>; 2];

/// A queue discipline for one FIFO, or for two that share a link.
pub trait Queue: Debug + Send {
    /// Decides on `packet`, which arrives at `now` and finds `backlog`.
    fn admit(&mut self, now: Time, packet: &Packet, backlog: Backlog) -> Admission;

    /// Called before [`Queue::admit`] if the hop has been empty for `idle`.
    fn on_idle(&mut self, _idle: Dur) {}

    /// Whether the discipline also decides when a packet reaches the head ([`Queue::leave`]).
    fn decides_on_leave(&self) -> bool {
        false
    }

    /// Whether packets wait in one FIFO per [`Class`]; only for a discipline that decides on leave.
    fn has_classes(&self) -> bool {
        false
    }

    /// Chooses the FIFO whose head is offered next, at `now`; the chosen one must have a head. Only with classes.
    fn next(&mut self, _now: Time, _heads: Heads) -> Class {
        Class::Classic
    }

    /// Decides on `packet`, which has waited for `sojourn` and would be transmitted at `now`; `backlog` is what waits
    /// behind it in its FIFO.
    fn leave(&mut self, _now: Time, _packet: &Packet, _sojourn: Dur, _backlog: Backlog) -> Admission {
        Admission::Accept
    }
}

/// A kind of queue: its parameters in base units, in the file of the queue.
pub trait QueueSpec: Debug {
    /// Checks the parameters.
    ///
    /// # Errors
    /// The first key whose value is rejected.
    fn validate(&self) -> Result<(), ConfigError>;

    /// Builds the queue, with a random stream of its own. The parameters must be valid.
    fn build(&self, rng: ChaCha8Rng) -> Box<dyn Queue>;

    /// Returns examples as JSON, with the name of the kind.
    fn examples() -> &'static [&'static str]
    where
        Self: Sized;
}

// To add a queue: a file with its parameters, which implement `QueueSpec`, and a line here.
kinds! {
    /// A queue as scenarios describe it, in base units.
    QueueConfig of QueueSpec;
    /// Drops packets that do not fit.
    Droptail = droptail::DroptailConfig;
    /// Random early detection.
    Red = red::RedConfig;
    /// Marks above a threshold.
    EcnThreshold = ecn_threshold::EcnThresholdConfig;
    /// Controlled delay.
    Codel = codel::CodelConfig;
    /// Coupled dual queue.
    Dualpi2 = dualpi2::Dualpi2Config;
    /// Admits nothing.
    #[cfg(test)]
    Dummy = dummy::DummyQueueConfig;
}

impl QueueConfig {
    /// Builds the queue, with a random stream of its own. The configuration must be valid.
    pub fn build(&self, rng: ChaCha8Rng) -> Box<dyn Queue> {
        self.spec().build(rng)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn packet(bytes: u64) -> Packet {
        Packet { seq: 0, bytes: Bytes(bytes), sent: Time::ZERO, ecn: Ecn::NotEct }
    }
}
