//! The packets of all flows in transit to one shared hop, in the order of their arrival.
//!
//! A hop (a link with its queue) that decides on arrival computes a packet's departure time when the packet arrives,
//! and needs no event per packet: a packet at the hop affects other components only after some delay, and every packet
//! needs some minimum time to reach the hop. The hop therefore waits for its [`Timing::effect_delay`] and then
//! processes all packets that arrive within its [`Timing::lookahead`] in one batch.

use crate::item::{Item, StageId};
use crate::ring::Ring;
use crate::schedule::Leaf;
use fairweir_scenario::Timing;
use fairweir_units::Time;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Packets of flows with similar delays arrive almost in send order. If an insertion would move more entries than this,
/// the arrivals are stored in a heap from then on.
const DEEPEST_INSERTION: usize = 64;

/// A packet or an ACK in transit to a hop.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Arrival {
    pub(crate) item: Item,
    /// The stage (hop on a flow's lane) to which the packet belongs.
    pub(crate) stage: StageId,
    /// Order among simultaneous arrivals, from [`crate::schedule::Schedule::rank`].
    pub(crate) tie: u32,
}

impl Arrival {
    fn key(&self) -> (Time, u32) {
        (self.item.at, self.tie)
    }
}

/// The packets in transit to one hop.
#[derive(Debug)]
pub(crate) struct Arrivals {
    pub(crate) leaf: Leaf,
    pub(crate) timing: Timing,
    order: Order,
}

#[derive(Debug)]
enum Order {
    Sorted(Ring<Arrival>),
    Heap { heap: BinaryHeap<Reverse<Numbered>>, next: u64 },
}

/// An arrival in the heap. Simultaneous packets of one flow keep their order.
#[derive(Debug)]
struct Numbered(u64, Arrival);

impl Numbered {
    fn key(&self) -> (Time, u32, u64) {
        let (at, tie) = self.1.key();
        (at, tie, self.0)
    }
}

impl PartialEq for Numbered {
    fn eq(&self, other: &Numbered) -> bool {
        self.key() == other.key()
    }
}
impl Eq for Numbered {}
impl PartialOrd for Numbered {
    fn partial_cmp(&self, other: &Numbered) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Numbered {
    fn cmp(&self, other: &Numbered) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl Arrivals {
    pub(crate) fn new(leaf: Leaf, timing: Timing) -> Arrivals {
        Arrivals { leaf, timing, order: Order::Sorted(Ring::new()) }
    }

    /// Adds an arrival; returns `true` if it is now the earliest.
    #[inline(always)]
    pub(crate) fn insert(&mut self, arrival: Arrival) -> bool {
        match &mut self.order {
            Order::Sorted(ring) => match ring.back() {
                Some(last) if arrival.key() < last.key() => self.insert_before_others(arrival),
                last => {
                    let is_first = last.is_none();
                    ring.push(arrival);
                    is_first
                }
            },
            Order::Heap { .. } => self.insert_before_others(arrival),
        }
    }

    #[cold]
    #[inline(never)]
    fn insert_before_others(&mut self, arrival: Arrival) -> bool {
        if let Order::Sorted(ring) = &mut self.order {
            let is_first = ring.front().is_none_or(|first| arrival.key() < first.key());
            if ring.insert_sorted(arrival, |other| arrival.key() < other.key(), DEEPEST_INSERTION) {
                return is_first;
            }
            let mut next = 0;
            let number = |arrival| {
                next += 1;
                Reverse(Numbered(next, arrival))
            };
            let heap = std::iter::from_fn(|| ring.pop()).map(number).collect();
            self.order = Order::Heap { heap, next: next + 1 };
        }
        let Order::Heap { heap, next } = &mut self.order else { return false };
        let is_first = heap.peek().is_none_or(|Reverse(first)| arrival.key() < first.1.key());
        heap.push(Reverse(Numbered(*next, arrival)));
        *next += 1;
        is_first
    }

    /// Returns the arrival time of the first packet; [`Time::NEVER`] if no packet is in transit.
    #[inline]
    pub(crate) fn first_at(&self) -> Time {
        match &self.order {
            Order::Sorted(ring) => ring.front().map_or(Time::NEVER, |first| first.item.at),
            Order::Heap { heap, .. } => heap.peek().map_or(Time::NEVER, |Reverse(first)| first.1.item.at),
        }
    }

    /// Returns the time at which the hop must process its arrivals.
    #[inline]
    pub(crate) fn due(&self) -> Time {
        match self.first_at() {
            Time::NEVER => Time::NEVER,
            at => at + self.timing.effect_delay,
        }
    }

    /// Takes the first packet if it arrives before `limit`.
    #[inline(always)]
    pub(crate) fn pop_before(&mut self, limit: Time) -> Option<Arrival> {
        match &mut self.order {
            Order::Sorted(ring) => ring.pop_if(|first| first.item.at < limit),
            Order::Heap { heap, .. } => pop_heap_before(heap, limit),
        }
    }
}

#[inline(never)]
fn pop_heap_before(heap: &mut BinaryHeap<Reverse<Numbered>>, limit: Time) -> Option<Arrival> {
    if heap.peek()?.0.1.item.at >= limit {
        return None;
    }
    heap.pop().map(|Reverse(first)| first.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairweir_units::Dur;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn arrivals_leave_in_order_of_time_tie_and_insertion(
            times in proptest::collection::vec((0..400u64, 0..3u32), 1..400),
            step in 0..3u64,
        ) {
            let timing = Timing { lookahead: Dur::from_nanos(1), effect_delay: Dur::ZERO };
            let mut arrivals = Arrivals::new(Leaf(0), timing);
            let mut expected = Vec::new();
            for (tag, (at, tie)) in times.into_iter().enumerate() {
                // A large step keeps the order almost intact; a zero step makes it random, so that a heap takes over.
                let at = Time::from_nanos(at + tag as u64 * step * 100);
                let is_minimum = expected.iter().all(|&(t, i, _)| (at, tie) < (t, i));
                let mut arrival = Arrival { stage: StageId(tag as u32), tie, ..Arrival::default() };
                arrival.item.at = at;
                prop_assert_eq!(arrivals.insert(arrival), is_minimum);
                expected.push((at, tie, tag as u32));
            }
            expected.sort();
            for (at, tie, tag) in expected {
                prop_assert!(arrivals.pop_before(at).is_none());
                prop_assert_eq!(arrivals.first_at(), at);
                let got = arrivals.pop_before(Time::NEVER).unwrap();
                prop_assert_eq!((got.item.at, got.tie, got.stage.0), (at, tie, tag));
            }
            prop_assert_eq!(arrivals.due(), Time::NEVER);
        }
    }
}
