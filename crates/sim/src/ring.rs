//! A FIFO of plain records in one power-of-two allocation.

/// Records of the first allocation.
const FIRST_SLOTS: usize = 16;

/// A FIFO of plain records that grows by doubling and never shrinks. The index of a push or pop is one masked addition.
/// Many flows never use some of their rings, so an empty ring has no memory.
#[derive(Debug)]
pub(crate) struct Ring<T> {
    slots: Box<[T]>,
    head: usize,
    tail: usize,
}

impl<T: Copy + Default> Ring<T> {
    /// Creates an empty ring.
    pub(crate) fn new() -> Ring<T> {
        Ring { slots: Box::default(), head: 0, tail: 0 }
    }

    /// Returns whether the ring is empty.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    /// Returns the number of records.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.tail - self.head
    }

    /// Returns the oldest record.
    #[inline]
    pub(crate) fn front(&self) -> Option<&T> {
        if self.is_empty() { None } else { Some(&self.slots[self.head & (self.slots.len() - 1)]) }
    }

    /// Returns the newest record.
    #[inline]
    pub(crate) fn back(&self) -> Option<&T> {
        if self.is_empty() { None } else { Some(&self.slots[(self.tail - 1) & (self.slots.len() - 1)]) }
    }

    /// Inserts `value` before all newer records that it `precedes`. If there are more than `most` such records, does
    /// nothing and returns `false`.
    pub(crate) fn insert_sorted(&mut self, value: T, precedes: impl Fn(&T) -> bool, most: usize) -> bool {
        let mask = self.slots.len().wrapping_sub(1);
        let newer =
            (0..self.len()).take_while(|i| precedes(&self.slots[(self.tail - 1 - i) & mask])).take(most + 1).count();
        if newer > most {
            return false;
        }
        self.push(value);
        let mask = self.slots.len() - 1;
        for i in 1..=newer {
            self.slots.swap((self.tail - i) & mask, (self.tail - i - 1) & mask);
        }
        true
    }

    /// Returns the records from the oldest to the newest.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        (self.head..self.tail).map(|i| &self.slots[i & (self.slots.len() - 1)])
    }

    /// Removes all records.
    pub(crate) fn clear(&mut self) {
        (self.head, self.tail) = (0, 0);
    }

    /// Adds the newest record.
    #[inline]
    pub(crate) fn push(&mut self, value: T) {
        if self.len() == self.slots.len() {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        self.slots[self.tail & mask] = value;
        self.tail += 1;
    }

    /// Removes and returns the oldest record.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<T> {
        self.pop_if(|_| true)
    }

    /// Removes and returns the oldest record if `is_due` is true for it.
    #[inline]
    pub(crate) fn pop_if(&mut self, is_due: impl FnOnce(&T) -> bool) -> Option<T> {
        let value = *self.front().filter(|value| is_due(value))?;
        self.head += 1;
        Some(value)
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let old = self.slots.len();
        let new = (old * 2).max(FIRST_SLOTS);
        let mut larger = vec![T::default(); new];
        for i in self.head..self.tail {
            larger[i & (new - 1)] = self.slots[i & (old - 1)];
        }
        self.slots = larger.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn a_ring_is_a_fifo(pushes in proptest::collection::vec(proptest::option::of(any::<u32>()), 0..300)) {
            let (mut ring, mut model) = (Ring::new(), VecDeque::new());
            for op in pushes {
                match op {
                    Some(v) => { ring.push(v); model.push_back(v); }
                    None => prop_assert_eq!(ring.pop(), model.pop_front()),
                }
                prop_assert_eq!(ring.len(), model.len());
                prop_assert_eq!(ring.front(), model.front());
            }
        }
    }
}
