//! The theorem for one range of R / theta (propagation RTT divided by FRCC's unit of delay): a question, and its answer
//! by a set of cells. `N_T` is the queueing delay divided by theta.

use crate::assumptions::Assumptions;
use crate::attract::{NoAttraction, OnProgress, attract};
use crate::axis::Axis;
use crate::bits::Bits;
use crate::bounds::{Bounds, Unbounded};
use crate::cells::Cells;
use crate::exact::Ratio;
use crate::interval::Interval;
use crate::map::{Map, Synchronous};
use crate::schedule::Schedule;
use crate::sequential::Sequential;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The question: what is the maximum ratio of rates of `flows` flows in the long run, against any adversary?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// Constants and bounds on errors.
    pub assumptions: Assumptions,
    /// Schedule of updates.
    pub schedule: Schedule,
    /// Number of flows, 2 or 3.
    pub flows: usize,
    /// Minimum and maximum of R / theta.
    pub rtprop: (Ratio, Ratio),
    /// Relative width of a cell's range of a ratio.
    pub odds_step: Ratio,
    /// Width of a cell's range of `N_T`, multiplied by `N_T` if `N_T` is above 1.
    pub nt_step: Ratio,
}

/// The proved bounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Maximum ratio of two flows' rates from some round on.
    pub worst_ratio: f64,
    /// Maximum ratio derived by hand, which holds for any number of flows and needs no cells.
    pub hand_worst_ratio: f64,
    /// Range of `N_T` from some round on.
    pub nt: (f64, f64),
    /// Minimum cwnd of every flow from some round on, in C theta (derived by hand).
    pub cwnd_floor: f64,
    /// Maximum number of rounds (of updates, if flows update one after another) from the bounds derived by hand to the
    /// attractor.
    pub rounds: u32,
    /// Number of cells of the region within the bounds derived by hand.
    pub region_cells: usize,
    /// Number of cells of the attractor.
    pub attractor_cells: usize,
}

/// Data needed to check an answer cell by cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Certificate {
    /// Borders of the cells' ratios.
    pub odds: Vec<f64>,
    /// Borders of the cells' `N_T`.
    pub nt: Vec<f64>,
    /// Rank of each cell ([`Attraction::rank`](crate::attract::Attraction)), for all copies of the cells.
    pub rank: Vec<u32>,
}

