//! The event queue: a tournament tree over streams whose own events are already in order.
//!
//! A packet costs no entry here. Everything that happens to one flow at one place is a stream (its ACKs at the sender,
//! its packets at a hop), sorted by construction because paths do not reorder; the tree holds only the time of each
//! stream's head. Replacing the winner costs one comparison a level, without branches.
//!
//! Events at the same nanosecond are ordered by a hash of (seed, stream, time): a fixed order, by flow number or by
//! insertion, lets one of two synchronised senders win every tie and manufactures starvation.

use fairweir_units::Time;
use std::hint::select_unpredictable;

/// A stream's place in the tree.
pub(crate) type Leaf = usize;

/// Odd constants with well-mixed bits (the golden ratio's and its relatives, as in SplitMix64).
const MIX: u64 = 0x9E37_79B9_7F4A_7C15;
const MIX_LEAF: u64 = 0xBF58_476D_1CE4_E5B9;

/// The first event of the streams below a node.
#[derive(Clone, Copy, Debug)]
struct First {
    at: u64,
    /// Twice the leaf, plus one if the event is of the kind that [`Schedule::set_kind`] was told.
    leaf_and_kind: u64,
}

impl First {
    #[inline(always)]
    fn new(leaf: Leaf, at: Time, kind: bool) -> First {
        First { at: at.as_nanos(), leaf_and_kind: (leaf as u64) << 1 | u64::from(kind) }
    }

    #[inline(always)]
    fn leaf(self) -> Leaf {
        (self.leaf_and_kind >> 1) as Leaf
    }

    #[inline(always)]
    fn precedes(self, other: First, seed: u64) -> bool {
        if self.at == other.at { self.wins_tie(other, seed) } else { self.at < other.at }
    }

    #[cold]
    #[inline(never)]
    fn wins_tie(self, other: First, seed: u64) -> bool {
        let key = |first: First| (tie(seed, first.leaf(), first.at), first.leaf());
        key(self) < key(other)
    }
}

const NEVER: First = First { at: u64::MAX, leaf_and_kind: 0 };

#[derive(Debug)]
pub(crate) struct Schedule {
    /// `nodes[1]` is the root, `nodes[first_leaf + i]` stream `i`.
    nodes: Vec<First>,
    first_leaf: usize,
    seed: u64,
}

impl Schedule {
    pub(crate) fn new(streams: usize, seed: u64) -> Schedule {
        let first_leaf = streams.max(2).next_power_of_two();
        Schedule { nodes: vec![NEVER; 2 * first_leaf], first_leaf, seed: seed.wrapping_mul(MIX) | 1 }
    }

    /// The stream with the earliest event, when, and of which kind; [`Time::NEVER`] if there is none.
    #[inline]
    pub(crate) fn first(&self) -> (Time, Leaf, bool) {
        let first = self.nodes[1];
        (Time::from_nanos(first.at), first.leaf(), first.leaf_and_kind & 1 == 1)
    }

    /// The order of stream `leaf` among events at `at`.
    #[inline]
    pub(crate) fn tie(&self, leaf: Leaf, at: Time) -> u32 {
        tie(self.seed, leaf, at.as_nanos())
    }

    /// Sets the time of `leaf`'s next event.
    #[inline]
    pub(crate) fn set(&mut self, leaf: Leaf, at: Time) {
        self.set_kind(leaf, at, false);
    }

    /// [`Schedule::set`], and one of two kinds of event: known here, it need not be looked up when the event comes.
    #[inline]
    pub(crate) fn set_kind(&mut self, leaf: Leaf, at: Time, kind: bool) {
        let mut first = First::new(leaf, at, kind);
        let mut node = self.first_leaf + leaf;
        let nodes = self.nodes.as_mut_slice();
        // Changes no index, but shows that all are in bounds.
        let mask = nodes.len() - 1;
        nodes[node & mask] = first;
        while node > 1 {
            let rival = nodes[(node ^ 1) & mask];
            // Either may win with no pattern to it: a branch here would be mispredicted at every other level. For 128-bit
            // keys, tie-break included, the compiler makes one in spite of the hint.
            let rival_wins = rival.precedes(first, self.seed);
            first.at = select_unpredictable(rival_wins, rival.at, first.at);
            first.leaf_and_kind = select_unpredictable(rival_wins, rival.leaf_and_kind, first.leaf_and_kind);
            node >>= 1;
            nodes[node & mask] = first;
        }
    }

    /// Brings `leaf`'s next event forward to `at`; does nothing if it has an earlier one.
    #[inline]
    pub(crate) fn bring_forward(&mut self, leaf: Leaf, at: Time) {
        let first = First::new(leaf, at, false);
        let mut node = self.first_leaf + leaf;
        while node > 0 && first.precedes(self.nodes[node], self.seed) {
            self.nodes[node] = first;
            node >>= 1;
        }
    }
}

#[inline]
fn tie(seed: u64, leaf: Leaf, at: u64) -> u32 {
    ((at ^ (leaf as u64).wrapping_mul(MIX_LEAF) ^ seed).wrapping_mul(MIX) >> 32) as u32
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
                    schedule.bring_forward(leaf, Time::from_nanos(at));
                    model[leaf] = model[leaf].min(at);
                } else {
                    schedule.set(leaf, Time::from_nanos(at));
                    model[leaf] = at;
                }
                let (first, winner, _) = schedule.first();
                prop_assert_eq!(first.as_nanos(), *model.iter().min().unwrap());
                prop_assert_eq!(model[winner], first.as_nanos());
            }
        }
    }

    #[test]
    fn ties_favour_no_stream() {
        let mut wins = [0u32; 2];
        for seed in 0..100 {
            let mut schedule = Schedule::new(2, seed);
            for t in 0..100 {
                schedule.set(0, Time::from_nanos(t));
                schedule.set(1, Time::from_nanos(t));
                wins[schedule.first().1] += 1;
            }
        }
        // 10,000 fair tosses: five standard deviations are 250.
        assert!(wins[0].abs_diff(5_000) < 250, "{wins:?}");
    }
}
