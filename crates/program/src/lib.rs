//! The protocol of the programs that run a scenario, `fairweir-kernel` and `fairweir-quic`: a
//! [`fairweir_scenario::Config`] as JSON on stdin, one JSON document on stdout, and on stderr lines `progress 0.25` and,
//! after a failure, `{"error": {"message", "key", "hint"}}` as the last line.
#![forbid(unsafe_code)]

mod dialogue;
mod refusal;
mod series;
mod signals;

pub use dialogue::{INTERRUPTED, Progress, conclude, print, read_config};
pub use refusal::Refusal;
pub use series::{SeriesTo, render_series};
pub use signals::Signals;
