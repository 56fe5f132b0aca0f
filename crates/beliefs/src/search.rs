//! Finds all link rates that are consistent with a record.
//!
//! At a rate C, the record bounds the propagation RTT by F(C) from above, and by M(C) minus the jitter from below
//! ([`Slice`]), so the jitter is at least M(C) - F(C). F and M increase with C, because a faster link delivers no
//! packet later. Between two rates a < b, therefore, every rate needs a jitter of at least M(a) - F(b). A *cell* is the
//! range between two evaluated rates that are neighbors. Cells in which this bound is too large are not searched; the
//! other cells are halved until they are narrow. This finds the true rate even if the required jitter is small only in
//! a range of rates as narrow as one packet in a flow's whole record.

use crate::packet::Packet;
use crate::slice::{Slice, slice};

/// Number of rates of the initial grid, in constant ratios.
const GRID: usize = 64;
/// Maximum number of slices of the grid and of the search for the simplest slice; each slice is a pass over the
/// packets.
const SIMPLEST_LOOKS: usize = 512;
/// Maximum number of further slices at each end of the set, so that an end is found even after a long search for the
/// simplest slice.
const END_LOOKS: usize = 128;
/// Cells narrower than this fraction of their rate are not halved.
const NARROW: f64 = 1e-10;
/// Maximum relative width of a cell at the ends of the set.
const NARROW_END: f64 = 1e-5;
/// Relative tolerance of the minimum jitter.
const NEAR: f64 = 1e-4;
/// Absolute tolerance of the minimum jitter, ns.
const NEAR_NS: f64 = 1.0;

/// The rates evaluated so far in a range.
#[derive(Debug)]
pub(crate) struct Search<'a> {
    packets: &'a [Packet],
    /// Slices by increasing rate.
    slices: Vec<Slice>,
}

/// The end of the set that is searched for.
#[derive(Clone, Copy, Debug)]
enum Side {
    Low,
    High,
}

