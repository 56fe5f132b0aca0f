//! The event queue: a tournament tree over streams whose events are already sorted.
//!
//! Packets have no entries here. The events of one flow at one place form a stream (its ACKs at the sender, its packets
//! at a hop). A stream is sorted by construction because paths do not reorder packets; the leaves of the tree contain
//! only the time of each stream's next event. When the earliest event (the winner of the tournament) is replaced, the
//! update costs one branch-free comparison per level.
//!
//! Events at the same nanosecond are ordered by [`Ties`].

use fairweir_path::{TieKey, Ties};
use fairweir_units::Time;
use std::hint::select_unpredictable;

/// Index of a stream of events in the tree; the flows are the first leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Leaf(pub(crate) usize);

/// The first event of the streams below a node.
#[derive(Clone, Copy, Debug)]
struct First {
    at: u64,
    /// Twice the leaf, plus one if the event is an ACK's arrival at a sender ([`Schedule::set_flow`]).
    leaf_and_is_ack: u64,
}

impl First {
    #[inline(always)]
    fn new(leaf: Leaf, at: Time, is_ack: bool) -> First {
        First { at: at.as_nanos(), leaf_and_is_ack: (leaf.0 as u64) << 1 | u64::from(is_ack) }
    }

    #[inline(always)]
    fn leaf(self) -> Leaf {
        Leaf((self.leaf_and_is_ack >> 1) as usize)
    }

    #[inline(always)]
    fn precedes(self, other: First, ties: &LeafTies) -> bool {
        if self.at == other.at { ties.won_by(self, other) } else { self.at < other.at }
    }
}

const NEVER: First = First { at: u64::MAX, leaf_and_is_ack: 0 };

#[derive(Debug)]
pub(crate) struct Schedule {
    /// `nodes[1]` is the root; `nodes[first_leaf + i]` is stream `i`.
    nodes: Vec<First>,
    first_leaf: usize,
    ties: LeafTies,
}

/// The order of simultaneous events at the leaves.
#[derive(Debug)]
struct LeafTies {
    order: Ties,
    /// Key of each leaf: the leaf's index, unless [`Schedule::set_tie_key`] has set another key.
    keys: Vec<TieKey>,
}

impl LeafTies {
    #[cold]
    #[inline(never)]
    fn won_by(&self, one: First, other: First) -> bool {
        let key = |first: First| {
            let tie = self.keys[first.leaf().0];
            (self.order.rank(tie, Time::from_nanos(first.at)), tie)
        };
        key(one) < key(other)
    }
}

impl Schedule {
    pub(crate) fn new(streams: usize, seed: u64) -> Schedule {
        let first_leaf = streams.max(2).next_power_of_two();
        let ties = LeafTies { order: Ties::new(seed), keys: (0..first_leaf as u32).map(TieKey).collect() };
        Schedule { nodes: vec![NEVER; 2 * first_leaf], first_leaf, ties }
    }

    /// Sets the tie key of `leaf`, so that the leaf's index does not affect the order.
    pub(crate) fn set_tie_key(&mut self, leaf: Leaf, tie: TieKey) {
        self.ties.keys[leaf.0] = tie;
    }

    /// Returns the time of the earliest event, its stream, and whether it is an ACK's arrival at a sender;
    /// [`Time::NEVER`] if there is none.
    #[inline]
    pub(crate) fn first(&self) -> (Time, Leaf, bool) {
        let first = self.nodes[1];
        (Time::from_nanos(first.at), first.leaf(), first.leaf_and_is_ack & 1 == 1)
    }

    /// [`Ties::rank`]
    #[inline]
    pub(crate) fn rank(&self, tie: TieKey, at: Time) -> u32 {
        self.ties.order.rank(tie, at)
    }

    /// Sets the time of `leaf`'s next event.
    #[inline]
    pub(crate) fn set(&mut self, leaf: Leaf, at: Time) {
        self.set_flow(leaf, at, false);
    }

    /// Like [`Schedule::set`], for a flow. Also stores whether the event is the arrival of an ACK, for
    /// [`Schedule::first`].
    #[inline]
    pub(crate) fn set_flow(&mut self, leaf: Leaf, at: Time, is_ack: bool) {
        let mut first = First::new(leaf, at, is_ack);
        let mut node = self.first_leaf + leaf.0;
        let nodes = self.nodes.as_mut_slice();
        // The mask does not change the index, but proves to the compiler that all indices are in bounds.
        let mask = nodes.len() - 1;
        nodes[node & mask] = first;
        while node > 1 {
            let rival = nodes[(node ^ 1) & mask];
            // The result is unpredictable: a branch here would be mispredicted at every second level. For 128-bit keys
            // that include the tie-break, the compiler emits a branch despite the hint.
            let rival_wins = rival.precedes(first, &self.ties);
            first.at = select_unpredictable(rival_wins, rival.at, first.at);
            first.leaf_and_is_ack = select_unpredictable(rival_wins, rival.leaf_and_is_ack, first.leaf_and_is_ack);
            node >>= 1;
            nodes[node & mask] = first;
        }
    }

    /// Moves `leaf`'s next event forward to `at`; does nothing if the leaf has an earlier event.
    #[inline]
    pub(crate) fn bring_forward(&mut self, leaf: Leaf, at: Time) {
        let first = First::new(leaf, at, false);
        let mut node = self.first_leaf + leaf.0;
        while node > 0 && first.precedes(self.nodes[node], &self.ties) {
            self.nodes[node] = first;
            node >>= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_is_the_earliest(streams in 1..40usize, seed: u64, ops in proptest::collection::vec((0..40usize, 0..50u64, any::<bool>()), 1..200)) {
            let mut schedule = Schedule::new(streams, seed);
            let mut model = vec![u64::MAX; streams];
            for (leaf, at, forward) in ops {
                let leaf = leaf % streams;
                if forward {
                    schedule.bring_forward(Leaf(leaf), Time::from_nanos(at));
                    model[leaf] = model[leaf].min(at);
                } else {
                    schedule.set(Leaf(leaf), Time::from_nanos(at));
                    model[leaf] = at;
                }
                let (first, winner, _) = schedule.first();
                prop_assert_eq!(first.as_nanos(), *model.iter().min().unwrap());
                prop_assert_eq!(model[winner.0], first.as_nanos());
            }
        }
    }

    #[test]
    fn ties_favour_no_stream() {
        let mut wins = [0u32; 2];
        for seed in 0..100 {
            let mut schedule = Schedule::new(2, seed);
            for t in 0..100 {
                schedule.set(Leaf(0), Time::from_nanos(t));
                schedule.set(Leaf(1), Time::from_nanos(t));
                wins[schedule.first().1.0] += 1;
            }
        }
        // 10,000 fair draws: five standard deviations are 250.
        assert!(wins[0].abs_diff(5_000) < 250, "{wins:?}");
    }
}
