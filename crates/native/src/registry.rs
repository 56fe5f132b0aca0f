//! The list of all controllers: those of [`fairweir_cca`], of `bpf/` and of QUIC stacks, and controllers in files.

use crate::{controller_file, load, plugin};
use fairweir_cca::{Algorithm, BuildError, Controller, Start};
use serde_json::Value;
use std::path::Path;

/// Returns all algorithms: those in Rust, then those in C, then those of QUIC stacks. An algorithm that exists in Rust and
/// in C is that in Rust, which is faster; the source in C is for the kernel.
pub fn algorithms() -> impl Iterator<Item = &'static Algorithm> {
    let rust = fairweir_cca::registry::algorithms;
    let only_in_c = crate::ALGORITHMS.iter().filter(move |c| rust().all(|r| r.name != c.name));
    rust().chain(only_in_c).chain(fairweir_quic_cc::ALGORITHMS)
}

/// Builds the controller `name` with `params` (an object, or null for the defaults). A name with the suffix `.bpf.c` is
/// the path of a source in kernel C, which is compiled first. A name with the suffix `.json` is the path of a
/// controller file, and a name with the suffix `.so` the path of a plug-in.
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
