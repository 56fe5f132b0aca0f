//! The attractor, the set of cells in which every run ends, and the ranks that prove it. A run is a sequence of states
//! that can follow each other. Only runs that stay in a given region are considered.

use crate::axis::Extent;
use crate::bits::Bits;
use crate::map::Map;
use std::ops::ControlFlow;
use thiserror::Error;

/// Rank of a cell that has no rank.
pub const UNRANKED: u32 = u32::MAX;

/// The attractor and the ranks of the other cells.
#[derive(Debug, Clone)]
pub struct Attraction {
    /// Rank of each cell. Rank 0: the cell is in the attractor and leads only to cells in the attractor. Positive rank:
    /// all successors in the region have a lower rank. [`UNRANKED`]: the cell is neither in the region nor in the
    /// attractor.
    pub rank: Vec<u32>,
}

/// Reasons why no attractor was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum NoAttraction {
    /// A cycle of cells, which every attractor contains, leads to states outside all cells.
    #[error("the attractor reaches beyond the cells")]
    Unbounded {
        /// A cell that leads outside.
        cell: usize,
    },
    /// The caller asked to stop.
    #[error("interrupted")]
    Interrupted,
}

/// Called periodically with the number of settled cells; can interrupt the search.
pub type OnProgress<'a> = &'a mut dyn FnMut(usize) -> ControlFlow<()>;

/// Finds the minimum attractor of runs that stay in `region`.
///
/// A cell is ranked once all its successors are ranked. If no further cell can be ranked, every remaining cell leads to
/// another remaining cell. Following these successors finds a cycle. Any attractor must contain the cycle and every
/// cell reachable from it, so they are added to the attractor. The result is the minimum union of cells that attracts
/// the whole region.
///
/// A remaining cell waits for one of its unranked successors, and is visited again when that successor is ranked.
///
/// # Errors
///
/// [`NoAttraction`], for example if a cycle leads to states that no cell covers.
pub fn attract<M: Map>(map: &M, region: &Bits, on_progress: OnProgress<'_>) -> Result<Attraction, NoAttraction> {
    let mut search = Search::new(map.count(), region);
    let mut stuck = 0;
    loop {
        search.rank_all(map, on_progress)?;
        let Some(cell) = search.open.first(stuck..map.count()) else {
            return Ok(Attraction { rank: search.rank });
        };
        stuck = cell;
        search.absorb(map, search.cycle_from(cell))?;
    }
}

impl Attraction {
    /// Checks the attractor for runs in `region`: visits every cell again, independently of the search.
    pub fn holds<M: Map>(&self, map: &M, region: &Bits) -> bool {
        (0..map.count()).all(|cell| {
            let own = self.rank[cell];
            let mut is_lower = true;
            let mut accept = |run: std::ops::Range<usize>| {
                is_lower = run.into_iter().all(|next| match own {
                    0 => self.rank[next] == 0,
                    _ => !region.get(next) || self.rank[next] < own,
                });
                is_lower
            };
            match own {
                UNRANKED => !region.get(cell),
                0 => map.image(cell, &mut accept) == Extent::Inside && is_lower,
                _ => {
                    map.image(cell, &mut accept);
                    is_lower
                }
            }
        })
    }
}

struct Search {
    /// Cells of the region that are not yet settled (ranked or in the attractor).
    open: Bits,
    rank: Vec<u32>,
    /// For each cell, the open successor for which the cell waits.
    blocker: Vec<u32>,
    /// For each cell, the first of the cells that wait for it, as a linked list through `next_waiting`.
    first_waiting: Vec<u32>,
    next_waiting: Vec<u32>,
    todo: Vec<usize>,
    settled: usize,
}

/// Number of settled cells between two calls of `on_progress`.
const PROGRESS_EVERY: usize = 1 << 12;

impl Search {
    fn new(count: usize, region: &Bits) -> Self {
        assert!(count < UNRANKED as usize, "cells are numbered by u32");
        let none = vec![UNRANKED; count];
        Self {
            open: region.clone(),
            rank: none.clone(),
            blocker: none.clone(),
            first_waiting: none.clone(),
            next_waiting: none,
            todo: region.iter().collect(),
            settled: 0,
        }
    }

    fn rank_all<M: Map>(&mut self, map: &M, on_progress: OnProgress<'_>) -> Result<(), NoAttraction> {
        while let Some(cell) = self.todo.pop() {
            if !self.open.get(cell) {
                continue;
            }
            let mut blocker = None;
            let mut highest = 0;
            // States outside all cells are ignored: they are not in the region, and runs stay in the region.
            let _: Extent = map.image(cell, &mut |run| {
                blocker = self.open.first(run.clone());
                if blocker.is_none() {
                    let ranks = self.rank[run].iter().filter(|rank| **rank != UNRANKED);
                    highest = ranks.fold(highest, |highest, rank| highest.max(*rank));
                }
                blocker.is_none()
            });
            if let Some(blocker) = blocker {
                self.blocker[cell] = blocker as u32;
                self.next_waiting[cell] = self.first_waiting[blocker];
                self.first_waiting[blocker] = cell as u32;
                continue;
            }
            self.open.clear(cell);
            self.settle(cell, highest + 1);
            if self.settled.is_multiple_of(PROGRESS_EVERY) && on_progress(self.settled).is_break() {
                return Err(NoAttraction::Interrupted);
            }
        }
        Ok(())
    }

