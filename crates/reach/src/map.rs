//! Images of cells after a round: the cells that contain all states that can follow. `N_T` is the queueing delay in
//! units of theta.

use crate::assumptions::Enclosed;
use crate::axis::Extent;
use crate::cells::{Cell, Cells};
use crate::interval::Interval;
use crate::update::{Step, step};
use std::array;
use std::ops::Range;

/// A map from cells to the cells that cover their images.
pub trait Map {
    /// Returns the number of cells.
    fn count(&self) -> usize;

    /// Passes ranges of cells that together cover the image of `cell` to `accept`, until it returns false.
    fn image(&self, cell: usize, accept: &mut dyn FnMut(Range<usize>) -> bool) -> Extent;
}

/// The map of a round in which all flows measure and then all flows update.
#[derive(Debug, Clone)]
pub struct Synchronous<const M: usize> {
    /// The cells of the state space.
    pub cells: Cells<M>,
    /// Constants and bounds on errors.
    pub assumed: Enclosed,
    /// Range of R / theta.
    pub rtprop: Interval,
}

/// A flow's contribution to a round.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    share: Interval,
    step: Step,
    gain: Interval,
}

impl Part {
    pub(crate) fn new(assumed: &Enclosed, share: Interval, nt: Interval, rtprop: Interval) -> Self {
        let step = step(assumed, share, nt, rtprop);
        Self { share, step, gain: share * step.change }
    }

    /// Returns the change of `N_T` that this flow causes.
    pub(crate) fn gain(&self) -> Interval {
        self.gain
    }

    /// Returns the change of `N_T` that this flow causes if its cwnd is multiplied by a number in `factor`.
    fn gain_by(&self, factor: Interval, rtt: Interval) -> Interval {
        let change = (factor - Interval::point(1.0)) * rtt;
        (self.share * change).meet(self.gain).unwrap_or(self.gain)
    }

    /// Returns the factors of cwnd with which the change of `N_T` that this flow causes is in `gain`.
    pub(crate) fn factor(&self, gain: Interval, rtt: Interval) -> Option<Interval> {
        let change = (gain / self.share).meet(self.step.change)?;
        (Interval::point(1.0) + change / rtt).meet(self.step.factor)
    }
}

impl<const M: usize> Synchronous<M> {
    /// Divides `factor` into parts about as wide as a cell. With two flows there is only one ratio, and one part
    /// suffices.
    fn slices(&self, factor: Interval) -> impl Iterator<Item = Interval> + use<M> {
        let first = self.cells.odds.cell(self.cells.odds.len() / 2);
        let width = (first.hi - first.lo) * factor.lo;
        let count = if M == 1 { 1 } else { ((factor.hi - factor.lo) / width).ceil().max(1.0) as usize };
        let border = move |k: usize| {
            let inner = factor.lo + (factor.hi - factor.lo) * (k as f64 / count as f64);
            if k == count { factor.hi } else { inner.clamp(factor.lo, factor.hi) }
        };
        (0..count).map(move |k| Interval::new(border(k), border(k + 1)))
    }
}

impl<const M: usize> Map for Synchronous<M> {
    fn count(&self) -> usize {
        self.cells.count()
    }

    fn image(&self, cell: usize, accept: &mut dyn FnMut(Range<usize>) -> bool) -> Extent {
        let cell @ Cell { odds, nt } = self.cells.cell(cell);
        let (first, last) = cell.shares();
        let first = first.map(|share| Part::new(&self.assumed, share, nt, self.rtprop));
        let last = Part::new(&self.assumed, last, nt, self.rtprop);
        let gains = first.iter().fold(Interval::point(0.0), |sum, part| sum + part.gain);
        let rtt = self.rtprop + nt;
        let (rows, mut extent) = self.cells.nt.cover(nt + (gains + last.gain));
        // The adversary cannot bring `N_T` to one end and every ratio to another end in the same round. Therefore each
        // row is examined separately, and within a row each part of the range of the last flow's factor, to which all
        // ratios refer.
        for row in rows {
            let target = self.cells.nt.cell(row) - nt;
            let Some(last_factor) = last.factor(target - gains, rtt) else { continue };
            for last_factor in self.slices(last_factor) {
                let last_gain = last.gain_by(last_factor, rtt);
                let within = |part: &Part| part.factor(target - gains.without(part.gain) - last_gain, rtt);
                let mut ranges = array::from_fn(|_| 0..0);
                for (i, part) in first.iter().enumerate() {
                    let Some(factor) = within(part) else { continue };
                    let next = match (part.step.pinned, last.step.pinned) {
                        (Some(a), Some(b)) if a == b => odds[i],
                        _ => odds[i] * (factor / last_factor),
                    };
                    let (range, part_extent) = self.cells.odds.cover(next);
                    ranges[i] = range;
                    extent = extent.and(part_extent);
                }
                // A range is empty if a flow cannot cause its part of the change.
                if !self.cells.runs(row, &ranges, accept) {
                    return Extent::Inside;
                }
            }
        }
        extent
    }
}

impl Extent {
    /// Returns `Beyond` if either extent is `Beyond`.
    pub fn and(self, other: Self) -> Self {
        if self == Self::Inside { other } else { self }
    }
}
