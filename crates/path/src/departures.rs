//! The packets that a link has in hand, by departure time: how much is still inside?

use crate::Backlog;
use fairweir_units::{Bytes, Time};
use std::hint::select_unpredictable;

/// Departure times and sizes in order of time, in a ring.
///
/// Packets that have left are taken out in passing, two at each arrival and without a branch: whether the oldest has
/// left is a coin toss that no branch predictor guesses. What is left over is an upper bound, which nearly always
/// decides; the exact count costs a loop.
#[derive(Clone, Debug)]
pub(crate) struct Departures {
    /// A power of two of them.
    ring: Box<[Entry]>,
    /// The oldest, and one past the newest; modulo the ring's length.
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

    /// What has not left by `now`.
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

    /// At least what has not left by `now`; exact if called at every arrival and few packets leave in between.
    #[inline]
    pub(crate) fn inside_at_most(&mut self, now: Time) -> Backlog {
        let (mut head, Backlog { mut bytes, mut packets }) = (self.head, self.inside);
        for _ in 0..2 {
            let oldest = self.ring[head & (self.ring.len() - 1)];
            let has_left = (head != self.tail) & (oldest.at <= now);
            head += select_unpredictable(has_left, 1, 0);
            packets -= select_unpredictable(has_left, 1, 0);
            bytes.0 -= select_unpredictable(has_left, oldest.bytes.0, 0);
        }
        (self.head, self.inside) = (head, Backlog { bytes, packets });
        self.inside
    }

    #[inline]
    pub(crate) fn push(&mut self, at: Time, bytes: Bytes) {
        if self.tail - self.head == self.ring.len() {
            self.grow();
        }
        let slot = self.tail & (self.ring.len() - 1);
        self.ring[slot] = Entry { at, bytes };
        self.tail += 1;
        self.inside.add(bytes);
    }

    #[cold]
    fn grow(&mut self) {
        let len = self.ring.len();
        let mut ring = vec![Entry::default(); 2 * len].into_boxed_slice();
        for i in 0..len {
            ring[i] = self.ring[(self.head + i) & (len - 1)];
        }
        (self.ring, self.head, self.tail) = (ring, 0, len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> Time {
        Time::from_nanos(ns)
    }

    #[test]
    fn counts_exactly_when_asked_to_and_catches_up_by_two() {
        let mut departures = Departures::new();
        for ns in 1..=10 {
            departures.push(at(ns), Bytes(ns));
        }
        assert_eq!(departures.inside_at_most(at(5)), Backlog { bytes: Bytes(55 - 1 - 2), packets: 8 });
        assert_eq!(departures.inside_at_most(at(5)), Backlog { bytes: Bytes(55 - 10), packets: 6 });
        assert_eq!(departures.inside(at(5)), Backlog { bytes: Bytes(55 - 15), packets: 5 });
        assert_eq!(departures.inside_at_most(at(5)), Backlog { bytes: Bytes(55 - 15), packets: 5 });
        assert_eq!(departures.inside(at(10)), Backlog::default());
        assert_eq!(departures.inside_at_most(at(99)), Backlog::default());
    }

    #[test]
    fn the_ring_grows_wherever_its_ends_are() {
        let mut departures = Departures::new();
        let mut pushed = 0;
        let mut push = |departures: &mut Departures, n| {
            for _ in 0..n {
                pushed += 1;
                departures.push(at(pushed), Bytes(1));
            }
        };
        push(&mut departures, 50);
        departures.inside(at(40));
        push(&mut departures, 1000);
        for now in 40..=1050 {
            assert_eq!(departures.inside(at(now)).packets, 1050 - now);
        }
    }
}
