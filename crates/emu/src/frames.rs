//! Storage of the frames that are in the network; memory is reused.

use fairweir_scenario::relay::Frame;

/// Frames by slot number. The slot freed last is used next, because its memory is likely to be in the CPU's cache.
#[derive(Debug)]
pub(crate) struct Frames {
    slots: Vec<Slot>,
    free: Vec<Frame>,
    frame_bytes: usize,
}

#[derive(Debug)]
struct Slot {
    buffer: Box<[u8]>,
    length: usize,
}

impl Frames {
    /// Creates storage for frames of at most `frame_bytes`.
    pub(crate) fn new(frame_bytes: usize) -> Frames {
        Frames { slots: Vec::new(), free: Vec::new(), frame_bytes }
    }

    /// Returns a free slot for writing; pass it to [`Frames::keep`] or [`Frames::release`] afterwards.
    #[inline]
    pub(crate) fn take(&mut self) -> Frame {
        match self.free.pop() {
            Some(frame) => frame,
            None => self.grow(),
        }
    }

    #[cold]
    fn grow(&mut self) -> Frame {
        self.slots.push(Slot { buffer: vec![0; self.frame_bytes].into_boxed_slice(), length: 0 });
        (self.slots.len() - 1) as Frame
    }

    /// Returns the whole memory of a slot.
    #[inline]
    pub(crate) fn buffer(&mut self, frame: Frame) -> &mut [u8] {
        &mut self.slots[frame as usize].buffer
    }

    /// Records that the slot contains a frame of `length` bytes.
    #[inline]
    pub(crate) fn keep(&mut self, frame: Frame, length: usize) {
        self.slots[frame as usize].length = length;
    }

    /// Returns the frame in a slot.
    #[inline]
    pub(crate) fn get_mut(&mut self, frame: Frame) -> &mut [u8] {
        let slot = &mut self.slots[frame as usize];
        &mut slot.buffer[..slot.length]
    }

    /// Frees a slot.
    #[inline]
    pub(crate) fn release(&mut self, frame: Frame) {
        self.free.push(frame);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_used_again_once_it_is_free() {
        let mut frames = Frames::new(8);
        let (first, second) = (frames.take(), frames.take());
        assert_ne!(first, second);
        frames.buffer(first)[..3].copy_from_slice(b"abc");
        frames.keep(first, 3);
        frames.keep(second, 0);
        assert_eq!((frames.get_mut(first).to_vec(), frames.get_mut(second).len()), (b"abc".to_vec(), 0));
        frames.release(first);
        assert_eq!(frames.take(), first);
    }
}
