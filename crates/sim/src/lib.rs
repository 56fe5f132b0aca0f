//! The simulator: virtual clock, transport and flows. [`fairweir_scenario`] defines scenarios and records.
//!
//! A *hop* is a link with its queue, which flows may share. It *decides on arrival* if it knows the departure time of a
//! packet when the packet arrives, and *on leave* otherwise. A *lane* is one direction of a flow's path: the flow's own
//! elements and the hops. A *stage* is a hop on a lane, with the flow's packets that have not reached the hop yet.
#![forbid(unsafe_code)]

mod arrivals;
mod engine;
mod flow;
mod item;
mod net;
mod outcome;
mod quick_acks;
mod receive_window;
mod receiver;
mod ring;
mod route;
mod run;
mod sack_compression;
mod sampler;
mod schedule;
mod stage;
mod watch;
mod window;

pub use outcome::{Factory, Outcome, Progress, SimError};
pub use run::{run, run_observed, run_with};