impl<'a> Search<'a> {
    /// Starts a search between two rates in bytes/s; `None` if no packet was delivered.
    pub(crate) fn new(packets: &'a [Packet], least: f64, most: f64) -> Option<Search<'a>> {
        let step = (most / least).powf(1.0 / GRID as f64);
        let slices: Option<Vec<Slice>> = (0..=GRID).map(|i| slice(packets, least * step.powi(i as i32))).collect();
        slices.map(|slices| Search { packets, slices })
    }

    /// Returns the slice of minimum jitter; `None` if no rate explains the deliveries.
    pub(crate) fn simplest(&mut self) -> Option<Slice> {
        loop {
            let possible = self.slices.iter().filter(|s| s.rtprop_max_ns >= 0.0);
            let best = possible.min_by(|a, b| a.jitter_min_ns().total_cmp(&b.jitter_min_ns())).copied()?;
            let enough = best.jitter_min_ns() - NEAR_NS.max(NEAR * best.jitter_min_ns());
            let cells = (1..self.slices.len()).filter(|&i| self.is_wide(i, NARROW) && self.is_open(i, enough));
            let next = cells.min_by(|&i, &j| self.min_of(i).total_cmp(&self.min_of(j)));
            let next = next.filter(|_| self.slices.len() < SIMPLEST_LOOKS);
            if !next.is_some_and(|cell| self.halve(cell)) {
                return Some(best);
            }
        }
    }

    /// Returns all slices found that are possible with a jitter of `most` ns, including the ends of the set, and
    /// whether the set has an upper end. No possible rate lies outside the set, up to the width at which cells are no
    /// longer halved.
    pub(crate) fn within(&mut self, most: f64) -> (Vec<Slice>, bool) {
        self.within_looks(most, END_LOOKS)
    }

    /// Like [`Search::within`], with at most `looks` evaluations for each end. If they do not suffice, the outer slice
    /// of the last open cell is returned as the end. The set returned may then be too large, never too small.
    fn within_looks(&mut self, most: f64, looks: usize) -> (Vec<Slice>, bool) {
        let low = self.find_end(most, Side::Low, looks);
        let high = self.find_end(most, Side::High, looks);
        let is_end = |s: &Slice| [low, high].into_iter().flatten().any(|rate| rate == s.rate_bytes_per_s);
        let is_bounded = self.slices.last().is_some_and(|s| !s.is_possible(most));
        (self.slices.iter().copied().filter(|s| is_end(s) || s.is_possible(most)).collect(), is_bounded)
    }

    /// Halves cells, starting at one end of the range, until no cell outside the first possible slice is open. If a
    /// cell is still open after `looks` evaluations, returns that cell's outer rate.
    fn find_end(&mut self, most: f64, side: Side, looks: usize) -> Option<f64> {
        let enough = self.slices.len() + looks;
        loop {
            let n = self.slices.len();
            let end = match side {
                Side::Low => (0..n).find(|&i| self.slices[i].is_possible(most)),
                Side::High => (0..n).rev().find(|&i| self.slices[i].is_possible(most)),
            };
            let end = end?;
            let is_next = |cell: &usize| self.is_wide(*cell, NARROW_END) && self.is_open(*cell, most);
            let (next, outer) = match side {
                Side::Low => {
                    let cell = (1..=end).find(is_next)?;
                    (cell, cell - 1)
                }
                Side::High => {
                    let cell = (end + 1..n).rev().find(is_next)?;
                    (cell, cell)
                }
            };
            if n >= enough || !self.halve(next) {
                return Some(self.slices[outer].rate_bytes_per_s);
            }
        }
    }

    /// Lower bound on the jitter of all rates in the cell below slice `i`, ns.
    fn min_of(&self, i: usize) -> f64 {
        (self.slices[i - 1].delay_max_ns - self.slices[i].rtprop_max_ns).max(0.0)
    }

    /// Whether a rate in the cell below slice `i` may be possible with a jitter of `most` ns.
    fn is_open(&self, i: usize, most: f64) -> bool {
        self.slices[i].rtprop_max_ns >= 0.0 && self.min_of(i) <= most
    }

    fn is_wide(&self, i: usize, narrow: f64) -> bool {
        self.slices[i].rate_bytes_per_s > self.slices[i - 1].rate_bytes_per_s * (1.0 + narrow)
    }

    /// Evaluates the middle of the cell below slice `i`; false if no packet was delivered.
    fn halve(&mut self, i: usize) -> bool {
        let middle = (self.slices[i - 1].rate_bytes_per_s * self.slices[i].rate_bytes_per_s).sqrt();
        match slice(self.packets, middle) {
            Some(slice) => {
                self.slices.insert(i, slice);
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::testing::{paths, play};
    use proptest::prelude::*;

    /// 4000 packets during which the queue is never empty: at a rate that is wrong by a thousandth, the last packet is
    /// 4 packets late.
    #[test]
    fn a_dip_far_narrower_than_the_grid_is_found() {
        let rate = 1_337_500.0;
        let sends: Vec<(u64, u32, u64)> = (0..4000).map(|i| (1_100_000 + i % 7 * 1000, 1500, 0)).collect();
        let path = play(rate, 30_000_000, 1, 1e9, &sends);
        let mut search = Search::new(&path.packets, 1e5, 1.5e9).expect("delivered");
        let simplest = search.simplest().expect("possible");
        assert!((simplest.rate_bytes_per_s / rate - 1.0).abs() < 1e-4, "{simplest:?}");
        assert!(simplest.jitter_min_ns() < 1e5, "{simplest:?}");
        let (inside, is_bounded) = search.within(1e6);
        let (low, high) = (inside[0].rate_bytes_per_s, inside[inside.len() - 1].rate_bytes_per_s);
        assert!(is_bounded && 0.999 * rate < low && low <= rate && rate <= high && high < 1.001 * rate, "{low} {high}");
    }

    proptest! {
        /// With any limit on evaluations, the true rate is inside the set.
        #[test]
        fn looks_that_run_out_widen_the_set(path in paths(), looks in 0usize..20) {
            let d = path.jitter as f64 + 4.0;
            let Some(mut search) = Search::new(&path.packets, path.rate / 30.0, path.rate * 70.0) else { return Ok(()) };
            let (inside, _) = search.within_looks(d, looks);
            let (Some(first), Some(last)) = (inside.first(), inside.last()) else { return Ok(()) };
            prop_assert!(first.rate_bytes_per_s <= path.rate * 1.0001, "{first:?}");
            prop_assert!(last.rate_bytes_per_s >= path.rate * 0.9999, "{last:?}");
        }
    }

    #[test]
    fn a_flow_that_never_waits_bounds_no_rate_from_above() {
        let sends: Vec<(u64, u32, u64)> = (0..100).map(|_| (10_000_000, 1500, 0)).collect();
        let path = play(1e6, 20_000_000, 1, 1e9, &sends);
        let mut search = Search::new(&path.packets, 1e4, 1.5e9).expect("delivered");
        let simplest = search.simplest().expect("possible");
        let (_, is_bounded) = search.within(simplest.jitter_min_ns() + 2e6);
        assert!(!is_bounded);
    }
}
