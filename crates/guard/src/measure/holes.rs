//! Losses, detected as holes in sequence space.
//!
//! A hole counts as lost when three segments after it have arrived (RFC 5348 §5.1), so small reordering is not a loss.
//! A hole filled before that is dropped.

use fairweir_tcp::sequence::distance;
use fairweir_units::Time;
use std::collections::VecDeque;

/// Number of segments after a hole that make it a loss.
const REORDERING: u32 = 3;
/// Maximum number of undecided holes. If another one appears, the oldest counts as lost.
const MAX_HOLES: usize = 8;
/// A larger step in sequence numbers is another stream or a forgery, not a loss; the state is reset.
const MAX_GAP: u32 = 1 << 28;

/// A hole that counts as lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revealed {
    /// Number of segments in the hole.
    pub segments: u64,
    /// Position of its first segment in sequence space.
    pub place: u64,
    /// Times of the arrivals before and after it.
    pub between: (Time, Time),
}

impl Revealed {
    /// Returns the expected arrival time of segment `i` of the hole, interpolated between the arrivals around it.
    pub fn at(&self, i: u64) -> Time {
        let (before, after) = self.between;
        before + after.since(before).mul_ratio(i + 1, self.segments + 1)
    }
}

#[derive(Clone, Copy, Debug)]
struct Hole {
    from: u32,
    to: u32,
    beyond: u32,
    loss: Revealed,
}

/// Detects holes in the sequence numbers of one direction.
#[derive(Clone, Debug, Default)]
pub struct Holes {
    next: Option<u32>,
    last_at: Time,
    mss: u32,
    place: u64,
    undecided: VecDeque<Hole>,
}

impl Holes {
    /// Processes data; calls `tell` for each hole that now counts as lost. `payload` is above zero.
    pub fn on_data(&mut self, seq: u32, payload: u32, segs: u32, now: Time, mut tell: impl FnMut(Revealed)) {
        self.mss = self.mss.max(payload.div_ceil(segs));
        let end = seq.wrapping_add(payload);
        let gap = self.next.map_or(0, |next| distance(next, seq));
        if self.next.is_none() || gap.unsigned_abs() > MAX_GAP {
            self.undecided.clear();
            self.next = Some(end);
            self.place += u64::from(segs);
        } else if gap >= 0 {
            for hole in &mut self.undecided {
                hole.beyond = hole.beyond.saturating_add(segs);
            }
            if gap > 0 {
                self.open(seq, gap as u32, segs, now, &mut tell);
            }
            self.next = Some(end);
            self.place += u64::from(segs);
        } else {
            self.fill(seq, end);
            if let Some(next) = self.next.filter(|next| distance(*next, end) > 0) {
                self.place += u64::from(end.wrapping_sub(next).div_ceil(self.mss));
                self.next = Some(end);
            }
        }
        self.last_at = now;
        while let Some(hole) = self.undecided.pop_front_if(|hole| hole.beyond >= REORDERING) {
            tell(hole.loss);
        }
    }

    fn open(&mut self, seq: u32, gap: u32, segs: u32, now: Time, tell: &mut impl FnMut(Revealed)) {
        let segments = u64::from((gap + self.mss / 2) / self.mss).max(1);
        let loss = Revealed { segments, place: self.place, between: (self.last_at, now) };
        self.place += segments;
        self.undecided.push_back(Hole { from: seq.wrapping_sub(gap), to: seq, beyond: segs, loss });
        if self.undecided.len() > MAX_HOLES
            && let Some(oldest) = self.undecided.pop_front()
        {
            tell(oldest.loss);
        }
    }

    fn fill(&mut self, seq: u32, end: u32) {
        for hole in &mut self.undecided {
            if distance(hole.from, seq) <= 0 && distance(hole.from, end) > 0 {
                hole.from = end;
            } else if distance(hole.to, end) >= 0 && distance(hole.to, seq) < 0 && distance(hole.from, seq) > 0 {
                hole.to = seq;
            }
            let left = distance(hole.from, hole.to).max(0) as u32;
            hole.loss.segments = hole.loss.segments.min(u64::from(left.div_ceil(self.mss)));
        }
        self.undecided.retain(|hole| hole.loss.segments > 0);
    }

    /// Heap memory, bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.undecided.capacity() * size_of::<Hole>()
    }

    /// Returns the number of segments up to the highest sequence number, arrived or not.
    pub fn place(&self) -> u64 {
        self.place
    }
    /// Returns the payload of the largest segment so far, bytes.
    pub fn mss(&self) -> u32 {
        self.mss
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(arrivals: &[(u32, u32, u32)]) -> (u64, u64) {
        let (mut holes, mut total) = (Holes::default(), 0);
        for &(seq, payload, segs) in arrivals {
            holes.on_data(seq, payload, segs, Time::ZERO, |loss| total += loss.segments);
        }
        (total, holes.place())
    }

    #[test]
    fn a_hole_counts_after_three_segments() {
        assert_eq!(lost(&[(0, 100, 1), (200, 100, 1), (300, 100, 1)]), (0, 4));
        assert_eq!(lost(&[(0, 100, 1), (200, 100, 1), (300, 100, 1), (400, 100, 1)]), (1, 5));
    }

    #[test]
    fn reordering_is_no_loss() {
        assert_eq!(lost(&[(0, 100, 1), (200, 100, 1), (100, 100, 1), (300, 300, 3)]), (0, 6));
    }

    #[test]
    fn super_packets_count_their_segments() {
        assert_eq!(lost(&[(0, 4_000, 40), (5_000, 4_000, 40)]), (10, 90));
    }

    #[test]
    fn sequence_numbers_wrap() {
        let base = u32::MAX - 150;
        let at = |i: u32| (base.wrapping_add(100 * i), 100, 1);
        assert_eq!(lost(&[at(0), at(3), at(4), at(5)]), (2, 6));
    }
}
