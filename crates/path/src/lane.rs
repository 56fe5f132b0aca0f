//! A flow's path in one direction: the flow's elements before the first hop, the hops, and the flow's elements after
//! the last hop.
//!
//! A lane does not contain the hops, because flows share them, nor the packets on it. The simulator, and the relay
//! of the kernel world and of the world of QUIC stacks (`fairweir_scenario`), move packets from hop to hop.

use crate::{Chain, Packet, Processing, TieKey, Verdict};
use fairweir_units::Time;

/// Direction of a packet; as a number, the index of its lane in a flow's `[Lane; 2]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the sender.
    Data,
    /// To the sender.
    Ack,
}

impl Direction {
    /// Both, in the order of their lanes.
    pub const BOTH: [Direction; 2] = [Direction::Data, Direction::Ack];
}

/// A hop on a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visit {
    /// Index of the hop.
    pub hop: usize,
    /// Order among simultaneous arrivals at the hop; `None` if each packet reaches the hop at the time at which it is
    /// sent, in the order of sending.
    pub tie: Option<TieKey>,
}

/// A flow's path in one direction.
#[derive(Debug)]
pub struct Lane {
    before: Chain,
    visits: Vec<Visit>,
    after: Chain,
    /// The processing at the end of the lane, if it takes time.
    pub processing: Option<Processing>,
    /// Packets that the lane's elements or hops dropped.
    pub dropped: u64,
}

impl Lane {
    /// Creates a lane over `visits`, with the elements `before` the first visit and `after` the last visit.
    pub fn new(before: Chain, visits: Vec<Visit>, after: Chain) -> Lane {
        Lane { before, visits, after, processing: None, dropped: 0 }
    }

    /// Returns the visits to hops, in order.
    #[inline]
    pub fn visits(&self) -> &[Visit] {
        &self.visits
    }

    /// Passes `packet`, which is sent at `now`, through the elements before the first hop.
    #[inline(always)]
    pub fn enter(&mut self, now: Time, packet: &Packet) -> Verdict {
        self.before.arrive(now, packet)
    }

    /// Passes `packet`, which leaves the last hop at `at`, through the elements after it.
    #[inline(always)]
    pub fn leave(&mut self, at: Time, packet: &Packet) -> Verdict {
        self.after.arrive(at, packet)
    }

    /// Returns the time at which the host has processed a packet that reaches the end of the lane at `at`.
    #[inline(always)]
    pub fn process(&mut self, at: Time) -> Time {
        match &mut self.processing {
            Some(processing) => processing.process(at),
            None => at,
        }
    }

    /// Returns the elements before the first hop.
    pub fn before(&self) -> &Chain {
        &self.before
    }

    /// Returns the elements after the last hop.
    pub fn after(&self) -> &Chain {
        &self.after
    }

    /// Returns how often the lane's elements violated their own bounds ([`crate::Element::violations`]).
    pub fn violations(&self) -> u64 {
        self.before.violations() + self.after.violations()
    }
}
