//! The simulated world: virtual clock, transport, flows, topologies, traces.
#![forbid(unsafe_code)]

mod config;
mod summary;

pub use config::{Config, FlowSpec, LinkSpec, Receiver, Source};
pub use summary::{DelayStats, FlowSummary, LinkSummary, Summary};
