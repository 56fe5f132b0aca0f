//! A scenario in base units, and the record of its run: the data model that both worlds, simulator and emulator, share.
//!
//! [`check`] checks a [`Config`]. A run returns a [`Summary`] and a [`Series`], and reports every packet to an
//! [`Observer`]. This crate does not run scenarios.
#![forbid(unsafe_code)]

mod application;
mod check;
mod config;
mod histogram;
mod lookahead;
mod metered_hop;
mod network;
mod observer;
mod packets;
pub mod recorder;
pub mod relay;
mod series;
mod streams;
mod summary;
mod tally;
mod transport;

pub use application::{App, unsent};
pub use check::{MAX_FLOWS, check, check_no_hosts};
pub use config::{Config, Crypto, FlowSpec, HEADER_BYTES, Host, LinkSpec, Receiver, Source};
pub use histogram::Histogram;
pub use lookahead::{Timing, hop_timings, observers_lag};
pub use metered_hop::{HopCounts, MeteredHop};
pub use network::network;
pub use observer::{Observer, PacketEvent};
pub use packets::{Acks, PacketLog, Packets};
pub use series::{FlowSeries, LinkSeries, Series};
pub use streams::{controller_seed, controller_stream, element_stream, hop_stream, host_stream};
pub use summary::{DelayStats, FlowSummary, LinkSummary, Summary, goodput_mbps, ratio};
pub use transport::{Mechanism, Transport};
