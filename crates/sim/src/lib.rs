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
mod observer;
mod packets;
mod receiver;
mod ring;
mod route;
mod run;
mod sampler;
mod schedule;
mod series;
mod streams;
mod summary;
mod window;

pub use check::{MAX_FLOWS, check};
pub use config::{Config, FlowSpec, LinkSpec, Receiver, Source};
pub use histogram::Histogram;
pub use lookahead::observers_lag;
pub use observer::{Observer, PacketEvent};
pub use packets::{Acks, PacketLog, Packets};
pub use run::{Factory, Outcome, Progress, SimError, run, run_observed, run_with};
pub use series::{FlowSeries, LinkSeries, Series};
pub use streams::{element_stream, hop_stream};
pub use summary::{DelayStats, FlowSummary, LinkSummary, Summary};
