//! The flow table.

mod clock;
mod handshake;
mod life;
mod source;
mod table;
mod usage;

pub use table::{Counts, Flow, FlowId, Limits, Table};
