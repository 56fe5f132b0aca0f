//! The entry point: runs a scenario and returns its outcome.

use crate::engine::Engine;
use crate::outcome::{Factory, Outcome, Progress, SimError};
use crate::watch::{Unwatched, Watched};
use fairweir_scenario::{Config, Observer, check, check_no_hosts};
use std::ops::ControlFlow;

/// Runs `config` with the controllers of [`fairweir_cca::registry`], which are those in Rust.
///
/// # Errors
/// See [`SimError`].
pub fn run(config: &Config) -> Result<Outcome, SimError> {
    run_with(config, &|flow, start| fairweir_cca::registry::build(&flow.cca, &flow.params, start), &mut |_| {
        ControlFlow::Continue(())
    })
}

/// Runs `config` with controllers from `factory`; reports the simulated time reached to `progress`.
///
/// # Errors
/// See [`SimError`].
pub fn run_with(config: &Config, factory: &Factory<'_>, progress: &mut Progress<'_>) -> Result<Outcome, SimError> {
    check(config)?;
    check_no_hosts(config)?;
    Engine::new(config, factory, Unwatched)?.run(progress)
}

/// Like [`run_with`]; `observer` receives every packet event.
///
/// # Errors
/// See [`SimError`].
pub fn run_observed(
    config: &Config,
    factory: &Factory<'_>,
    progress: &mut Progress<'_>,
    observer: &mut dyn Observer,
) -> Result<Outcome, SimError> {
    check(config)?;
    check_no_hosts(config)?;
    Engine::new(config, factory, Watched(observer))?.run(progress)
}
