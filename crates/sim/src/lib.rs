//! The simulator: virtual clock, transport and flows. [`fairweir_scenario`] defines scenarios and records.
#![forbid(unsafe_code)]

mod arrivals;
mod engine;
mod flow;
mod item;
mod net;
mod outcome;
mod receiver;
mod ring;
mod route;
mod run;
mod sampler;
mod schedule;
mod stage;
mod watch;
mod window;

pub use outcome::{Factory, Outcome, Progress, SimError};
pub use run::{run, run_observed, run_with};
