//! State shared by flows: hops and the schedule.

use crate::arrivals::{Arrival, Arrivals};
use crate::item::Item;
use crate::schedule::{Leaf, Schedule};
use crate::watch::Watch;
use fairweir_path::{Hop, Packet, Verdict};
use fairweir_scenario::Histogram;
use fairweir_scenario::LinkSpec;
use fairweir_units::{Bytes, Dur, Time};
use rand_chacha::ChaCha8Rng;

/// Hops and the schedule: the state that an event of one flow may change outside the flow.
#[derive(Debug)]
pub(crate) struct Net<W> {
    pub(crate) hops: Vec<SharedHop>,
    pub(crate) schedule: Schedule,
    pub(crate) watch: W,
}

impl<W: Watch> Net<W> {
    /// `item` is in transit to a `hop` that handles its arrivals in batches, from the stage with this `tag` and
    /// tie-break id `name`.
    #[inline(always)]
    pub(crate) fn announce(&mut self, hop: usize, item: Item, tag: u32, name: u32) {
        let Some(arrivals) = &mut self.hops[hop].arrivals else { return };
        let arrival = Arrival { item, tag, tie: self.schedule.tie(name, item.at) };
        if arrivals.insert(arrival) {
            self.schedule.bring_forward(arrivals.leaf, arrivals.due());
        }
    }
}

/// A hop with its statistics.
#[derive(Debug)]
pub(crate) struct SharedHop {
    pub(crate) hop: Hop,
    /// Its own stream, if its queue decides when packets leave.
    pub(crate) leaf: Option<Leaf>,
    /// All packets on their way to it, if it handles them in batches.
    pub(crate) arrivals: Option<Arrivals>,
    /// Propagation to the next hop.
    pub(crate) delay: Dur,
    last_departure: Time,
    pub(crate) stats: HopStats,
}

#[derive(Clone, Debug)]
pub(crate) struct HopStats {
    pub(crate) wait: Histogram,
    pub(crate) served: Bytes,
    pub(crate) drops: u64,
    pub(crate) marks: u64,
}

impl HopStats {
    pub(crate) fn new() -> HopStats {
        HopStats { wait: Histogram::new(), served: Bytes::ZERO, drops: 0, marks: 0 }
    }
}

impl SharedHop {
    pub(crate) fn new(spec: &LinkSpec, rng: ChaCha8Rng) -> SharedHop {
        SharedHop {
            hop: Hop::new(&spec.hop, rng),
            leaf: None,
            arrivals: None,
            delay: spec.delay,
            last_departure: Time::ZERO,
            stats: HopStats::new(),
        }
    }

    /// A packet arrives at `now` at a hop that decides on arrival.
    #[inline(always)]
    pub(crate) fn arrive(&mut self, now: Time, packet: &Packet) -> Verdict {
        let verdict = self.hop.arrive(now, packet);
        self.count(self.last_departure.since(now), packet, verdict);
        verdict
    }

    /// Counts the outcome of `packet` after it waited `wait` for the link.
    #[inline(always)]
    pub(crate) fn count(&mut self, wait: Dur, packet: &Packet, verdict: Verdict) {
        match verdict {
            Verdict::Deliver(departure) | Verdict::Mark(departure) => {
                self.stats.marks += u64::from(matches!(verdict, Verdict::Mark(_)));
                self.last_departure = departure;
                self.stats.served.0 += packet.bytes.0;
                self.stats.wait.record(wait);
            }
            Verdict::Drop => self.stats.drops += 1,
        }
    }
}
