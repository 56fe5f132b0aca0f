//! What can go wrong between a source and a running controller.

use std::io;
use std::path::PathBuf;

/// Why something did not work, and where.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KernelError {
    /// No algorithm of that name stands in `bpf/`.
    #[error("there is no BPF congestion controller `{name}`")]
    Unknown {
        /// The name that was asked for.
        name: String,
        /// Those that there are.
        known: Vec<&'static str>,
    },
    /// A source that cannot be read, or is none.
    #[error("{}: {reason}", path.display())]
    Source {
        /// The source.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
        /// What to do about it.
        hint: &'static str,
    },
    /// Parameters that the algorithm refuses.
    #[error("parameters of `{cca}`: {reason}")]
    Params {
        /// The algorithm.
        cca: String,
        /// Which parameter, its value, and what was expected.
        reason: String,
    },
    /// The kernel, or libbpf on its behalf, refuses a program.
    #[error("`{cca}` is not loaded: {reason}")]
    Refused {
        /// The algorithm.
        cca: String,
        /// libbpf's last words; the verifier's, if it was the verifier.
        reason: String,
        /// What to do about it.
        hint: Option<&'static str>,
    },
    /// Something that must be there is not: a tool, a right, a file system.
    #[error("{what}")]
    Missing {
        /// What is missing.
        what: String,
        /// How to get it.
        hint: &'static str,
    },
    /// A name that cannot be loaded for good, or unloaded, as things stand.
    #[error("`{name}`: {reason}")]
    Conflict {
        /// The name.
        name: String,
        /// Why not.
        reason: String,
        /// What to do about it.
        hint: &'static str,
    },
    /// A system call that failed.
    #[error("{what}: {source}")]
    Io {
        /// What was being done.
        what: String,
        /// Why it failed.
        source: io::Error,
    },
}

impl KernelError {
    /// What to do about it, if there is something.
    pub fn hint(&self) -> Option<String> {
        match self {
            KernelError::Unknown { known, .. } => {
                Some(format!("there are {}; or give the path of a .bpf.c", known.join(", ")))
            }
            KernelError::Source { hint, .. }
            | KernelError::Missing { hint, .. }
            | KernelError::Conflict { hint, .. } => Some((*hint).to_owned()),
            KernelError::Refused { hint, .. } => hint.map(str::to_owned),
            KernelError::Params { .. } | KernelError::Io { .. } => None,
        }
    }

    /// For `map_err`: an error of the system while `what` was being done.
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> KernelError {
        let what = what.into();
        move |source| KernelError::Io { what, source }
    }

    /// For `map_err`: libbpf's error while `what` was being done.
    pub(crate) fn bpf(what: impl Into<String>) -> impl FnOnce(libbpf_rs::Error) -> KernelError {
        let what = what.into();
        move |error| KernelError::Io { what, source: io::Error::other(error) }
    }
}
