//! Controllers in files: kernel C, which the host's C compiler compiles and this crate drives as a
//! [`Controller`](fairweir_cca::Controller), and the trees of controller files.
//!
//! The build compiles the sources in `bpf/` ([`ALGORITHMS`]); [`load()`] compiles a user's source the same way while
//! the program runs. [`registry`] lists these and the controllers of [`fairweir_cca`].

mod abi;
mod controller;
mod controller_file;
mod includes;
mod load;
mod module;
mod params;
pub mod plugin;
pub mod registry;
pub mod replay;
mod scratch;
#[cfg(test)]
mod tests;

pub use includes::Includes;
pub use list::{ALGORITHMS, HEADERS};
pub use load::{Loaded, SUFFIX, load};
pub use scratch::scratch;

/// Returns the algorithm `name` of `bpf/`.
pub fn builtin(name: &str) -> Option<Loaded> {
    list::BUILTIN.iter().find(|b| b.name == name).map(|b| Loaded::from(&**b.module))
}

/// Returns the file name and the text of the source in `bpf/` that contains the algorithm `name`.
pub fn source(name: &str) -> Option<(&'static str, &'static str)> {
    list::BUILTIN.iter().find(|b| b.name == name).map(|b| (b.file, b.text))
}

/// Algorithms that the build found in `bpf/`.
mod list {
    use crate::abi::{RawOps, RawParam};
    use crate::controller::NativeController;
    use crate::module::Module;
    use fairweir_cca::{Algorithm, BuildError, Controller, Start};
    use serde_json::Value;
    use std::sync::LazyLock;

    impl Module {
        /// Returns an algorithm that was compiled with this crate.
        ///
        /// # Panics
        /// If its ops or its parameter table are invalid; a test excludes this.
        fn builtin(name: &str, ops: &'static RawOps, table: &'static [RawParam]) -> Module {
            // SAFETY: build.rs compiled both against bpf/tcp.h.
            unsafe { Module::new(name, ops, table) }.unwrap_or_else(|reason| panic!("bpf/: {reason}"))
        }
    }

    /// An algorithm and its source.
    pub(crate) struct Builtin {
        pub(crate) name: &'static str,
        pub(crate) file: &'static str,
        pub(crate) text: &'static str,
        pub(crate) module: &'static LazyLock<Module>,
    }

    fn build(module: &Module, params: &Value, start: &Start) -> Result<Box<dyn Controller>, BuildError> {
        Ok(Box::new(NativeController::new(module, params, start)?))
    }

    include!(concat!(env!("OUT_DIR"), "/bpf.rs"));
}
