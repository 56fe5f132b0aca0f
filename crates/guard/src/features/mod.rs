//! The features of the published FlowPolicy (CMU-CS-24-129, tables 4 and 5): names, plans, values.

mod averages;
mod feature;
mod plan;
mod row;

pub(crate) use averages::Averages;
pub use feature::{Alpha, Feature, IntervalStat, ParseError, Raw, Smoothed, WindowStat, catalogue};
pub use plan::Plan;
pub use row::Row;
