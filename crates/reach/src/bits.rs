//! A set of cell numbers, as a bit set.

use std::ops::Range;

/// A set of integers from 0 to below a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bits {
    words: Vec<u64>,
    limit: usize,
}

impl Bits {
    /// Returns the empty set.
    pub fn empty(limit: usize) -> Self {
        Self { words: vec![0; limit.div_ceil(64)], limit }
    }

    /// Returns the set of all numbers below `limit`.
    pub fn full(limit: usize) -> Self {
        Self::empty(limit).complement()
    }

    /// Returns the set of the numbers below the limit that are not in this set.
    pub fn complement(mut self) -> Self {
        for word in &mut self.words {
            *word = !*word;
        }
        if let (Some(last), tail @ 1..) = (self.words.last_mut(), self.limit % 64) {
            *last &= (1 << tail) - 1;
        }
        self
    }

    /// Returns whether `i` is in the set.
    pub fn get(&self, i: usize) -> bool {
        self.words[i / 64] >> (i % 64) & 1 == 1
    }

    /// Adds `i`.
    pub fn set(&mut self, i: usize) {
        self.words[i / 64] |= 1 << (i % 64);
    }

    /// Removes `i`; returns whether it was in the set.
    pub fn clear(&mut self, i: usize) -> bool {
        let was_in = self.get(i);
        self.words[i / 64] &= !(1 << (i % 64));
        was_in
    }

    /// Returns the minimum member in a range.
    pub fn first(&self, range: Range<usize>) -> Option<usize> {
        let mut i = range.start;
        while i < range.end {
            let word = self.words[i / 64] >> (i % 64);
            if word != 0 {
                let found = i + word.trailing_zeros() as usize;
                return (found < range.end).then_some(found);
            }
            i = (i / 64 + 1) * 64;
        }
        None
    }

    /// Removes the members in a range and passes them to `each`, in ascending order.
    pub fn drain(&mut self, range: Range<usize>, mut each: impl FnMut(usize)) {
        let mut from = range.start;
        while let Some(i) = self.first(from..range.end) {
            self.clear(i);
            each(i);
            from = i + 1;
        }
    }

    /// Iterates over the members in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        let mut from = 0;
        std::iter::from_fn(move || {
            let found = self.first(from..self.limit)?;
            from = found + 1;
            Some(found)
        })
    }

    /// Returns the number of members.
    pub fn len(&self) -> usize {
        self.words.iter().map(|w| w.count_ones() as usize).sum()
    }

    /// Returns whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|w| *w == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::btree_set;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn as_a_set_of_numbers(members in btree_set(0..200_usize, 0..60), limit in 200..210_usize, a in 0..200_usize, b in 0..200_usize) {
            let mut bits = Bits::empty(limit);
            members.iter().for_each(|i| bits.set(*i));
            let (from, to) = (a.min(b), a.max(b));
            prop_assert_eq!(bits.iter().collect::<Vec<_>>(), members.iter().copied().collect::<Vec<_>>());
            prop_assert_eq!(bits.len(), members.len());
            prop_assert_eq!(bits.is_empty(), members.is_empty());
            prop_assert_eq!(bits.first(from..to), members.range(from..to).next().copied());
            prop_assert_eq!(bits.clone().complement().len(), limit - members.len());
            let mut drained = Vec::new();
            bits.drain(from..to, |i| drained.push(i));
            prop_assert_eq!(drained, members.range(from..to).copied().collect::<Vec<_>>());
            prop_assert_eq!(bits.first(from..to), None);
        }
    }
}