    fn settle(&mut self, cell: usize, rank: u32) {
        self.rank[cell] = rank;
        self.settled += 1;
        let mut waiting = std::mem::replace(&mut self.first_waiting[cell], UNRANKED);
        while waiting != UNRANKED {
            self.todo.push(waiting as usize);
            waiting = self.next_waiting[waiting as usize];
        }
    }

    /// Returns a cell on the cycle that is reached by following blockers from `start`.
    fn cycle_from(&self, start: usize) -> usize {
        let next = |cell: usize| self.blocker[cell] as usize;
        let (mut slow, mut fast) = (next(start), next(next(start)));
        while slow != fast {
            slow = next(slow);
            fast = next(next(fast));
        }
        slow
    }

    /// Adds `start` and every cell reachable from it to the attractor.
    fn absorb<M: Map>(&mut self, map: &M, start: usize) -> Result<(), NoAttraction> {
        self.open.clear(start);
        self.settle(start, 0);
        let mut todo = vec![start];
        while let Some(cell) = todo.pop() {
            let mut found = Vec::new();
            let extent = map.image(cell, &mut |run| {
                found.extend(run.filter(|next| self.rank[*next] != 0));
                true
            });
            if extent == Extent::Beyond {
                return Err(NoAttraction::Unbounded { cell });
            }
            for next in found {
                if self.rank[next] != 0 {
                    self.open.clear(next);
                    self.settle(next, 0);
                    todo.push(next);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use std::ops::Range;

    /// The successors of each vertex; a number that is not a vertex stands for states outside all cells.
    #[derive(Debug, Clone)]
    struct Graph(Vec<Vec<usize>>);

    impl Map for Graph {
        fn count(&self) -> usize {
            self.0.len()
        }

        fn image(&self, cell: usize, accept: &mut dyn FnMut(Range<usize>) -> bool) -> Extent {
            let inside = self.0[cell].iter().filter(|next| **next < self.count());
            let all = inside.clone().count() == self.0[cell].len();
            let went_on = inside.copied().all(|next| accept(next..next + 1));
            if all || !went_on { Extent::Inside } else { Extent::Beyond }
        }
    }

    impl Graph {
        /// Returns the cells reachable from `from` in one or more steps.
        fn after(&self, from: usize) -> Bits {
            let mut seen = Bits::empty(self.count());
            let mut todo = vec![from];
            while let Some(cell) = todo.pop() {
                for next in self.0[cell].iter().copied().filter(|next| *next < self.count()) {
                    if !seen.get(next) {
                        seen.set(next);
                        todo.push(next);
                    }
                }
            }
            seen
        }
    }

    fn go_on(_: usize) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn graph() -> impl Strategy<Value = Graph> {
        vec(vec(0..12_usize, 1..4), 12).prop_map(Graph)
    }

    /// Generates graphs whose edges mostly lead to lower numbers, so that some cells can be ranked.
    fn hill() -> impl Strategy<Value = Graph> {
        graph().prop_map(|Graph(arrows)| {
            let downhill = |(cell, next): (usize, Vec<usize>)| next.into_iter().map(|n| n % cell.max(1)).collect();
            Graph(arrows.into_iter().enumerate().map(downhill).collect())
        })
    }

    proptest! {
        #[test]
        fn the_attractor_is_all_cycles_and_what_follows(graph in prop_oneof![graph(), hill()]) {
            let region = Bits::full(graph.count());
            let found = attract(&graph, &region, &mut go_on).expect("no way out");
            let on_cycle: Vec<usize> = (0..graph.count()).filter(|cell| graph.after(*cell).get(*cell)).collect();
            for cell in 0..graph.count() {
                let follows = on_cycle.iter().any(|start| graph.after(*start).get(cell));
                prop_assert_eq!(found.rank[cell] == 0, follows);
            }
            prop_assert!(found.holds(&graph, &region));
        }

        #[test]
        fn a_rank_changed_for_the_worse_is_found_out(graph in hill(), cell in 2..12_usize) {
            let region = Bits::full(graph.count());
            let mut found = attract(&graph, &region, &mut go_on).expect("no way out");
            let highest = graph.0[cell].iter().map(|next| found.rank[*next]).max().expect("arrows");
            prop_assume!(highest > 0);
            found.rank[cell] = highest;
            prop_assert!(!found.holds(&graph, &region));
        }
    }

    #[test]
    fn a_cycle_with_a_way_out_is_no_attractor() {
        let graph = Graph(vec![vec![1], vec![0, 7]]);
        let found = attract(&graph, &Bits::full(2), &mut go_on).map(|found| found.rank);
        assert_eq!(found, Err(NoAttraction::Unbounded { cell: 1 }));
    }

    #[test]
    fn ways_out_of_the_region_are_not_taken() {
        // Cell 2 leads to cell 3 outside the region, but runs that stay in the region cannot go there.
        let graph = Graph(vec![vec![0], vec![0, 2], vec![1, 3, 0], vec![3]]);
        let mut region = Bits::full(4);
        region.clear(3);
        region.clear(2);
        let found = attract(&graph, &region, &mut go_on).expect("no way out");
        assert_eq!(found.rank, [0, 1, UNRANKED, UNRANKED]);
        assert!(found.holds(&graph, &region));
    }

    #[test]
    fn a_refused_progress_stops_the_search() {
        let chain = Graph((0..10_000).map(|cell: usize| vec![cell.saturating_sub(1)]).collect());
        let region = Bits::full(chain.count());
        let found = attract(&chain, &region, &mut |_| ControlFlow::Break(())).map(|found| found.rank);
        assert_eq!(found, Err(NoAttraction::Interrupted));
    }
}
