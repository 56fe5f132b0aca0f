//! The packets in a link by departure time, with a count of those that have not left.

use crate::Backlog;
use fairweir_units::{Bytes, Time};

/// Departure times and sizes in order of time, in a ring.
///
/// Whether the oldest packet has left is unpredictable for the branch predictor, so this is not checked at each
/// arrival. Packets remain in the count until an exact count is needed, and are then removed in a batch. Until then the
/// count is an upper bound, which is almost always sufficient.
#[derive(Clone, Debug)]
pub(crate) struct Departures {
    /// The ring; its length is a power of two.
    ring: Box<[Entry]>,
    /// Indices of the oldest entry and one past the newest, modulo the ring's length.
    head: usize,
    tail: usize,
    inside: Backlog,
}

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    at: Time,
    bytes: Bytes,
}

impl Departures {
    pub(crate) fn new() -> Departures {
        let ring = vec![Entry::default(); 64].into_boxed_slice();
        Departures { ring, head: 0, tail: 0, inside: Backlog::default() }
    }

    /// Returns the exact count of packets that have not left by `now`.
    #[inline]
    pub(crate) fn inside(&mut self, now: Time) -> Backlog {
        while self.head != self.tail {
            let oldest = self.ring[self.head & (self.ring.len() - 1)];
            if oldest.at > now {
                break;
            }
            self.head += 1;
            self.inside.remove(oldest.bytes);
        }
        self.inside
    }

    /// All earlier packets have left, and a packet that arrives now will leave at `at`; the earlier ones need not be
    /// processed.
    #[inline]
    pub(crate) fn restart(&mut self, at: Time, bytes: Bytes) {
        self.ring[0] = Entry { at, bytes };
        (self.head, self.tail) = (0, 1);
        self.inside = Backlog { bytes, packets: 1 };
    }

    /// Returns an upper bound on the packets that have not left.
    #[inline]
    pub(crate) fn inside_at_most(&self) -> Backlog {
        self.inside
    }

    /// Adds a packet that arrived at `now` and will leave at `at`.
    #[inline]
    pub(crate) fn push(&mut self, now: Time, at: Time, bytes: Bytes) {
        if self.tail - self.head == self.ring.len() {
            self.make_room(now);
        }
        let slot = self.tail & (self.ring.len() - 1);
        self.ring[slot] = Entry { at, bytes };
        self.tail += 1;
        self.inside.bytes.0 += bytes.0;
        self.inside.packets += 1;
    }

    /// Removes packets that have left; doubles the ring if it is still mostly full.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, now: Time) {
        self.inside(now);
        if self.tail - self.head > self.ring.len() / 2 {
            self.grow();
        }
    }

    fn grow(&mut self) {
        let len = self.ring.len();
        let mut ring = vec![Entry::default(); 2 * len].into_boxed_slice();
        let held = self.tail - self.head;
        for (i, slot) in ring.iter_mut().take(held).enumerate() {
            *slot = self.ring[(self.head + i) & (len - 1)];
        }
        (self.ring, self.head, self.tail) = (ring, 0, held);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> Time {
        Time::from_nanos(ns)
    }

    #[test]
    fn counts_exactly_when_asked_to() {
        let mut departures = Departures::new();
        for ns in 1..=10 {
            departures.push(at(0), at(ns), Bytes(ns));
        }
        assert_eq!(departures.inside(at(5)), Backlog { bytes: Bytes(55 - 15), packets: 5 });
        assert_eq!(departures.inside_at_most(), Backlog { bytes: Bytes(55 - 15), packets: 5 });
        assert_eq!(departures.inside(at(10)), Backlog::default());
    }

    #[test]
    fn the_ring_grows_only_for_packets_that_are_inside() {
        let mut departures = Departures::new();
        for ns in 1..=1_000_000 {
            departures.push(at(ns), at(ns + 20), Bytes(1));
        }
        assert_eq!(departures.ring.len(), 64);
        for ns in 1..=1000 {
            departures.push(at(1_000_000), at(1_000_020 + ns), Bytes(1));
        }
        for now in 1..=1000 {
            assert_eq!(departures.inside(at(1_000_020 + now)).packets, 1000 - now);
        }
    }
}
