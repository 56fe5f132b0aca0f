//! A set of unwrapped sequence numbers, or of packet numbers, as ordered, disjoint intervals.

/// Ordered intervals `[start, end)`, neither overlapping nor adjacent. There are few intervals: one more than there are
/// holes in the received data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Intervals {
    intervals: Vec<(u64, u64)>,
}

impl Intervals {
    /// Creates an empty set.
    pub fn new() -> Intervals {
        Intervals::default()
    }

    /// Adds `[start, end)` and calls `on_new`, in order, for each part that was not in the set. Returns the interval
    /// that now contains `[start, end)`.
    pub fn insert(&mut self, start: u64, end: u64, mut on_new: impl FnMut(u64, u64)) -> (u64, u64) {
        let first = self.intervals.partition_point(|&(_, e)| e < start);
        let mut last = first;
        let mut covered = start;
        let (mut low, mut high) = (start, end);
        while let Some(&(s, e)) = self.intervals.get(last).filter(|&&(s, _)| s <= end) {
            if covered < s {
                on_new(covered, s);
            }
            covered = covered.max(e);
            (low, high) = (low.min(s), high.max(e));
            last += 1;
        }
        if covered < end {
            on_new(covered, end);
        }
        match self.intervals.get_mut(first) {
            // The common cases: one interval grows or does not change.
            Some(interval) if last == first + 1 => *interval = (low, high),
            _ => drop(self.intervals.splice(first..last, [(low, high)])),
        }
        (low, high)
    }

    /// Returns the interval that contains `number`.
    pub fn containing(&self, number: u64) -> Option<(u64, u64)> {
        let after = self.intervals.partition_point(|&(_, end)| end <= number);
        self.intervals.get(after).copied().filter(|&(start, _)| start <= number)
    }

    /// Removes everything below `end`.
    pub fn forget_below(&mut self, end: u64) {
        let gone = self.intervals.partition_point(|&(_, e)| e <= end);
        self.intervals.drain(..gone);
        if let Some((start, _)) = self.intervals.first_mut() {
            *start = (*start).max(end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn is_a_set(operations in proptest::collection::vec((0..60u64, 1..20u64, any::<bool>()), 1..60)) {
            let (mut set, mut model, mut floor) = (Intervals::new(), BTreeSet::new(), 0);
            for (start, length, forgets) in operations {
                if forgets && length < 3 {
                    floor = floor.max(start);
                    set.forget_below(floor);
                    model = model.split_off(&floor);
                    continue;
                }
                let (start, end) = (start.max(floor), start.max(floor) + length);
                let mut new = Vec::new();
                let whole = set.insert(start, end, |s, e| new.extend(s..e));
                prop_assert_eq!((set.containing(start), set.containing(end - 1)), (Some(whole), Some(whole)));
                let expected: Vec<u64> = (start..end).filter(|n| !model.contains(n)).collect();
                prop_assert_eq!(new, expected);
                model.extend(start..end);
                let members: Vec<u64> = set.intervals.iter().flat_map(|&(s, e)| s..e).collect();
                prop_assert_eq!(&members, &model.iter().copied().collect::<Vec<_>>());
                prop_assert!((0..90).all(|n| set.containing(n).is_some() == model.contains(&n)));
                prop_assert!(set.intervals.windows(2).all(|w| w[0].1 < w[1].0));
            }
        }
    }
}
