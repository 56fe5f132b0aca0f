//! Errors of the daemon and of requests to a running guard.

use fairweir_units::{Hint, SystemError};
use std::borrow::Cow;
use std::io;

/// An error of the guard.
#[derive(Debug, thiserror::Error)]
pub enum GuardError {
    /// A request that cannot be met.
    #[error("{what}")]
    Refused {
        /// The error and the value.
        what: String,
        /// How to fix it.
        hint: String,
    },
    /// A system call that failed.
    #[error(transparent)]
    System(#[from] SystemError),
}

impl GuardError {
    pub(crate) fn refused(what: impl Into<String>, hint: impl Into<String>) -> GuardError {
        GuardError::Refused { what: what.into(), hint: hint.into() }
    }
}

impl Hint for GuardError {
    fn hint(&self) -> Option<Cow<'_, str>> {
        match self {
            GuardError::Refused { hint, .. } => Some(hint.into()),
            GuardError::System(e) if e.source.kind() == io::ErrorKind::PermissionDenied => {
                Some("it takes root, or CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN".into())
            }
            GuardError::System(_) => None,
        }
    }
}

/// Converts libbpf's error to an I/O error with the system's error kind.
pub(crate) fn bpf(error: libbpf_rs::Error) -> io::Error {
    io::Error::new(io::Error::from(error.kind_of_system()).kind(), format!("{error:#}"))
}

trait KindOfSystem {
    fn kind_of_system(&self) -> io::ErrorKind;
}

impl KindOfSystem for libbpf_rs::Error {
    fn kind_of_system(&self) -> io::ErrorKind {
        match self.kind() {
            libbpf_rs::ErrorKind::PermissionDenied => io::ErrorKind::PermissionDenied,
            libbpf_rs::ErrorKind::NotFound => io::ErrorKind::NotFound,
            libbpf_rs::ErrorKind::AlreadyExists => io::ErrorKind::AlreadyExists,
            _ => io::ErrorKind::Other,
        }
    }
}
