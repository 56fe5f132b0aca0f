//! The event queue: a tournament tree over streams whose events are already sorted.
//!
//! Packets have no entries here. The events of one flow at one place form a stream (its ACKs at the sender, its packets
//! at a hop), sorted by construction because paths do not reorder; the tree holds only the time of each stream's head.
//! Replacing the winner costs one branch-free comparison per level.
//!
//! Events at the same nanosecond are ordered by a hash of (seed, stream, time): a fixed order (by flow number or
//! insertion) would let one of two synchronised senders win every tie, an artefact that looks like starvation.

use fairweir_units::Time;
use std::hint::select_unpredictable;

/// Index of a stream in the tree.
pub(crate) type Leaf = usize;

/// Odd constants with well-mixed bits (from the golden ratio, as in SplitMix64).
const MIX: u64 = 0x9E37_79B9_7F4A_7C15;
const MIX_NAME: u64 = 0xBF58_476D_1CE4_E5B9;

/// The first event of the streams below a node.
#[derive(Clone, Copy, Debug)]
struct First {
    at: u64,
    /// Twice the leaf, plus one if the event is of the kind passed to [`Schedule::set_kind`].
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
    fn precedes(self, other: First, ties: &Ties) -> bool {
        if self.at == other.at { ties.won_by(self, other) } else { self.at < other.at }
    }
}

const NEVER: First = First { at: u64::MAX, leaf_and_kind: 0 };

#[derive(Debug)]
pub(crate) struct Schedule {
    /// `nodes[1]` is the root, `nodes[first_leaf + i]` stream `i`.
    nodes: Vec<First>,
    first_leaf: usize,
    ties: Ties,
}

/// The order of simultaneous events.
#[derive(Debug)]
struct Ties {
    seed: u64,
    /// Tie-break id of each leaf: the leaf itself unless it was renamed.
    names: Vec<u32>,
}

impl Ties {
    #[inline]
    fn rank(&self, name: u32, at: u64) -> u32 {
        ((at ^ u64::from(name).wrapping_mul(MIX_NAME) ^ self.seed).wrapping_mul(MIX) >> 32) as u32
    }

    #[cold]
    #[inline(never)]
    fn won_by(&self, one: First, other: First) -> bool {
        let key = |first: First| {
            let name = self.names[first.leaf()];
            (self.rank(name, first.at), name)
        };
        key(one) < key(other)
    }
}

impl Schedule {
    pub(crate) fn new(streams: usize, seed: u64) -> Schedule {
        let first_leaf = streams.max(2).next_power_of_two();
        let ties = Ties { seed: seed.wrapping_mul(MIX) | 1, names: (0..first_leaf as u32).collect() };
        Schedule { nodes: vec![NEVER; 2 * first_leaf], first_leaf, ties }
    }

    /// Sets the tie-break id of `leaf`, so that its index does not matter.
    pub(crate) fn rename(&mut self, leaf: Leaf, name: u32) {
        self.ties.names[leaf] = name;
    }

    /// Returns the stream with the earliest event, its time and its kind; [`Time::NEVER`] if there is none.
    #[inline]
    pub(crate) fn first(&self) -> (Time, Leaf, bool) {
        let first = self.nodes[1];
        (Time::from_nanos(first.at), first.leaf(), first.leaf_and_kind & 1 == 1)
    }

    /// Returns the rank of tie-break id `name` among events at `at`.
    #[inline]
    pub(crate) fn tie(&self, name: u32, at: Time) -> u32 {
        self.ties.rank(name, at.as_nanos())
    }

    /// Sets the time of `leaf`'s next event.
    #[inline]
    pub(crate) fn set(&mut self, leaf: Leaf, at: Time) {
        self.set_kind(leaf, at, false);
    }

    /// Like [`Schedule::set`], and stores the kind of the event, so that it need not be determined when the event
    /// occurs.
    #[inline]
    pub(crate) fn set_kind(&mut self, leaf: Leaf, at: Time, kind: bool) {
        let mut first = First::new(leaf, at, kind);
        let mut node = self.first_leaf + leaf;
        let nodes = self.nodes.as_mut_slice();
        // Does not change the index, but proves to the compiler that all are in bounds.
        let mask = nodes.len() - 1;
        nodes[node & mask] = first;
        while node > 1 {
            let rival = nodes[(node ^ 1) & mask];
            // Either may win, unpredictably: a branch here would be mispredicted at every other level. For 128-bit keys
            // including the tie-break the compiler emits one in spite of the hint.
            let rival_wins = rival.precedes(first, &self.ties);
            first.at = select_unpredictable(rival_wins, rival.at, first.at);
            first.leaf_and_kind = select_unpredictable(rival_wins, rival.leaf_and_kind, first.leaf_and_kind);
            node >>= 1;
            nodes[node & mask] = first;
        }
    }

    /// Moves `leaf`'s next event forward to `at`; does nothing if it has an earlier one.
    #[inline]
    pub(crate) fn bring_forward(&mut self, leaf: Leaf, at: Time) {
        let first = First::new(leaf, at, false);
        let mut node = self.first_leaf + leaf;
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
