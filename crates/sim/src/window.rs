//! Records of a flow's packets in flight, indexed by packet number.

/// Records of the first allocation.
const FIRST_SLOTS: usize = 16;

/// Records of the packets `una..nxt`, indexed by packet number; without a packet it has no memory.
#[derive(Debug)]
pub(crate) struct Window<T> {
    slots: Box<[T]>,
}

impl<T: Copy + Default> Window<T> {
    pub(crate) fn new() -> Window<T> {
        Window { slots: Box::default() }
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

    /// Grows to hold packet `nxt` in addition to `una..nxt`.
    #[inline]
    pub(crate) fn reserve(&mut self, una: u64, nxt: u64) {
        if (nxt - una) as usize == self.slots.len() {
            self.grow(una, nxt);
        }
    }

    #[cold]
    fn grow(&mut self, una: u64, nxt: u64) {
        let old = self.slots.len();
        let new = (old * 2).max(FIRST_SLOTS);
        let mut larger = vec![T::default(); new];
        for seq in una..nxt {
            larger[seq as usize & (new - 1)] = self.slots[seq as usize & (old - 1)];
        }
        self.slots = larger.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
