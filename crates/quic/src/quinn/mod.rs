//! quinn-proto: a whole QUIC stack without sockets and clock.
//!
//! Its random numbers come from the scenario's seed, connection IDs are counters, encryption does nothing ([`null`]), and
//! MTU discovery is off: datagrams are as large as the scenario's packets allow. The rest is quinn's default, but for
//! flow control, which never limits unless the scenario has a receive window.

mod api;
mod controllers;
#[path = "../fork/end.rs"]
mod end;
mod hosted;
mod null;
#[path = "../fork/setup.rs"]
mod setup;

use crate::endpoint::Ends;
use crate::hosted::Factory;
use crate::limits::payload;
use controllers::Gauge;
use fairweir_program::Refusal;
use fairweir_scenario::Config;
use hosted::Hosting;
use setup::ends_with;
use std::sync::Arc;

/// The version that this program contains.
pub const VERSION: &str = "0.11.19";
/// Names of the controllers, without the stack's.
pub const CONTROLLERS: [&str; 3] = controllers::NAMES;

/// Returns both ends of flow number `flow`, whose sender has quinn's controller `name`; `None` if there is none of that
/// name.
///
/// # Errors
/// If the stack refuses a setting.
pub fn ends(config: &Config, flow: usize, name: &str) -> Result<Option<Ends>, Refusal> {
    let spec = &config.flows[flow];
    let initial_window = spec.initial_cwnd * payload(config).0;
    let Some(factory) = controllers::theirs(name, initial_window) else { return Ok(None) };
    ends_with(config, flow, factory, Gauge::default()).map(Some)
}

/// Returns both ends of flow number `flow`, whose sender has the controller of fairweir that the flow names; `None` if
/// there is none of that name.
///
/// # Errors
/// If the controller cannot be built, or the stack refuses a setting.
pub fn hosting(config: &Config, flow: usize) -> Result<Option<Ends>, Refusal> {
    let gauge = Gauge::default();
    let Some(factory) = Factory::of(config, flow, Arc::clone(&gauge.trouble))? else { return Ok(None) };
    ends_with(config, flow, Arc::new(Hosting(factory)), gauge).map(Some)
}
