//! Compiles requested features into the state to maintain.

use super::{Feature, IntervalStat, Raw, Smoothed, WindowStat};

/// Averages of one quantity.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) of: Smoothed,
    pub(crate) alphas: Vec<f64>,
}

/// A feature, with the index of the state from which it is computed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cell {
    Raw(Raw),
    Average { group: usize, index: usize },
    Window { window: usize, stat: WindowStat },
    Intervals { n: usize, stat: IntervalStat },
}

/// A compiled set of features: only requested ones are computed.
#[derive(Clone, Debug)]
pub struct Plan {
    features: Vec<Feature>,
    cells: Vec<Cell>,
    windows: Vec<u8>,
    averages: Vec<Group>,
}

impl Plan {
    /// Creates a plan for `features`; rows have the same order.
    pub fn new(features: impl IntoIterator<Item = Feature>) -> Plan {
        let features: Vec<Feature> = features.into_iter().collect();
        let mut windows: Vec<u8> =
            features.iter().filter_map(|f| if let Feature::Window(_, k) = f { Some(*k) } else { None }).collect();
        windows.sort_unstable_by(|a, b| b.cmp(a));
        windows.dedup();
        let mut averages: Vec<Group> = Vec::new();
        let cells = features
            .iter()
            .map(|&feature| match feature {
                Feature::Raw(raw) => Cell::Raw(raw),
                Feature::Average(of, alpha) => {
                    let group = averages.iter().position(|group| group.of == of).unwrap_or_else(|| {
                        averages.push(Group { of, alphas: Vec::new() });
                        averages.len() - 1
                    });
                    averages[group].alphas.push(alpha.value());
                    Cell::Average { group, index: averages[group].alphas.len() - 1 }
                }
                Feature::Window(stat, k) => {
                    Cell::Window { window: windows.iter().position(|w| *w == k).unwrap_or(0), stat }
                }
                Feature::Intervals(stat, n) => Cell::Intervals { n: usize::from(n), stat },
            })
            .collect();
        Plan { features, cells, windows, averages }
    }

    /// Returns the features, in the order of rows.
    pub fn features(&self) -> &[Feature] {
        &self.features
    }
    /// Returns the lengths of windows in multiples of the minimum RTT, longest first.
    pub fn windows(&self) -> &[u8] {
        &self.windows
    }
    pub(crate) fn cells(&self) -> &[Cell] {
        &self.cells
    }
    pub(crate) fn averages(&self) -> &[Group] {
        &self.averages
    }
}
