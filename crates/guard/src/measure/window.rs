//! Sliding windows of several lengths over one ring of prefix sums, in O(1) time per packet.
//!
//! A window of length d at time t begins with the first stored packet that arrived at t - d or later. Its sums are over
//! the packets after that packet, up to the current one. The window is unknown if it has fewer than two packets.

use fairweir_units::{Dur, Time};
use std::collections::VecDeque;

/// Maximum number of packets stored. At the limit, every second packet is dropped, and from then on only every second
/// packet is stored. Windows may then begin one stored packet late, at most 1/1,024 of the longest window, and memory
/// stays bounded. When few packets are stored, every packet is stored again.
const MAX_KEPT: usize = 2048;
/// Maximum number of packets stored while the lengths of windows are unknown.
const MAX_KEPT_BEFORE: usize = 64;

/// Sums since the flow began, up to a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    pub(crate) at: Time,
    pub(crate) wire: u64,
    pub(crate) segs: u64,
    pub(crate) lost: u64,
    /// Sum of RTT samples, ns.
    pub(crate) rtt_sum: u64,
    pub(crate) rtts: u64,
}

/// Content of a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Time from its first packet to the current one.
    pub span: Dur,
    /// Bytes after the first packet, with headers.
    pub wire: u64,
    /// Segments after the first packet.
    pub segs: u64,
    /// Segments lost after the first packet.
    pub lost: u64,
    /// Mean of the RTT samples after the first packet, ns.
    pub rtt_ns: Option<f64>,
}

/// The ring, with a moving start for each window.
#[derive(Clone, Debug)]
pub(crate) struct Ring {
    kept: VecDeque<Sums>,
    starts: Vec<usize>,
    every: u64,
    seen: u64,
}

impl Ring {
    pub(crate) fn new(windows: usize) -> Ring {
        Ring { kept: VecDeque::new(), starts: vec![0; windows], every: 1, seen: 0 }
    }

    /// Adds the current packet. `lengths`: the lengths of the windows, longest first, if they are known.
    pub(crate) fn push(&mut self, sums: Sums, lengths: Option<impl Iterator<Item = Dur>>) {
        let most = if lengths.is_some() { MAX_KEPT } else { MAX_KEPT_BEFORE };
        if self.kept.len() >= most {
            self.thin();
        }
        self.seen += 1;
        if self.seen.is_multiple_of(self.every) {
            self.kept.push_back(sums);
        }
        for (start, length) in self.starts.iter_mut().zip(lengths.into_iter().flatten()) {
            while self.kept.get(*start).is_some_and(|first| first.at + length < sums.at) {
                *start += 1;
            }
        }
        // Packets that are no longer in any window.
        let unused = self.starts.first().copied().unwrap_or(self.kept.len());
        if unused > 0 {
            self.kept.drain(..unused);
            self.starts.iter_mut().for_each(|start| *start -= unused);
            self.relax();
        }
    }

    fn thin(&mut self) {
        let mut is_dropped = true;
        self.kept.retain(|_| {
            is_dropped = !is_dropped;
            !is_dropped
        });
        for start in &mut self.starts {
            *start = start.div_ceil(2);
        }
        self.every *= 2;
    }

    /// Stores a larger fraction of packets, or frees memory, when few are stored. The cost is amortized over the work
    /// that it undoes.
    fn relax(&mut self) {
        if self.every > 1 && self.kept.len() < MAX_KEPT / 4 {
            self.every /= 2;
        }
        if self.kept.capacity() > MAX_KEPT_BEFORE && self.kept.len() < self.kept.capacity() / 4 {
            self.kept.shrink_to(self.kept.capacity() / 2);
        }
    }

