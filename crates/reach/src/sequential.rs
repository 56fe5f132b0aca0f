//! Rounds in which flows measure and update one after another.

use crate::assumptions::Enclosed;
use crate::axis::Extent;
use crate::cells::{Cell, Cells};
use crate::interval::Interval;
use crate::map::{Map, Part};
use std::array;
use std::ops::Range;

/// The map of one update; each flow updates once per round, and the adversary chooses the next flow.
///
/// A state also contains the set of flows that have not yet updated in this round, so there is one copy of the cells
/// for each nonempty set. Copy `k` is for the set of the flows whose bits are set in `k + 1`. The last copy, with all
/// flows, is the start of a round.
#[derive(Debug, Clone)]
pub struct Sequential<const M: usize> {
    /// The cells of the state space.
    pub cells: Cells<M>,
    /// Constants and bounds on errors.
    pub assumed: Enclosed,
    /// Range of R / theta.
    pub rtprop: Interval,
}

impl<const M: usize> Sequential<M> {
    /// Number of copies of the cells.
    pub const COPIES: usize = (1 << (M + 1)) - 1;

    fn update(&self, cell: &Cell<M>, flow: usize, accept: &mut dyn FnMut(Range<usize>) -> bool) -> (bool, Extent) {
        let Cell { odds, nt } = *cell;
        let (first, last) = cell.shares();
        let share = if flow < M { first[flow] } else { last };
        let part = Part::new(&self.assumed, share, nt, self.rtprop);
        let (rows, mut extent) = self.cells.nt.cover(nt + part.gain());
        for row in rows {
            let Some(factor) = part.factor(self.cells.nt.cell(row) - nt, self.rtprop + nt) else { continue };
            let ranges = array::from_fn(|i| {
                let next = if flow == M {
                    odds[i] / factor
                } else if flow == i {
                    odds[i] * factor
                } else {
                    odds[i]
                };
                let (range, part_extent) = self.cells.odds.cover(next);
                extent = extent.and(part_extent);
                range
            });
            if !self.cells.runs(row, &ranges, accept) {
                return (false, extent);
            }
        }
        (true, extent)
    }
}

impl<const M: usize> Map for Sequential<M> {
    fn count(&self) -> usize {
        self.cells.count() * Self::COPIES
    }

    fn image(&self, number: usize, accept: &mut dyn FnMut(Range<usize>) -> bool) -> Extent {
        let copy = number / self.cells.count();
        let cell = self.cells.cell(number % self.cells.count());
        let mut extent = Extent::Inside;
        for flow in (0..=M).filter(|flow| (copy + 1) >> flow & 1 == 1) {
            let left = (copy + 1) & !(1 << flow);
            let next_copy = if left == 0 { Self::COPIES - 1 } else { left - 1 };
            let offset = next_copy * self.cells.count();
            let mut accept = |run: Range<usize>| accept(run.start + offset..run.end + offset);
            let (went_on, part_extent) = self.update(&cell, flow, &mut accept);
            extent = extent.and(part_extent);
            if !went_on {
                return Extent::Inside;
            }
        }
        extent
    }
}
