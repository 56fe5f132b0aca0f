//! The list of the controllers in Rust.

use crate::{Algorithm, BuildError, Controller, RUST, Start};
use serde_json::Value;

/// All algorithms in Rust.
pub fn algorithms() -> impl Iterator<Item = &'static Algorithm> {
    RUST.iter()
}

/// Builds the controller `name` with `params` (an object, or null for the defaults).
///
/// # Errors
/// If there is no such controller, or a parameter is rejected.
pub fn build(name: &str, params: &Value, start: &Start) -> Result<Box<dyn Controller>, BuildError> {
    let algorithm = algorithms().find(|a| a.name == name).ok_or_else(|| BuildError::UnknownName(name.to_owned()))?;
    (algorithm.build)(params, start)
}
