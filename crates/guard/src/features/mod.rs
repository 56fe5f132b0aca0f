//! The features of the published FlowPolicy (CMU-CS-24-129, tables 4 and 5): names, plans, rows. `measure` computes them.

mod feature;
mod plan;
mod row;

pub use feature::{Alpha, Feature, IntervalStat, ParseError, Raw, Smoothed, WindowStat, catalogue};
pub(crate) use plan::Cell;
pub use plan::Plan;
pub use row::Row;
