//! A flow's path in one direction: its own elements before the first hop, the hops that it visits, its elements after
//! the last one.
//!
//! A lane does not own hops, because flows share them, nor the packets on it: a world moves packets from hop to hop on
//! its clock.

use crate::{Chain, Packet, TieKey, Verdict};
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
    /// Order among simultaneous arrivals at the hop; `None` if packets reach it at the time they are sent, in the order
    /// in which they are sent.
    pub tie: Option<TieKey>,
}

/// A flow's path in one direction.
#[derive(Debug)]
pub struct Lane {
    before: Chain,
    visits: Vec<Visit>,
    after: Chain,
    /// Packets that the lane's elements or hops dropped.
    pub dropped: u64,
}

impl Lane {
    /// A lane over `visits`, with the elements `before` the first and `after` the last of them.
    pub fn new(before: Chain, visits: Vec<Visit>, after: Chain) -> Lane {
        Lane { before, visits, after, dropped: 0 }
    }

    /// The hops, in order.
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

    /// The elements before the first hop.
    pub fn before(&self) -> &Chain {
        &self.before
    }

    /// The elements after the last hop.
    pub fn after(&self) -> &Chain {
        &self.after
    }

    /// Number of violated bounds of elements.
    pub fn violations(&self) -> u64 {
        self.before.violations() + self.after.violations()
    }
}
