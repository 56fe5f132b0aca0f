//! Errors when loading, running or observing a controller.

use fairweir_units::{Hint, SystemError};
use std::borrow::Cow;
use std::io;
use std::path::PathBuf;

/// An error of loading or observing a controller.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KernelError {
    /// `bpf/` contains no algorithm of that name.
    #[error("there is no BPF congestion controller `{name}`")]
    Unknown {
        /// The requested name.
        name: String,
        /// The available names.
        known: Vec<&'static str>,
    },
    /// A source that cannot be read or is invalid.
    #[error("{}: {reason}", path.display())]
    Source {
        /// Path of the source.
        path: PathBuf,
        /// The error in it.
        reason: String,
        /// How to fix it.
        hint: &'static str,
    },
    /// Parameters that the algorithm rejects.
    #[error("parameters of `{cca}`: {reason}")]
    Params {
        /// The algorithm.
        cca: String,
        /// The parameter, its value, and what was expected.
        reason: String,
    },
    /// The kernel, or libbpf on its behalf, rejects a program.
    #[error("`{cca}` is not loaded: {reason}")]
    Refused {
        /// The algorithm.
        cca: String,
        /// The last messages of libbpf, or of the verifier if the verifier rejected the program.
        reason: String,
        /// How to fix it.
        hint: Option<&'static str>,
    },
    /// A missing requirement: a tool, a privilege, a file system.
    #[error("{what}")]
    Missing {
        /// The missing capability or file.
        what: String,
        /// How to install or enable it.
        hint: &'static str,
    },
    /// No controller can be loaded under this name, because the name is invalid or in use; or the controller of this
    /// name cannot be unloaded.
    #[error("`{name}`: {reason}")]
    Conflict {
        /// The name of the controller.
        name: String,
        /// The reason.
        reason: String,
        /// How to fix it.
        hint: &'static str,
    },
    /// A system call that failed.
    #[error(transparent)]
    System(#[from] SystemError),
}

impl Hint for KernelError {
    fn hint(&self) -> Option<Cow<'_, str>> {
        match self {
            KernelError::Unknown { known, .. } => {
                Some(format!("there are {}; or give the path of a .bpf.c", known.join(", ")).into())
            }
            KernelError::Source { hint, .. }
            | KernelError::Missing { hint, .. }
            | KernelError::Conflict { hint, .. } => Some((*hint).into()),
            KernelError::Refused { hint, .. } => hint.map(Cow::Borrowed),
            KernelError::Params { .. } | KernelError::System(_) => None,
        }
    }
}

impl KernelError {
    /// Returns a function for `map_err` that converts an I/O error; `what` is the action or object that failed.
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> KernelError {
        let action = what.into();
        move |source| SystemError { action, source }.into()
    }

    /// Returns a function for `map_err` that converts libbpf's error; `what` is the action or object that failed.
    pub(crate) fn bpf(what: impl Into<String>) -> impl FnOnce(libbpf_rs::Error) -> KernelError {
        let action = what.into();
        move |error| SystemError { action, source: io::Error::other(error) }.into()
    }
}