    /// Heap memory, bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.kept.capacity() * size_of::<Sums>() + self.starts.capacity() * size_of::<usize>()
    }

    /// Returns the window whose length was at `index`, ending with the packet of `now`.
    pub(crate) fn window(&self, index: usize, now: &Sums) -> Option<Window> {
        let first = self.kept.get(self.starts[index])?;
        let segs = now.segs - first.segs;
        let rtts = now.rtts - first.rtts;
        (segs > 0).then(|| Window {
            span: now.at.since(first.at),
            wire: now.wire - first.wire,
            segs,
            lost: now.lost - first.lost,
            rtt_ns: (rtts > 0).then(|| (now.rtt_sum - first.rtt_sum) as f64 / rtts as f64),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn as_the_plain_definition(gaps in proptest::collection::vec((0u64..30, 1u64..4, 0u64..2), 1..200), lengths in (1u64..40, 40u64..200)) {
            let lengths = [Dur::from_nanos(lengths.1), Dur::from_nanos(lengths.0)];
            let (mut ring, mut all, mut sums) = (Ring::new(2), Vec::new(), Sums::default());
            for (gap, segs, lost) in gaps {
                sums.at += Dur::from_nanos(gap);
                sums.segs += segs;
                sums.lost += lost;
                sums.wire += 100 * segs;
                all.push((sums.at, segs, lost));
                ring.push(sums, Some(lengths.into_iter()));
                for (i, length) in lengths.into_iter().enumerate() {
                    let within: Vec<_> = all.iter().filter(|(at, ..)| *at + length >= sums.at).collect();
                    let expected = (within.len() > 1).then(|| Window {
                        span: sums.at.since(within[0].0),
                        wire: within[1..].iter().map(|p| 100 * p.1).sum(),
                        segs: within[1..].iter().map(|p| p.1).sum(),
                        lost: within[1..].iter().map(|p| p.2).sum(),
                        rtt_ns: None,
                    });
                    prop_assert_eq!(ring.window(i, &sums), expected);
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

        /// Time would depend on the machine, so the test counts the entries visited.
        #[test]
        fn a_packet_costs_no_more_when_there_are_many(
            bursts in proptest::collection::vec((1u64..600, prop_oneof![Just(0u64), 1u64..100, 1_000u64..100_000]), 1..24),
            lengths in proptest::collection::vec((50_000u64..2_000_000, 1_000u64..50_000), 24),
        ) {
            let (mut ring, mut sums) = (Ring::new(2), Sums::default());
            let (mut packets, mut thinned, mut moves) = (0, 0, [0; 2]);
            for ((count, gap), (longest, shortest)) in bursts.into_iter().zip(lengths) {
                for _ in 0..count {
                    sums.at += Dur::from_nanos(gap);
                    sums.segs += 1;
                    let mut before = ring.clone();
                    if before.kept.len() >= MAX_KEPT {
                        thinned += before.kept.len();
                        before.thin();
                    }
                    ring.push(sums, Some([longest, shortest].map(Dur::from_nanos).into_iter()));
                    packets += 1;
                    let added = usize::from(ring.seen.is_multiple_of(before.every));
                    let gone = before.kept.len() + added - ring.kept.len();
                    for (window, moves) in moves.iter_mut().enumerate() {
                        *moves += ring.starts[window] + gone - before.starts[window];
                    }
                }
            }
            prop_assert!(moves.iter().all(|&moves| moves <= packets), "{moves:?} moves for {packets} packets");
            prop_assert!(thinned <= 2 * packets, "{thinned} entries thinned out for {packets} packets");
        }
    }

    #[test]
    fn memory_is_bounded_and_windows_stay_right_within_what_is_stored() {
        let (mut ring, mut sums) = (Ring::new(1), Sums::default());
        let length = Dur::from_secs(1);
        for _ in 0..200_000 {
            sums.at += Dur::from_micros(10);
            sums.segs += 1;
            ring.push(sums, Some(std::iter::once(length)));
            assert!(ring.kept.len() <= MAX_KEPT && ring.bytes() <= MAX_KEPT * size_of::<Sums>() + 8);
        }
        let window = ring.window(0, &sums).unwrap();
        assert!(window.segs.abs_diff(100_000) <= ring.every, "{window:?}, one in {}", ring.every);
        assert!(ring.every > 1);
        let full = ring.bytes();
        for _ in 0..20_000 {
            sums.at += Dur::from_millis(10);
            sums.segs += 1;
            ring.push(sums, Some(std::iter::once(length)));
        }
        assert_eq!((ring.every, ring.window(0, &sums).unwrap().segs), (1, 100), "every packet again");
        assert!(10 * ring.bytes() < full, "{} of {full}", ring.bytes());
    }

    #[test]
    fn without_a_length_few_are_stored_and_the_first_length_finds_some() {
        let (mut ring, mut sums) = (Ring::new(1), Sums::default());
        for _ in 0..10_000 {
            sums.at += Dur::from_millis(1);
            sums.segs += 1;
            ring.push(sums, None::<std::iter::Empty<Dur>>);
        }
        assert!(ring.bytes() <= 2 * MAX_KEPT_BEFORE * size_of::<Sums>());
        ring.push(sums, Some(std::iter::once(Dur::from_secs(5))));
        let window = ring.window(0, &sums).unwrap();
        assert!(window.segs.abs_diff(5_000) <= 2 * ring.every, "{window:?}, one in {}", ring.every);
    }
}
