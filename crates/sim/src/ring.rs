//! Power-of-two rings: a FIFO, and a window of records indexed by packet number.

/// A FIFO of plain records that grows by doubling.
#[derive(Debug)]
pub(crate) struct Ring<T> {
    slots: Vec<T>,
    head: usize,
    tail: usize,
}

impl<T: Copy + Default> Ring<T> {
    pub(crate) fn new() -> Ring<T> {
        Ring { slots: vec![T::default(); 16], head: 0, tail: 0 }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.tail - self.head
    }

    #[inline]
    pub(crate) fn front(&self) -> Option<&T> {
        if self.is_empty() { None } else { Some(&self.slots[self.head & (self.slots.len() - 1)]) }
    }

    #[inline]
    pub(crate) fn push(&mut self, value: T) {
        if self.len() == self.slots.len() {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        self.slots[self.tail & mask] = value;
        self.tail += 1;
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<T> {
        let value = *self.front()?;
        self.head += 1;
        Some(value)
    }

    #[cold]
    fn grow(&mut self) {
        let old = self.slots.len();
        let mut larger = vec![T::default(); old * 2];
        for i in self.head..self.tail {
            larger[i & (old * 2 - 1)] = self.slots[i & (old - 1)];
        }
        self.slots = larger;
    }
}

/// Records of the packets `una..nxt`, indexed by packet number.
#[derive(Debug)]
pub(crate) struct Window<T> {
    slots: Vec<T>,
}

impl<T: Copy + Default> Window<T> {
    pub(crate) fn new() -> Window<T> {
        Window { slots: vec![T::default(); 16] }
    }

    #[inline]
    pub(crate) fn get(&self, seq: u64) -> &T {
        &self.slots[seq as usize & (self.slots.len() - 1)]
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, seq: u64) -> &mut T {
        let mask = self.slots.len() - 1;
        &mut self.slots[seq as usize & mask]
    }

    /// Makes room for packet `nxt` while `una..nxt` are held.
    #[inline]
    pub(crate) fn reserve(&mut self, una: u64, nxt: u64) {
        if (nxt - una) as usize == self.slots.len() {
            self.grow(una, nxt);
        }
    }

    #[cold]
    fn grow(&mut self, una: u64, nxt: u64) {
        let old = self.slots.len();
        let mut larger = vec![T::default(); old * 2];
        for seq in una..nxt {
            larger[seq as usize & (old * 2 - 1)] = self.slots[seq as usize & (old - 1)];
        }
        self.slots = larger;
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

    #[test]
    fn a_window_keeps_its_records_when_it_grows() {
        let mut window = Window::new();
        for seq in 10..200u64 {
            window.reserve(10, seq);
            *window.get_mut(seq) = seq;
        }
        assert!((10..200).all(|seq| *window.get(seq) == seq));
    }
}
