//! noq-proto: n0's fork of quinn, with BBRv3 and paths. It runs as quinn does, with one path.

mod api;
mod controllers;
#[path = "../fork/end.rs"]
mod end;
mod null;
#[path = "../fork/setup.rs"]
mod setup;

use crate::endpoint::Ends;
use crate::limits::payload;
use controllers::Gauge;
use fairweir_program::Refusal;
use fairweir_scenario::Config;
use setup::ends_with;

/// The version that this program contains.
pub const VERSION: &str = "1.4.0";

/// Names of the controllers, without the stack's.
pub const CONTROLLERS: [&str; 3] = controllers::NAMES;

/// Returns both ends of flow number `flow`, whose sender has noq's controller `name`; `None` if there is none of that
/// name.
///
/// # Errors
/// If the stack refuses a setting.
pub fn ends(config: &Config, flow: usize, name: &str) -> Result<Option<Ends>, Refusal> {
    let spec = &config.flows[flow];
    let initial_window = spec.initial_cwnd * payload(config).0;
    // Each flow has a sequence of its own.
    let seed = config.seed.wrapping_add(flow as u64);
    let Some(factory) = controllers::theirs(name, initial_window, seed).map_err(Refusal::new)? else { return Ok(None) };
    ends_with(config, flow, factory, Gauge::default()).map(Some)
}
