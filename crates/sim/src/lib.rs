//! The simulated world: virtual clock, transport, flows, topologies, traces.
#![forbid(unsafe_code)]

mod arrivals;
mod check;
mod config;
mod engine;
mod flow;
mod histogram;
mod lookahead;
mod net;
mod receiver;
mod ring;
mod route;
mod run;
mod sampler;
mod schedule;
mod series;
mod summary;
mod window;

pub use config::{Config, FlowSpec, LinkSpec, Receiver, Source};
pub use run::{Factory, Outcome, Progress, SimError, run, run_with};
pub use series::{FlowSeries, LinkSeries, Series};
pub use summary::{DelayStats, FlowSummary, LinkSummary, Summary};
