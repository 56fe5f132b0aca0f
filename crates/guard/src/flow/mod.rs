//! Which flows there are.

mod clock;
mod life;
mod scale;
mod table;

pub use table::{Counts, Flow, FlowId, Limits, Table};