/// Reasons why a question has no answer.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum Refusal {
    /// The question is invalid.
    #[error("{key} {reason}")]
    BadQuestion {
        /// Field of the question.
        key: &'static str,
        /// The value, and what was expected.
        reason: String,
    },
    /// A lemma proved by hand needs a stronger assumption.
    #[error(transparent)]
    Unbounded(#[from] Unbounded),
    /// The search found no attractor.
    #[error(transparent)]
    NoAttraction(#[from] NoAttraction),
}

impl Question {
    /// Searches for the attractor.
    ///
    /// # Errors
    ///
    /// [`Refusal`], if the question has no answer.
    pub fn answer(&self, on_progress: OnProgress<'_>) -> Result<(Answer, Certificate), Refusal> {
        self.check()?;
        match self.flows {
            2 => self.answer_for::<1>(on_progress),
            3 => self.answer_for::<2>(on_progress),
            n => Err(bad("flows", format!("must be 2 or 3: `{n}`"))),
        }
    }

    fn check(&self) -> Result<(), Refusal> {
        let Assumptions { gamma, slowest, fastest, nt_under, nt_over, rate_under, rate_over, excess } =
            self.assumptions;
        let zero = Ratio::new(0, 1);
        let one = Ratio::new(1, 1);
        let rules = [
            ("gamma", gamma, zero < gamma, "must be positive"),
            ("slowest", slowest, zero < slowest && slowest < one, "must be between 0 and 1"),
            ("fastest", fastest, one < fastest, "must be above 1"),
            ("nt_under", nt_under, zero <= nt_under, "must not be negative"),
            ("nt_over", nt_over, zero <= nt_over, "must not be negative"),
            ("rate_under", rate_under, zero < rate_under, "must be positive"),
            ("rate_over", rate_over, rate_under <= rate_over, "must not be below rate_under"),
            ("excess", excess, zero < excess, "must be positive"),
            ("rtprop", self.rtprop.0, zero <= self.rtprop.0, "must not be negative"),
            ("rtprop", self.rtprop.1, self.rtprop.0 <= self.rtprop.1, "must not end before it starts"),
            ("odds_step", self.odds_step, FINEST <= self.odds_step && self.odds_step <= one, "must be 1/100000 to 1"),
            ("nt_step", self.nt_step, FINEST <= self.nt_step && self.nt_step <= one, "must be 1/100000 to 1"),
        ];
        match rules.into_iter().find(|(_, _, holds, _)| !holds) {
            Some((key, value, _, reason)) => Err(bad(key, format!("{reason}: `{value}`"))),
            None => Ok(()),
        }
    }

    /// Returns the range of R / theta of the question.
    fn rtprop(&self) -> Interval {
        self.rtprop.0.interval().hull(self.rtprop.1.interval())
    }

    fn cells<const M: usize>(&self, bounds: &Bounds) -> Cells<M> {
        let nt_step = self.nt_step.interval().hi;
        Cells {
            odds: Axis::odds(self.odds_step.interval().hi, bounds.worst_ratio(self.rtprop())),
            nt: Axis::graded(bounds.nt.lo, bounds.nt.hi, |nt| nt_step * nt.max(1.0)),
        }
    }

    fn answer_for<const M: usize>(&self, on_progress: OnProgress<'_>) -> Result<(Answer, Certificate), Refusal> {
        let assumed = self.assumptions.enclosed();
        let rtprop = self.rtprop();
        let bounds = Bounds::new(&assumed, self.schedule, self.flows, rtprop)?;
        let cells = self.cells::<M>(&bounds);
        match self.schedule {
            Schedule::Synchronous => {
                let map = Synchronous { cells: cells.clone(), assumed, rtprop };
                self.attractor(&map, &cells, &bounds, on_progress)
            }
            Schedule::Sequential => {
                let map = Sequential { cells: cells.clone(), assumed, rtprop };
                self.attractor(&map, &cells, &bounds, on_progress)
            }
        }
    }

    fn attractor<const M: usize>(
        &self,
        map: &impl Map,
        cells: &Cells<M>,
        bounds: &Bounds,
        on_progress: OnProgress<'_>,
    ) -> Result<(Answer, Certificate), Refusal> {
        let region = region(map.count(), cells, bounds, self.rtprop());
        let attraction = attract(map, &region, on_progress)?;
        let rank = &attraction.rank;
        let mut answer = Answer {
            worst_ratio: 1.0,
            hand_worst_ratio: bounds.worst_ratio(self.rtprop()),
            nt: (f64::INFINITY, 0.0),
            cwnd_floor: bounds.cwnd_floor,
            rounds: region.iter().map(|cell| rank[cell]).max().unwrap_or(0),
            region_cells: region.len(),
            attractor_cells: 0,
        };
        for number in (0..map.count()).filter(|cell| rank[*cell] == 0) {
            let cell = cells.cell(number % cells.count());
            answer.attractor_cells += 1;
            answer.worst_ratio = answer.worst_ratio.max(cell.worst_ratio());
            answer.nt = (answer.nt.0.min(cell.nt.lo), answer.nt.1.max(cell.nt.hi));
        }
        let certificate =
            Certificate { odds: cells.odds.borders().to_vec(), nt: cells.nt.borders().to_vec(), rank: attraction.rank };
        Ok((answer, certificate))
    }
}

/// Returns the cells that contain a state in which every flow has at least the minimum cwnd.
fn region<const M: usize>(count: usize, cells: &Cells<M>, bounds: &Bounds, rtprop: Interval) -> Bits {
    let mut region = Bits::empty(count);
    for number in 0..cells.count() {
        let cell = cells.cell(number);
        let (first, last) = cell.shares();
        let has_min = |share: &Interval| (*share * (rtprop + cell.nt)).hi >= bounds.cwnd_floor;
        if has_min(&last) && first.iter().all(has_min) {
            (number..count).step_by(cells.count()).for_each(|copy| region.set(copy));
        }
    }
    region
}

/// Minimum step; finer cells need more memory than a machine has.
const FINEST: Ratio = Ratio::new(1, 100_000);

fn bad(key: &'static str, reason: String) -> Refusal {
    Refusal::BadQuestion { key, reason }
}
