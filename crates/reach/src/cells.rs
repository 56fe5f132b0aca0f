//! The states of n flows, divided into cells. `N_T` is the queueing delay in units of theta.

use crate::axis::Axis;
use crate::interval::Interval;
use std::array;
use std::ops::Range;

/// Cells of the state space for `M + 1` flows on a link. The coordinates of a state are M ratios ("odds"), which are
/// the rates of flows 1 to M divided by the last flow's rate, and `N_T`.
///
/// Cells are numbered row by row; a row contains the cells with one range of `N_T`. Inside a row the last ratio varies
/// fastest.
#[derive(Debug, Clone)]
pub struct Cells<const M: usize> {
    /// Axis of each of the M ratios.
    pub odds: Axis,
    /// Axis of `N_T`.
    pub nt: Axis,
}

/// A cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cell<const M: usize> {
    /// Ranges of the ratios of the rates of flows 1 to M to the last flow's rate.
    pub odds: [Interval; M],
    /// Range of `N_T`.
    pub nt: Interval,
}

impl<const M: usize> Cells<M> {
    /// Returns the number of cells in a row.
    pub fn row_len(&self) -> usize {
        self.odds.len().pow(M as u32)
    }

    /// Returns the number of cells.
    pub fn count(&self) -> usize {
        self.nt.len() * self.row_len()
    }

    /// Returns the cell with this number.
    pub fn cell(&self, number: usize) -> Cell<M> {
        let mut rest = number % self.row_len();
        let mut odds = [Interval::point(1.0); M];
        for u in odds.iter_mut().rev() {
            *u = self.odds.cell(rest % self.odds.len());
            rest /= self.odds.len();
        }
        Cell { odds, nt: self.nt.cell(number / self.row_len()) }
    }

    /// Passes the cells of a row whose ratios are in the given ranges to `accept`, as ranges of numbers, until it
    /// returns false.
    pub fn runs(&self, row: usize, odds: &[Range<usize>; M], accept: &mut dyn FnMut(Range<usize>) -> bool) -> bool {
        let last = &odds[M - 1];
        if odds.iter().any(|range| range.is_empty()) {
            return true;
        }
        let mut at: [usize; M] = array::from_fn(|i| odds[i].start);
        loop {
            let line = at[..M - 1].iter().fold(row, |line, k| line * self.odds.len() + k) * self.odds.len();
            if !accept(line + last.start..line + last.end) {
                return false;
            }
            // Advance to the next line: a counter whose digits are all ratios except the last.
            let Some(digit) = (0..M - 1).rev().find(|i| at[*i] + 1 < odds[*i].end) else { return true };
            at[digit] += 1;
            for i in digit + 1..M - 1 {
                at[i] = odds[i].start;
            }
        }
    }
}

impl<const M: usize> Cell<M> {
    /// Returns the shares of flows 1 to M and of the last flow.
    pub fn shares(&self) -> ([Interval; M], Interval) {
        let one = Interval::point(1.0);
        let last = one / self.odds.iter().fold(one, |sum, u| sum + *u);
        let first = array::from_fn(|i| {
            // u / (u + others) = 1 / (1 + others / u), in which each quantity occurs once, so that the interval is
            // tight.
            let others = self.odds.iter().enumerate().filter(|(j, _)| *j != i).fold(one, |sum, (_, u)| sum + *u);
            one / (one + others / self.odds[i])
        });
        (first, last)
    }

    /// Returns the maximum ratio of two flows' rates in the cell.
    pub fn worst_ratio(&self) -> f64 {
        let one = Interval::point(1.0);
        let rates = || self.odds.iter().copied().chain([one]).enumerate();
        let mut worst = 1.0_f64;
        for (i, a) in rates() {
            for (_, b) in rates().filter(|(j, _)| *j != i) {
                worst = worst.max((a / b).hi);
            }
        }
        worst
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cells() -> Cells<2> {
        Cells { odds: Axis::odds(0.5, 8.0), nt: Axis::graded(0.5, 4.0, |_| 0.5) }
    }

    #[test]
    fn runs_are_the_cells_of_the_box() {
        let cells = cells();
        let mut found = Vec::new();
        cells.runs(2, &[3..5, 4..7], &mut |run| {
            found.extend(run);
            true
        });
        let (row, first, last) = (cells.nt.cell(2), 3..5, 4..7);
        let inside = |number: &usize| {
            let cell = cells.cell(*number);
            cell.nt == row
                && first.clone().any(|k| cells.odds.cell(k) == cell.odds[0])
                && last.clone().any(|k| cells.odds.cell(k) == cell.odds[1])
        };
        assert_eq!(found, (0..cells.count()).filter(inside).collect::<Vec<_>>());
        assert_eq!(found.len(), 6);
    }

    #[test]
    fn no_runs_in_an_empty_box_and_none_after_a_refusal() {
        let cells = cells();
        assert!(cells.runs(0, &[1..1, 0..9], &mut |_| panic!("an empty box has no cells")));
        let mut calls = 0;
        let went_on = cells.runs(0, &[0..3, 0..3], &mut |_| {
            calls += 1;
            false
        });
        assert_eq!((went_on, calls), (false, 1));
    }

    proptest! {
        #[test]
        fn shares_and_ratios_enclose_those_of_points(number in 0..500_usize, at in prop::array::uniform2(0.0..=1.0_f64)) {
            let cells = cells();
            let cell = cells.cell(number % cells.count());
            let odds: Vec<f64> = cell.odds.iter().zip(at).map(|(u, at)| u.lo + (u.hi - u.lo) * at).collect();
            let sum = odds[0] + odds[1] + 1.0;
            let (first, last) = cell.shares();
            let inside = |interval: Interval, x: f64| interval.lo <= x * (1.0 + 1e-12) && x * (1.0 - 1e-12) <= interval.hi;
            prop_assert!(inside(first[0], odds[0] / sum) && inside(first[1], odds[1] / sum) && inside(last, 1.0 / sum));
            let (least, most) = (odds[0].min(odds[1]).min(1.0), odds[0].max(odds[1]).max(1.0));
            prop_assert!(most / least <= cell.worst_ratio() * (1.0 + 1e-12));
        }
    }
}
