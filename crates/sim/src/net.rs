//! State shared by flows: hops (links with queues) and the schedule of events.

use crate::arrivals::{Arrival, Arrivals};
use crate::item::{Item, StageId};
use crate::schedule::{Leaf, Schedule};
use crate::watch::Watch;
use fairweir_path::TieKey;
use fairweir_scenario::MeteredHop;

/// Hops and the schedule: the state outside a flow that an event of the flow may change.
#[derive(Debug)]
pub(crate) struct Net<W> {
    pub(crate) hops: Vec<SharedHop>,
    pub(crate) schedule: Schedule,
    pub(crate) watch: W,
}

impl<W: Watch> Net<W> {
    /// Adds `item` of `stage` to the arrivals of `hop`, which processes its arrivals in batches.
    #[inline(always)]
    pub(crate) fn add_arrival(&mut self, hop: usize, item: Item, stage: StageId, tie: TieKey) {
        let Some(arrivals) = &mut self.hops[hop].arrivals else { return };
        let arrival = Arrival { item, stage, tie: self.schedule.rank(tie, item.at) };
        if arrivals.insert(arrival) {
            self.schedule.bring_forward(arrivals.leaf, arrivals.due());
        }
    }
}

/// A hop with its leaves (event streams) in the schedule.
#[derive(Debug)]
pub(crate) struct SharedHop {
    pub(crate) metered: MeteredHop,
    /// The leaf of the hop's departures, if the hop decides when packets leave.
    pub(crate) leaf: Option<Leaf>,
    /// All packets in transit to the hop, if it processes its arrivals in batches.
    pub(crate) arrivals: Option<Arrivals>,
}
