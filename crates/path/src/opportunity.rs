//! Service by opportunities: at given instants a given number of bytes may leave; unused bytes are lost.
//!
//! mahimahi serves in this way (one 1504-byte opportunity per trace line), and so do aggregating links. A packet may
//! use several opportunities, and several packets may share one. A packet leaves with its last byte.

use fairweir_units::{Bytes, Time};
use std::fmt::Debug;

/// At this instant up to `bytes` may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Opportunity {
    pub(crate) at: Time,
    pub(crate) bytes: u64,
}

/// A stream of opportunities in order of time.
pub(crate) trait Schedule: Debug + Send {
    /// Returns the first opportunity at or after `time` among those not yet returned; earlier ones are lost.
    ///
    /// `time` never decreases.
    fn next_from(&mut self, time: Time) -> Opportunity;
}

/// A FIFO served by the opportunities of `S`.
#[derive(Clone, Debug)]
pub(crate) struct OpportunityServer<S> {
    schedule: S,
    current: Opportunity,
}

impl<S: Schedule> OpportunityServer<S> {
    pub(crate) fn new(schedule: S) -> OpportunityServer<S> {
        OpportunityServer { schedule, current: Opportunity { at: Time::ZERO, bytes: 0 } }
    }

    pub(crate) fn schedule(&self) -> &S {
        &self.schedule
    }

    /// Returns the departure time of the last byte of a packet that arrives at `now`.
    #[inline]
    pub(crate) fn depart(&mut self, now: Time, bytes: Bytes) -> Time {
        if self.current.at < now {
            self.current = self.schedule.next_from(now);
        }
        let mut missing = bytes.0;
        while missing > self.current.bytes {
            missing -= self.current.bytes;
            self.current = self.schedule.next_from(self.current.at);
            if !self.current.at.is_set() {
                return Time::NEVER;
            }
        }
        self.current.bytes -= missing;
        self.current.at
    }
}
