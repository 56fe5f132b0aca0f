//! An axis: an interval divided into cells. The image of a cell is the set of states that can follow its states.

use crate::interval::Interval;
use std::ops::Range;

/// Whether cells cover the whole image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Cells cover the whole image, or `accept` ended the search.
    Inside,
    /// Part of the image is outside all cells.
    Beyond,
}

/// Cells between ascending borders; each cell contains both of its borders.
#[derive(Debug, Clone)]
pub struct Axis {
    borders: Vec<f64>,
}

impl Axis {
    /// Returns an axis with the given cell borders.
    ///
    /// # Panics
    ///
    /// If there are fewer than two borders, or they do not ascend.
    pub fn new(borders: Vec<f64>) -> Self {
        assert!(borders.len() >= 2 && borders.is_sorted_by(|a, b| a < b), "borders must ascend");
        Self { borders }
    }

    /// Returns an axis whose borders go from 1 in both directions by factors of `1 + step`, until `limit` is passed; 1
    /// is inside the middle cell.
    pub fn odds(step: f64, limit: f64) -> Self {
        let mut above = vec![1.0 + step / 2.0];
        while let Some(last) = above.last().filter(|x| **x < limit) {
            above.push(last * (1.0 + step));
        }
        let below = above.iter().rev().map(|x| 1.0 / x);
        Self::new(below.chain(above.iter().copied()).collect())
    }

    /// Returns an axis from `lo` in increments that `step` returns for each border, until `hi` is passed.
    pub fn graded(lo: f64, hi: f64, step: impl Fn(f64) -> f64) -> Self {
        let mut borders = vec![lo];
        while let Some(last) = borders.last().filter(|x| **x < hi) {
            borders.push(last + step(*last));
        }
        Self::new(borders)
    }

    /// Returns the borders in ascending order.
    pub fn borders(&self) -> &[f64] {
        &self.borders
    }

    /// Returns the number of cells.
    pub fn len(&self) -> usize {
        self.borders.len() - 1
    }

    /// Returns false, because every axis has cells.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Returns cell `k`.
    pub fn cell(&self, k: usize) -> Interval {
        Interval { lo: self.borders[k], hi: self.borders[k + 1] }
    }

    /// Returns the whole range of the axis.
    pub fn span(&self) -> Interval {
        Interval { lo: self.borders[0], hi: self.borders[self.len()] }
    }

    /// Returns the cells that cover `x`, and whether they cover all of it.
    pub fn cover(&self, x: Interval) -> (Range<usize>, Extent) {
        let span = self.span();
        let extent = if span.lo <= x.lo && x.hi <= span.hi { Extent::Inside } else { Extent::Beyond };
        if x.hi < span.lo || span.hi < x.lo {
            return (0..0, extent);
        }
        // The last cell that starts at or below x.lo, and the first that ends at or above x.hi.
        let first = self.borders.partition_point(|b| *b <= x.lo).saturating_sub(1).min(self.len() - 1);
        let end = self.borders.partition_point(|b| *b < x.hi).min(self.len());
        (first..end.max(first + 1), extent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_is_inside_a_cell_of_odds_and_the_limit_is_covered() {
        let axis = Axis::odds(0.1, 8.0);
        let (cells, extent) = axis.cover(Interval::point(1.0));
        let cell = axis.cell(cells.start);
        assert_eq!((cells.len(), extent), (1, Extent::Inside));
        assert!(cell.lo < 1.0 && 1.0 < cell.hi);
        assert!(axis.span().lo <= 1.0 / 8.0 && axis.span().hi >= 8.0);
    }

    #[test]
    fn images_beyond_all_cells_are_reported() {
        let axis = Axis::new(vec![1.0, 2.0, 3.0]);
        assert_eq!(axis.cover(Interval::new(1.5, 3.0)), (0..2, Extent::Inside));
        assert_eq!(axis.cover(Interval::new(0.5, 1.5)), (0..1, Extent::Beyond));
        assert_eq!(axis.cover(Interval::new(2.5, 3.5)), (1..2, Extent::Beyond));
        assert_eq!(axis.cover(Interval::new(4.0, 5.0)), (0..0, Extent::Beyond));
        assert_eq!(axis.cover(Interval::point(2.0)), (1..2, Extent::Inside));
        assert_eq!(axis.cover(Interval::point(3.0)), (1..2, Extent::Inside));
    }

    proptest! {
        #[test]
        fn covers_leave_no_gap(lo in 0.3..9.0_f64, width in 0.0..2.0_f64, at in 0.0..=1.0_f64) {
            let axis = Axis::graded(0.25, 12.0, |x| 0.1 * x);
            let (cells, extent) = axis.cover(Interval::new(lo, lo + width));
            let x = (lo + width * at).min(lo + width);
            prop_assert_eq!(extent, Extent::Inside);
            prop_assert!(cells.clone().any(|k| axis.cell(k).contains(x)));
            // Each returned cell intersects the interval.
            prop_assert!(axis.cell(cells.start).hi > lo && axis.cell(cells.end - 1).lo <= lo + width);
        }
    }
}
