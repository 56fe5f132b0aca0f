//! The list of all controllers: those of [`fairweir_cca`], those of `bpf/`, those of QUIC stacks, and files.

use crate::{controller_file, load, plugin};
use fairweir_cca::{Algorithm, BuildError, Controller, Start};
use serde_json::Value;
use std::path::Path;

/// All algorithms: those in Rust, then those in C, then those of QUIC stacks.
pub fn algorithms() -> impl Iterator<Item = &'static Algorithm> {
    fairweir_cca::registry::algorithms().chain(crate::ALGORITHMS).chain(fairweir_quic_cc::ALGORITHMS)
}

/// Builds the controller `name` with `params` (an object, or null for the defaults). A name that ends in `.bpf.c` is the
/// path of a source in kernel C, which is compiled first; one that ends in `.json` is that of a controller file;
/// one that ends in `.so` is that of a plug-in.
///
/// # Errors
/// If there is no such controller, its source is invalid, or a parameter is rejected.
pub fn build(name: &str, params: &Value, start: &Start) -> Result<Box<dyn Controller>, BuildError> {
    if name.ends_with(crate::SUFFIX) {
        return load(Path::new(name))?.build(params, start);
    }
    if name.ends_with(plugin::SUFFIX) {
        return plugin::load(Path::new(name))?.build(params, start);
    }
    if name.ends_with(fairweir_cca::tree::SUFFIX) {
        return controller_file::build(name, params, start);
    }
    let algorithm = algorithms().find(|a| a.name == name).ok_or_else(|| BuildError::UnknownName(name.to_owned()))?;
    (algorithm.build)(params, start)
}
